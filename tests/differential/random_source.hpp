// Random choices that a seed repeats, with any compiler and standard library: the distributions of
// <random> may differ between libraries, so none is used.

#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace haricot::test {

class RandomSource final {
 public:
  explicit RandomSource(std::uint64_t seed) : engine_(seed) {}

  // One of 0 .. bound - 1. Requires: bound > 0.
  std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }

  // One of low .. high, both included.
  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return low + below(high - low + 1);
  }

  bool chance(unsigned percent) { return below(100) < percent; }

  template <typename Container>
  const auto& pick(const Container& choices) {
    return choices[static_cast<std::size_t>(below(std::size(choices)))];
  }

  std::string text_of(std::string_view alphabet, std::size_t length) {
    std::string text;
    for (std::size_t i = 0; i < length; ++i) text += alphabet[below(alphabet.size())];
    return text;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace haricot::test
