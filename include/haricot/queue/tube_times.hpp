// What a tube knows of times: how long its jobs waited and were worked on in the last minutes, and
// how old its ready and its buried jobs are.
//
// A tube gets its TubeTimes with its first reserved, deleted or buried job, or when it has too many
// ready jobs to look through them. A TubeTimes takes 512 bytes with what malloc adds.

#pragma once

#include <cstdint>
#include <memory>

#include "haricot/base/time.hpp"
#include "haricot/queue/burial_runs.hpp"
#include "haricot/queue/ready_ages.hpp"
#include "haricot/queue/time_histogram.hpp"

namespace haricot {

struct TubeTimes {
  // Periods end at multiples of it. What is told is of the period that goes on and the one before.
  static constexpr std::int64_t kPeriodNanoseconds = std::int64_t{300} * 1'000'000'000;

  explicit TubeTimes(Instant now) : period_end(end_of_period(now)) {}

  // In nanoseconds; 0 if it ends before it begins.
  static std::uint64_t length(Instant begin, Instant end) {
    return end < begin ? 0 : static_cast<std::uint64_t>((end - begin).count());
  }

  // To be called before a histogram is changed.
  void move_to(Instant now) {
    if (now >= period_end) [[unlikely]]
      begin_period(now);
  }
  // What a histogram of this tube tells now.
  TimeSummary summary_of(const TimeHistogram& histogram, Instant now) const;

  TimeHistogram queued;  // From getting ready to being reserved.
  TimeHistogram worked;  // From the reserve, or the last touch, to the delete.
  Instant period_end;
  std::unique_ptr<ReadyAges> ready;    // Null: there are few, or there was no memory.
  std::unique_ptr<BurialRuns> buried;  // Null: none was buried yet, or there was no memory.

 private:
  static Instant end_of_period(Instant now) {
    return Instant::at((now.count() / kPeriodNanoseconds + 1) * kPeriodNanoseconds);
  }
  [[gnu::cold, gnu::noinline]] void begin_period(Instant now);
};
static_assert(sizeof(TubeTimes) <= 504, "with malloc's eight bytes 512");

}  // namespace haricot
