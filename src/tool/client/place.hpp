// The states in which anybody can reach a job: a worker that holds one is the only one to reach it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace haricot::tool {

enum class Place : std::uint8_t { ready, delayed, buried };
inline constexpr Place kPlaces[] = {Place::ready, Place::delayed, Place::buried};

std::string_view name_of(Place place);

struct PlaceFlags {
  bool ready = false;
  bool delayed = false;
  bool buried = false;

  bool has(Place place) const;
  std::size_t count() const { return (ready ? 1U : 0U) + (delayed ? 1U : 0U) + (buried ? 1U : 0U); }
};
inline constexpr PlaceFlags kAllPlaces = {true, true, true};

}  // namespace haricot::tool
