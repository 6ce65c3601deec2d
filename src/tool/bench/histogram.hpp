// A histogram of durations with buckets that grow with the value. It counts every sample; values
// read from it are at most 1/128 too high.
//
// Values up to 255 ns have a bucket each; above, each power of two is divided into 128 buckets.
// Recording is O(1), and the memory is constant (58 KiB).

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "haricot/base/check.hpp"

namespace haricot::tool {

class Histogram {
 public:
  Histogram() : counts_(kBuckets) {}

  // Counts a value `times` times.
  void record(std::uint64_t value, std::uint64_t times = 1) {
    counts_[bucket_of(value)] += times;
    count_ += times;
    if (value > max_) max_ = value;
  }

  void add(const Histogram& other);
  // Subtracts `earlier`, a previous state of this histogram. max() does not change.
  void subtract(const Histogram& earlier);

  std::uint64_t count() const { return count_; }
  std::uint64_t max() const { return max_; }  // Exact; 0 without samples.

  // Returns the value that this share of the samples (0 to 1) does not exceed: the upper end of its
  // bucket, but at most the largest sample. Returns 0 without samples.
  std::uint64_t value_at(double share) const;

  // Returns the numbers of values by their length in bits: [11] counts values from 1024 to 2047.
  std::array<std::uint64_t, 65> by_bits() const;

 private:
  static constexpr unsigned kBits = 7;  // Bits of a value that its bucket keeps after the highest
                                        // bit.
  static constexpr std::size_t kBuckets = (64 - kBits + 1) << kBits;

  static std::size_t bucket_of(std::uint64_t value) {
    if (value < (1U << kBits)) return static_cast<std::size_t>(value);
    // The highest bit is at 63 - clz. The kBits bits after it select the bucket within its power of
    // two.
    const auto shift = 63U - static_cast<unsigned>(__builtin_clzll(value)) - kBits;
    return (std::size_t{shift} << kBits) + static_cast<std::size_t>(value >> shift);
  }
  static std::uint64_t highest_in(std::size_t bucket);

  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;
};

inline std::uint64_t Histogram::highest_in(std::size_t bucket) {
  if (bucket < (std::size_t{2} << kBits)) return bucket;
  const std::size_t shift = (bucket >> kBits) - 1;
  const std::uint64_t kept = bucket - (shift << kBits);
  return (kept << shift) + ((std::uint64_t{1} << shift) - 1);
}

inline void Histogram::add(const Histogram& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
}

inline void Histogram::subtract(const Histogram& earlier) {
  CHECK(earlier.count_ <= count_);
  for (std::size_t i = 0; i < kBuckets; ++i) {
    CHECK(earlier.counts_[i] <= counts_[i]);
    counts_[i] -= earlier.counts_[i];
  }
  count_ -= earlier.count_;
}

inline std::array<std::uint64_t, 65> Histogram::by_bits() const {
  std::array<std::uint64_t, 65> counts{};
  for (std::size_t i = 0; i < kBuckets; ++i) {
    counts[static_cast<std::size_t>(std::bit_width(highest_in(i)))] += counts_[i];
  }
  return counts;
}

inline std::uint64_t Histogram::value_at(double share) const {
  CHECK(share >= 0 && share <= 1);
  if (count_ == 0) return 0;
  const double wanted = std::ceil(share * static_cast<double>(count_));
  const auto rank = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted), 1, count_);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += counts_[i];
    if (seen >= rank) return std::min(highest_in(i), max_);
  }
  return max_;
}

}  // namespace haricot::tool
