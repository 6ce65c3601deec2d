// Counts of durations in buckets whose width grows with the value: every sample is counted, and
// what is read from it is at most 1 part in 128 too high.
//
// Up to 127 ns each value has a bucket of its own; above, each power of two is divided into 128.
// Recording costs an addition; the memory is the same for one sample and for a billion (58 KiB).

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace haricot::tool {

class Histogram {
 public:
  Histogram() : counts_(kBuckets) {}

  // Counts a value so many times.
  void record(std::uint64_t value, std::uint64_t times = 1) {
    counts_[bucket_of(value)] += times;
    count_ += times;
    if (value > max_) max_ = value;
  }

  void add(const Histogram& other);
  // Takes away what was counted until then: `earlier` is what this one was before. The largest
  // value stays.
  void subtract(const Histogram& earlier);

  std::uint64_t count() const { return count_; }
  std::uint64_t max() const { return max_; }  // Exact; 0 without samples.

  // The value that this share of the samples (0 to 1) does not exceed: the upper end of its bucket,
  // but never more than the largest sample. 0 without samples.
  std::uint64_t value_at(double share) const;

  // How many values need so many bits: [11] counts those from 1024 to 2047.
  std::array<std::uint64_t, 65> by_bits() const;

 private:
  static constexpr unsigned kBits = 7;  // Of a value that its bucket keeps, below the first one.
  static constexpr std::size_t kBuckets = (64 - kBits + 1) << kBits;

  static std::size_t bucket_of(std::uint64_t value) {
    if (value < (1U << kBits)) return static_cast<std::size_t>(value);
    // The highest bit is at 63 - clz; the kBits below it choose the bucket within its power of two.
    const auto shift = 63U - static_cast<unsigned>(__builtin_clzll(value)) - kBits;
    return (std::size_t{shift} << kBits) + static_cast<std::size_t>(value >> shift);
  }
  static std::uint64_t highest_in(std::size_t bucket);

  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace haricot::tool
