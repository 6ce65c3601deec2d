#include "haricot/queue/tube_times.hpp"

#include <algorithm>
#include <cstddef>
#include <new>

#include "haricot/base/check.hpp"

namespace haricot {
namespace {

// Advances a histogram, whose period ends at `end`, to `now`.
void move_histogram(TimeHistogram& histogram, Instant end, Instant now) {
  if (now < end) return;
  const bool is_over = now - end >= Duration::nanoseconds(TubeTimes::kPeriodNanoseconds);
  if (is_over) {
    histogram = {};
  } else {
    histogram.end_period();
  }
}

}  // namespace

// TimeHistogram ----------------------------------------------------------------------------------

// The reported length differs from either end of its bucket by the same factor, less than 10 %.
std::uint64_t TimeHistogram::milliseconds_of(std::uint32_t bucket) {
  constexpr std::uint64_t kPerMillisecond = 1'000'000;
  // The first bucket is reported as 0, because it has the lengths that took no time.
  if (bucket < 4) return bucket == 0 ? 0 : bucket + 1;
  constexpr std::array<std::uint64_t, 4> kHundredthsOfSixteenth = {1737, 2081, 2484, 2929};
  const std::uint64_t sixteenth = std::uint64_t{1} << ((bucket - 4) / 4 + 18);
  const std::uint64_t nanoseconds = sixteenth / 100 * kHundredthsOfSixteenth[bucket % 4];
  return (nanoseconds + kPerMillisecond / 2) / kPerMillisecond;
}

void TimeHistogram::add_otherwise(std::uint32_t bucket) {
  if (halvings_ > 0 && is_left_out(bucket)) return;
  const std::uint32_t index = bucket - first_;
  std::uint16_t& count = counts_[index < kBuckets ? index : make_bucket(bucket)];
  if (++count == kCountMax) halve();
  if (halvings_ == 0) first_if_all_ = first_;
}

bool TimeHistogram::is_left_out(std::uint32_t bucket) {
  const std::uint32_t period = std::uint32_t{1} << std::min<std::uint32_t>(halvings_, 16);
  left_out_ = static_cast<std::uint16_t>(left_out_ + 1);
  if ((left_out_ & (period - 1)) == 0) return false;
  longest_ = std::max(longest_, static_cast<std::uint8_t>(bucket));
  return true;
}

// Makes a bucket for a length beyond the last one. The longest lengths keep separate buckets; the
// first buckets are joined to make room.
std::uint32_t TimeHistogram::make_bucket(std::uint32_t bucket) {
  if (bucket < first_) return 0;
  const std::uint32_t moved = bucket - first_ - (kBuckets - 1);
  const auto joined = [&] {
    std::uint32_t sum = 0;
    for (std::uint32_t i = 0; i <= std::min(moved, kBuckets - 1); ++i) sum += counts_[i];
    return sum;
  };
  while (joined() >= kCountMax - 1) halve();
  const auto first = static_cast<std::uint16_t>(joined());
  for (std::uint32_t i = 1; i < kBuckets; ++i) {
    counts_[i] = i + moved < kBuckets ? counts_[i + moved] : std::uint16_t{0};
  }
  counts_[0] = first;
  first_ = static_cast<std::uint8_t>(first_ + moved);
  return kBuckets - 1;
}

// Halves all counts. The remainder of a bucket is carried to the next one that is not empty, so no
// rank moves by more than one.
void TimeHistogram::halve() {
  longest_ = std::max(longest_, longest());
  std::uint32_t rest = 0;
  for (std::uint16_t& count : counts_) {
    const std::uint32_t sum = count + rest;
    count = static_cast<std::uint16_t>(sum / 2);
    rest = sum % 2;
  }
  ++halvings_;
  first_if_all_ = kNotAll;
}

std::uint8_t TimeHistogram::longest() const {
  for (std::uint32_t i = kBuckets; i-- > 0;) {
    if (counts_[i] > 0) return static_cast<std::uint8_t>(first_ + i);
  }
  return 0;
}

void TimeHistogram::end_period() {
  const std::uint32_t largest = *std::max_element(counts_.begin(), counts_.end());
  std::uint32_t halvings = 0;
  while ((largest >> halvings) >= 255) ++halvings;
  TimeHistogram next;
  next.earlier_first_ = first_;
  next.earlier_longest_ = std::max(longest_, longest());
  next.earlier_halvings_ = static_cast<std::uint8_t>(halvings_ + halvings);
  std::uint32_t rest = 0;
  for (std::uint32_t i = 0; i < kBuckets; ++i) {
    const std::uint32_t sum = counts_[i] + rest;
    next.earlier_[i] = static_cast<std::uint8_t>(sum >> halvings);
    rest = sum - (sum >> halvings << halvings);
  }
  *this = next;
}

void TimeHistogram::read(StateReader& from) {
  // With more halvings, a 64-bit sum of the counts might overflow.
  constexpr std::uint8_t kHalvingsMax = 40;
  Fields::read(from, *this);
  const bool are_counts = std::all_of(counts_.begin(), counts_.end(),
                                      [](std::uint16_t count) { return count < kCountMax; });
  const bool are_numbers =
      std::max({first_, longest_, earlier_first_, earlier_longest_}) < kNumbers;
  const bool are_halvings = std::max(halvings_, earlier_halvings_) <= kHalvingsMax;
  const bool are_all = first_if_all_ == (halvings_ == 0 ? first_ : kNotAll);
  if (are_counts && are_numbers && are_halvings && are_all) return;
  *this = {};
  from.refuse();
}

TimeSummary TimeHistogram::summary() const {
  std::array<std::uint64_t, kNumbers + kBuckets> lengths{};
  std::uint64_t total = 0;
  for (std::uint32_t i = 0; i < kBuckets; ++i) {
    const std::uint64_t now = std::uint64_t{counts_[i]} << halvings_;
    const std::uint64_t earlier = std::uint64_t{earlier_[i]} << earlier_halvings_;
    lengths[first_ + i] += now;
    lengths[earlier_first_ + i] += earlier;
    total += now + earlier;
  }
  if (total == 0) return {};
  const auto at_rank = [&](std::uint64_t rank) {
    std::uint32_t bucket = 0;
    for (std::uint64_t sum = lengths[0]; sum < rank; sum += lengths[bucket]) ++bucket;
    return milliseconds_of(bucket);
  };
  const std::uint8_t longest_of_all = std::max({longest(), longest_, earlier_longest_});
  return {.p50_ms = at_rank((total + 1) / 2),
          .p99_ms = at_rank(total - total / 100),
          .max_ms = milliseconds_of(longest_of_all)};
}

// ReadyAges --------------------------------------------------------------------------------------

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

// TubeTimes --------------------------------------------------------------------------------------

void TubeTimes::begin_period(Instant now) {
  move_histogram(queued, period_end, now);
  move_histogram(worked, period_end, now);
  period_end = end_of_period(now);
}

TimeSummary TubeTimes::summary_of(const TimeHistogram& histogram, Instant now) const {
  TimeHistogram moved = histogram;
  move_histogram(moved, period_end, now);
  return moved.summary();
}

}  // namespace haricot
