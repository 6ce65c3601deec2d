// The random numbers of one run: the same seed gives the same, on every machine.

#pragma once

#include <cstdint>
#include <random>

namespace haricot::simulation {

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : engine_(seed) {}

  // Any number below the bound; that small ones come a little more often does not matter here.
  // Requires: bound > 0.
  std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
  std::uint32_t below32(std::uint32_t bound) { return static_cast<std::uint32_t>(below(bound)); }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  std::uint64_t bits() { return engine_(); }
  template <typename Range>
  auto pick(const Range& range) {
    return *(std::begin(range) + static_cast<std::ptrdiff_t>(below(std::size(range))));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace haricot::simulation
