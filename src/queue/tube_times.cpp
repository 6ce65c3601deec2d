#include "haricot/queue/tube_times.hpp"

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
