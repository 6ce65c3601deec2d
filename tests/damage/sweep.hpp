// Checks many damaged folders, and reports the first failures to the test.

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "judge.hpp"
#include "support/sanitized.hpp"

namespace haricot::damage {

// A sanitized build checks one in kStride cases of large sweeps: some bits of each field. The
// release build checks all.
inline constexpr std::uint64_t kStride = test::kIsSanitized ? 23 : 1;

class Sweep {
 public:
  // Starts servers in one of `starts_every` checked cases; the others are only read. Checks one of
  // `stride` cases, which the seed selects; without a seed, the first.
  explicit Sweep(std::uint64_t starts_every, std::uint64_t stride = 1)
      : starts_every_(starts_every),
        stride_(stride),
        first_(test::given_seed().value_or(0) % stride) {}
  ~Sweep() {
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin_;
    std::printf("%llu folders, one of %llu cases each, servers started on %llu: %.1f s\n",
                static_cast<unsigned long long>(judged_), static_cast<unsigned long long>(stride_),
                static_cast<unsigned long long>(started_), time.count());
  }
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;

  // Returns true if the next case has to be checked. Requires: called once for each case.
  bool is_next() { return !is_over() && nth_++ % stride_ == first_; }
  bool is_over() const { return failures_ >= kFailuresMax; }

  Verdict judge(const HurtFolder& folder) {
    const bool starts = judged_++ % starts_every_ == 0;
    started_ += starts;
    Verdict verdict = damage::judge(folder, starts ? Depth::starts : Depth::check, judged_);
    if (!verdict.wrong.empty() && !is_over()) {
      ++failures_;
      ADD_FAILURE() << verdict.wrong;
    }
    return verdict;
  }

 private:
  static constexpr int kFailuresMax = 4;

  std::uint64_t starts_every_;
  std::uint64_t stride_;
  std::uint64_t first_;
  std::uint64_t nth_ = 0;
  std::uint64_t judged_ = 0;
  std::uint64_t started_ = 0;
  int failures_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Converts the name of a folder to the name of a parameterised test.
inline std::string test_name(std::string text) {
  for (char& letter : text) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  }
  return text;
}

}  // namespace haricot::damage
