// Random numbers for tests, with a seed that is told and can be given.

#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace haricot::testing {

// A generator with a new seed in each run, or with that of the environment variable HARICOT_SEED.
// The seed is printed, so that a run that went wrong can be had again, also one that ended in a
// CHECK.
class Random {
 public:
  Random() : seed_(choose_seed()), engine_(seed_) {
    std::printf("HARICOT_SEED=%" PRIu64 "\n", seed_);
    std::fflush(stdout);
  }

  // Any number below the bound. Requires: bound > 0.
  std::uint64_t below(std::uint64_t bound) {
    return std::uniform_int_distribution<std::uint64_t>(0, bound - 1)(engine_);
  }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  std::uint64_t bits() { return engine_(); }
  std::uint64_t seed() const { return seed_; }

 private:
  static std::uint64_t choose_seed() {
    const char* given = std::getenv("HARICOT_SEED");
    if (given != nullptr) return std::strtoull(given, nullptr, 10);
    std::random_device device;
    return (std::uint64_t{device()} << 32) | device();
  }

  std::uint64_t seed_;
  std::mt19937_64 engine_;
};

}  // namespace haricot::testing
