#include "haricot/queue/tube_times.hpp"

namespace haricot {
namespace {

// Brings a histogram to now, whose period ends or has ended at `end`.
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
