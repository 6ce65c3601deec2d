// Random numbers for tests. A seed gives equal numbers with any compiler and standard library: the
// distributions of <random> may differ, so none is used.

#pragma once

#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace haricot::test {

// Returns an unpredictable seed.
inline std::uint64_t new_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

// Returns the environment variable HARICOT_SEED; nothing if it is not set.
inline std::optional<std::uint64_t> given_seed() {
  const char* given = std::getenv("HARICOT_SEED");
  if (given == nullptr) return std::nullopt;
  return std::strtoull(given, nullptr, 10);
}

// Returns the given seed, or always the same one: a change should be judged by itself, not by the
// luck of its run. New seeds are for scripts/simulate. Prints the seed, so that a failed run can be
// repeated, even one that ended in a CHECK.
inline std::uint64_t seed_of_this_run() {
  constexpr std::uint64_t kUsualSeed = 1;
  const std::uint64_t seed = given_seed().value_or(kUsualSeed);
  std::printf("HARICOT_SEED=%" PRIu64 "\n", seed);
  std::fflush(stdout);
  return seed;
}

class Random final {
 public:
  Random() : Random(seed_of_this_run()) {}
  explicit Random(std::uint64_t seed) : seed_(seed), engine_(seed) {}

  std::uint64_t seed() const { return seed_; }

  std::uint64_t bits() { return engine_(); }
  bool coin() { return (engine_() & 1) != 0; }

  // Returns a number below the bound; small ones are slightly more frequent. Requires: bound > 0.
  std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
  std::uint32_t below32(std::uint32_t bound) { return static_cast<std::uint32_t>(below(bound)); }
  // Returns a number from low to high, inclusive.
  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return low + below(high - low + 1);
  }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  bool chance(unsigned percent) { return below(100) < percent; }

  // Requires: at least one choice.
  template <typename Choices>
  const auto& pick(const Choices& choices) {
    return *(std::begin(choices) + static_cast<std::ptrdiff_t>(below(std::size(choices))));
  }

  std::string bytes(std::size_t count) {
    std::string text(count, '\0');
    for (char& byte : text) byte = static_cast<char>(engine_() & 0xff);
    return text;
  }
  std::string text_of(std::string_view alphabet, std::size_t length) {
    std::string text;
    for (std::size_t i = 0; i < length; ++i) text += alphabet[below(alphabet.size())];
    return text;
  }

 private:
  std::uint64_t seed_;
  std::mt19937_64 engine_;
};

}  // namespace haricot::test
