// Times of a tube: how long its jobs waited and were worked on in the last minutes, and the ages of
// its ready jobs.
//
// A tube gets its TubeTimes with its first reserved or deleted job, or when it has too many ready
// jobs to scan them. A TubeTimes takes 504 bytes, including malloc's header.

#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "haricot/base/serialization.hpp"
#include "haricot/base/time.hpp"
#include "haricot/queue/job.hpp"

namespace haricot {

// In milliseconds; 0 if nothing was counted.
struct TimeSummary {
  std::uint64_t p50_ms = 0;
  std::uint64_t p99_ms = 0;
  std::uint64_t max_ms = 0;
};

// A histogram of lengths of time in the last minutes. Its median, 99th percentile and maximum are
// exact within 10 %, rounded to milliseconds.
//
// Lengths are counted in buckets: four for each power of two from 2^22 ns on, and four of 2^20 ns
// (about 1 ms) below that. A histogram has the counts of the current period and of the one before
// it. Its buckets cover a factor of at least 2^18; shorter lengths count in the first bucket.
// Counts that grow too large are halved, and from then on only a part of the lengths is counted,
// which hardly changes the percentiles.
class TimeHistogram {
 public:
  static constexpr std::uint32_t kBuckets = 77;

  // Returns the number of the bucket of a length. Longer lengths never have smaller numbers.
  static constexpr std::uint32_t bucket_of(std::uint64_t nanoseconds) {
    if (nanoseconds < kFirstPower) return static_cast<std::uint32_t>(nanoseconds >> 20);
    const auto width = static_cast<std::uint32_t>(std::bit_width(nanoseconds));
    // The four bits after the leading one select one of four buckets, which begin at 16, 19, 23 and
    // 27 sixteenths of the power of two. The constant has two bits for each sixteenth.
    constexpr std::uint32_t kBucketOfSixteenth = 0xFFEA9540;
    const auto sixteenth = static_cast<std::uint32_t>(nanoseconds >> (width - 5)) & 15U;
    return 4 + 4 * (width - 23) + (kBucketOfSixteenth >> (2 * sixteenth) & 3U);
  }
  // Returns the length that is reported for a bucket.
  static std::uint64_t milliseconds_of(std::uint32_t bucket);

  void add(std::uint64_t nanoseconds) {
    const std::uint32_t bucket = bucket_of(nanoseconds);
    const std::uint32_t index = bucket - first_if_all_;
    if (index >= kBuckets) [[unlikely]]
      return add_otherwise(bucket);
    if (++counts_[index] == kCountMax) [[unlikely]]
      halve();
  }

  // Ends the current period: its counts replace those of the period before.
  void end_period();

  TimeSummary summary() const;

  void write(StateWriter& to) const { Fields::write(to, *this); }
  // Rejects values that no histogram can have.
  void read(StateReader& from);

 private:
  static constexpr std::uint64_t kFirstPower = std::uint64_t{1} << 22;
  static constexpr std::uint16_t kCountMax = std::numeric_limits<std::uint16_t>::max();
  // Number of buckets for all lengths.
  static constexpr std::uint32_t kNumbers = 4 + 4 * (64 - 22);

  static constexpr std::uint8_t kNotAll = 255;  // Not close to the number of any bucket.

  bool is_left_out(std::uint32_t bucket);
  // Adds a length that is outside of the buckets, or any length if only a part of the lengths is
  // counted.
  [[gnu::noinline]] void add_otherwise(std::uint32_t bucket);
  std::uint32_t make_bucket(std::uint32_t bucket);
  [[gnu::cold, gnu::noinline]] void halve();
  std::uint8_t longest() const;

  // Current period: the bucket at index i has the number first_ + i. Only each 2^halvings_-th
  // length is counted; longest_ is the bucket of the longest length that was not counted.
  std::array<std::uint16_t, kBuckets> counts_{};
  std::uint16_t left_out_ = 0;
  // Period before: a count stands for 2^earlier_halvings_ lengths.
  std::array<std::uint8_t, kBuckets> earlier_{};
  std::uint8_t first_if_all_ = 0;  // first_, or kNotAll if only a part of the lengths is counted.
  std::uint8_t first_ = 0;
  std::uint8_t halvings_ = 0;
  std::uint8_t longest_ = 0;
  std::uint8_t earlier_first_ = 0;
  std::uint8_t earlier_halvings_ = 0;
  std::uint8_t earlier_longest_ = 0;

