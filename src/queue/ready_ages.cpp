#include "haricot/queue/ready_ages.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "haricot/base/check.hpp"

namespace haricot {

// Requires: unit <= last_unit_.
std::uint32_t ReadyAges::level_of(std::int64_t unit) const {
  const auto age = static_cast<std::uint64_t>(last_unit_ - unit);
  if (age < kWindows) return 0;
  // At this level the window is among the last 16, or just before them.
  auto level = static_cast<std::uint32_t>(std::bit_width(age)) - 4;
  if ((last_unit_ >> level) - (unit >> level) >= static_cast<std::int64_t>(kWindows)) ++level;
  return std::min(level, kLevels - 1);
}

// Goes down from the top level, so that each window is empty before a count moves into it.
void ReadyAges::move_to_unit(std::int64_t unit) {
  const std::int64_t before = std::exchange(last_unit_, unit);
  for (std::uint32_t level = kLevels - 1; level-- > 0;) {
    const std::int64_t last = before >> level;
    for (std::int64_t window = last - (kWindows - 1); window <= last; ++window) {
      std::uint32_t& count = at(level, window);
      if (count == 0) continue;
      const std::int64_t first_unit = window << level;
      if (level_of(first_unit) == level) break;  // The later windows stay too.
      count_of(first_unit) += std::exchange(count, 0);
    }
  }
}

void ReadyAges::remove(Instant since) {
  std::uint32_t& count = count_of(unit_of(since));
  CHECK(count > 0);
  --count;
}

std::optional<Instant> ReadyAges::oldest() const {
  for (std::uint32_t level = kLevels; level-- > 0;) {
    const std::int64_t last = last_unit_ >> level;
    for (std::int64_t window = last - (kWindows - 1); window <= last; ++window) {
      if (counts_[level][static_cast<std::uint64_t>(window) % kWindows] == 0) continue;
      const std::uint32_t bits = level + kUnitBits;
      return Instant::at((window << bits) + (std::int64_t{1} << (bits - 1)));
    }
  }
  return std::nullopt;
}

std::uint64_t ReadyAges::size() const {
  std::uint64_t sum = 0;
  for (const auto& level : counts_) {
    for (const std::uint32_t count : level) sum += count;
  }
  return sum;
}

}  // namespace haricot
