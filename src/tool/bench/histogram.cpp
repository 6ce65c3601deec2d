#include "tool/bench/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "haricot/base/check.hpp"

namespace haricot::tool {

std::uint64_t Histogram::highest_in(std::size_t bucket) {
  if (bucket < (std::size_t{2} << kBits)) return bucket;
  const std::size_t shift = (bucket >> kBits) - 1;
  const std::uint64_t kept = bucket - (shift << kBits);
  return (kept << shift) + ((std::uint64_t{1} << shift) - 1);
}

void Histogram::add(const Histogram& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
}

void Histogram::subtract(const Histogram& earlier) {
  CHECK(earlier.count_ <= count_);
  for (std::size_t i = 0; i < kBuckets; ++i) {
    CHECK(earlier.counts_[i] <= counts_[i]);
    counts_[i] -= earlier.counts_[i];
  }
  count_ -= earlier.count_;
}

std::array<std::uint64_t, 65> Histogram::by_bits() const {
  std::array<std::uint64_t, 65> counts{};
  for (std::size_t i = 0; i < kBuckets; ++i) {
    counts[static_cast<std::size_t>(std::bit_width(highest_in(i)))] += counts_[i];
  }
  return counts;
}

std::uint64_t Histogram::value_at(double share) const {
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
