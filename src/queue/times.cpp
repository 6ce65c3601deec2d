#include "haricot/queue/times.hpp"

#include <algorithm>
#include <new>

namespace haricot {
namespace {

// Returns the number of ready jobs to scan. Up to `max` jobs are scanned even if they are counted
// by age, so that the result does not depend on earlier numbers of jobs.
std::uint32_t scanned_jobs(const Tube& tube, std::uint32_t max) {
  const bool are_counted = tube.times != nullptr && tube.times->ready != nullptr;
  return are_counted && tube.ready.size() > max ? 0 : std::min(tube.ready.size(), max);
}

}  // namespace

TubeTimes* Times::make_times(Tube& tube) {
  tube.times.reset(new (std::nothrow) TubeTimes(state_.now));
  return tube.times.get();
}

// If memory was short when the jobs became many, this retries as more jobs come, unless there are
// too many to scan by then.
void Times::count_one_of_many(Tube& tube, const Job& job) {
  if (tube.times != nullptr && tube.times->ready != nullptr) {
    ReadyAges& ages = *tube.times->ready;
    ages.move_to(state_.now);
    ages.add(job.ready_since());
    return;
  }
  const std::uint32_t jobs = tube.ready.size();
  if (jobs <= kReadyScanned || jobs > 2 * kReadyScanned) return;
  TubeTimes* const times = times_of(tube);
  if (times == nullptr) return;
  times->ready.reset(new (std::nothrow) ReadyAges(state_.now));
  if (times->ready == nullptr) return;
  for (std::uint32_t i = 0; i < jobs; ++i) {
    times->ready->add(state_.jobs[tube.ready.at(i).job].ready_since());
  }
}

void Times::count_less_of_many(Tube& tube, const Job& job) {
  if (tube.times == nullptr || tube.times->ready == nullptr) return;
  if (tube.ready.size() - 1 <= kReadyCounted) {
    tube.times->ready.reset();
  } else {
    tube.times->ready->remove(job.ready_since());
  }
}

void Times::forget_ready(Tube& tube) {
  if (tube.times != nullptr) tube.times->ready.reset();
}

std::uint32_t Times::detail_steps(const Tube& tube) {
  return turn_limits::kStepsPerTubeScan + scanned_jobs(tube, kReadyScanned);
}

TubeDetail Times::detail(const Tube& tube) {
  state_.steps += detail_steps(tube);
  const Instant now = state_.now;
  Instant oldest_ready = now;
  const std::uint32_t scanned = scanned_jobs(tube, kReadyScanned);
  for (std::uint32_t i = 0; i < scanned; ++i) {
    oldest_ready = std::min(oldest_ready, state_.jobs[tube.ready.at(i).job].ready_since());
  }
  TubeDetail detail;
  if (const TubeTimes* times = tube.times.get(); times != nullptr) {
    if (scanned == 0 && times->ready != nullptr) {
      times->ready->move_to(now);
      oldest_ready = times->ready->oldest().value_or(now);
    }
    detail.queued = times->summary_of(times->queued, now);
    detail.worked = times->summary_of(times->worked, now);
  }
  detail.beyond_limit = tube.beyond_limit;
  detail.buried_by_tries = state_.spent_jobs.total(tube.ref);
  detail.oldest_ready_s = (now - oldest_ready).whole_seconds();
  if (tube.first_buried != JobRef::none) {
    const Burial burial = state_.jobs.burial(tube.first_buried, now);
    detail.oldest_buried_s = (now - burial.since).whole_seconds();
  }
  return detail;
}

}  // namespace haricot
