// The states in which every client can reach a job. A reserved job is reachable only by its holder.

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
