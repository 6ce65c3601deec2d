// Times of a tube: how long its jobs waited and were worked on in the last minutes, and the ages of
// its ready and buried jobs.
//
// A tube gets its TubeTimes with its first reserved, deleted or buried job, or when it has too many
// ready jobs to scan them. A TubeTimes takes 512 bytes, including malloc's header.

#pragma once

#include <cstdint>
#include <memory>

#include "haricot/base/time.hpp"
#include "haricot/queue/burial_runs.hpp"
#include "haricot/queue/ready_ages.hpp"
#include "haricot/queue/time_histogram.hpp"

namespace haricot {

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
  std::unique_ptr<ReadyAges> ready;    // Null: few ready jobs, or memory was short.
  std::unique_ptr<BurialRuns> buried;  // Null: no burial yet, or memory was short.

 private:
  static Instant end_of_period(Instant now) {
    return Instant::at((now.count() / kPeriodNanoseconds + 1) * kPeriodNanoseconds);
  }
  [[gnu::cold, gnu::noinline]] void begin_period(Instant now);
};
static_assert(sizeof(TubeTimes) <= 504, "with malloc's eight bytes 512");

}  // namespace haricot