  using Fields =
      FieldList<&TimeHistogram::counts_, &TimeHistogram::left_out_, &TimeHistogram::earlier_,
                &TimeHistogram::first_if_all_, &TimeHistogram::first_, &TimeHistogram::halvings_,
                &TimeHistogram::longest_, &TimeHistogram::earlier_first_,
                &TimeHistogram::earlier_halvings_, &TimeHistogram::earlier_longest_>;
};
static_assert(sizeof(TimeHistogram) == 240, "a new field belongs into the list");

// Ages of the ready jobs of a tube, as counts. The age of the oldest job is known within 10 %, even
// among millions and in whichever order they leave.
//
// Time is divided into units of 2^30 ns (about a second). A count is the number of jobs that became
// ready in a window of 2^level units. A job is counted at the lowest level at which its window is
// among the last 16. So older windows are wider, and the instant at which a job became ready
// determines the window that counts it. As time passes, a count moves up once per level.
class ReadyAges {
 public:
  explicit ReadyAges(Instant now) : last_unit_(unit_of(now)) {}

  // Advances the time to `now`. O(1), and almost free within a unit.
  void move_to(Instant now) {
    if (unit_of(now) > last_unit_) move_to_unit(unit_of(now));
  }
  // Adds a job that became ready at `since`.
  void add(Instant since) {
    move_to(since);
    ++count_of(unit_of(since));
  }
  // Removes a job. Requires: it was added with the same instant.
  void remove(Instant since);
  // Returns the middle of the oldest window with a job; nullopt if there is none.
  std::optional<Instant> oldest() const;
  // Number of jobs, for tests.
  std::uint64_t size() const;

 private:
  static constexpr std::uint32_t kUnitBits = 30;
  static constexpr std::uint32_t kWindows = 16;
  static constexpr std::uint32_t kLevels = 28;  // Enough for half a century.

  static std::int64_t unit_of(Instant instant) { return instant.count() >> kUnitBits; }
  std::uint32_t level_of(std::int64_t unit) const;
  std::uint32_t& at(std::uint32_t level, std::int64_t window) {
    return counts_[level][static_cast<std::uint64_t>(window) % kWindows];
  }
  std::uint32_t& count_of(std::int64_t unit) {
    const std::uint32_t level = level_of(unit);
    return at(level, unit >> level);
  }
  [[gnu::noinline]] void move_to_unit(std::int64_t unit);

  std::int64_t last_unit_;
  std::array<std::array<std::uint32_t, kWindows>, kLevels> counts_{};
};

struct TubeTimes {
  // Periods end at multiples of this. Reports cover the current period and the one before it.
  static constexpr std::int64_t kPeriodNanoseconds = std::int64_t{300} * 1'000'000'000;

  explicit TubeTimes(Instant now) : period_end(end_of_period(now)) {}

  // Returns nanoseconds; 0 if `end` is before `begin`.
  static std::uint64_t length(Instant begin, Instant end) {
    return end < begin ? 0 : static_cast<std::uint64_t>((end - begin).count());
  }

  // Called before a histogram changes.
  void move_to(Instant now) {
    if (now >= period_end) [[unlikely]]
      begin_period(now);
  }
  // Returns the summary of a histogram of this tube as of now.
  TimeSummary summary_of(const TimeHistogram& histogram, Instant now) const;

  TimeHistogram queued;  // From ready to reserved.
  TimeHistogram worked;  // From the reserve, or the last touch, to the delete.
  Instant period_end;
  std::unique_ptr<ReadyAges> ready;  // Null: few ready jobs, or memory was short.

 private:
  static Instant end_of_period(Instant now) {
    return Instant::at((now.count() / kPeriodNanoseconds + 1) * kPeriodNanoseconds);
  }
  [[gnu::cold, gnu::noinline]] void begin_period(Instant now);
};
static_assert(sizeof(TubeTimes) <= 496, "with malloc's eight bytes 504");

}  // namespace haricot
