// How long the jobs of a tube wait and are worked on, and since when the oldest are ready or
// buried. What is kept for that is in TubeTimes; here it is kept right as jobs move.
//
// A look at a tube with few ready jobs looks through them, so that nothing has to be kept. From
// kReadyLookedAt on they are counted by age, and again no more from kReadyCounted on: a number of
// jobs that goes up and down by some makes no work.

#include <algorithm>
#include <new>

#include "haricot/base/check.hpp"
#include "haricot/queue/counted_times.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot {
namespace {

// What a look costs beside the jobs that it looks at.
constexpr std::uint32_t kStepsPerLook = 32;

// So many jobs are looked through, even if those are counted by age: what is told does not depend
// on how the number of jobs has come to be what it is.
std::uint32_t jobs_looked_at(const Tube& tube, std::uint32_t max) {
  const bool are_counted = tube.times != nullptr && tube.times->ready != nullptr;
  return are_counted && tube.ready.size() > max ? 0 : std::min(tube.ready.size(), max);
}

}  // namespace

// Where memory was refused when they became many, there is another try a few jobs later, but not
// one that would have to look through too many.
void Engine::count_ready(Tube& tube, const Job& job) {
  if (tube.times != nullptr && tube.times->ready != nullptr) {
    ReadyAges& ages = *tube.times->ready;
    ages.move_to(now_);
    ages.add(job.ready_since());
    return;
  }
  const std::uint32_t jobs = tube.ready.size();
  if (jobs <= kReadyLookedAt || jobs > 2 * kReadyLookedAt) return;
  TubeTimes* const times = times_of(tube, now_);
  if (times == nullptr) return;
  times->ready.reset(new (std::nothrow) ReadyAges(now_));
  if (times->ready == nullptr) return;
  for (std::uint32_t i = 0; i < jobs; ++i) {
    times->ready->add(jobs_[tube.ready.at(i).job].ready_since());
  }
}

void Engine::count_less_ready(Tube& tube, const Job& job) {
  if (tube.times == nullptr || tube.times->ready == nullptr) return;
  if (tube.ready.size() - 1 <= kReadyCounted) {
    tube.times->ready.reset();
  } else {
    tube.times->ready->remove(job.ready_since());
  }
}

void Engine::count_buried(Tube& tube, JobRef ref) {
  TubeTimes* const times = times_of(tube, now_);
  if (times == nullptr) return;
  if (times->buried == nullptr) times->buried.reset(new (std::nothrow) BurialRuns);
  if (times->buried != nullptr) times->buried->add(ref, now_);
}

// A buried job that was flushed is the first of its tube again. If it was the last of a run, the
// run comes back with it.
void Engine::put_back_run(Flush& flush, Tube& tube, JobRef ref) {
  if (flush.runs == nullptr || !flush.runs->ends_with(ref)) return;
  const BurialRuns::Run run = flush.runs->take_last();
  TubeTimes* const times = times_of(tube, now_);
  if (times == nullptr) return;
  if (times->buried == nullptr) times->buried.reset(new (std::nothrow) BurialRuns);
  if (times->buried != nullptr) times->buried->add_first(run);
}

std::uint32_t Engine::detail_steps(const Tube& tube) {
  return kStepsPerLook + jobs_looked_at(tube, kReadyLookedAt);
}

TubeDetail Engine::detail(const Tube& tube, Instant now) {
  steps_ += detail_steps(tube);
  Instant oldest_ready = now;
  Instant oldest_buried = now;
  const std::uint32_t looked_at = jobs_looked_at(tube, kReadyLookedAt);
  for (std::uint32_t i = 0; i < looked_at; ++i) {
    oldest_ready = std::min(oldest_ready, jobs_[tube.ready.at(i).job].ready_since());
  }
  TubeDetail detail;
  if (const TubeTimes* times = tube.times.get(); times != nullptr) {
    if (looked_at == 0 && times->ready != nullptr) {
      times->ready->move_to(now);
      oldest_ready = times->ready->oldest().value_or(now);
    }
    if (times->buried != nullptr) oldest_buried = times->buried->oldest().value_or(now);
    detail.queued = times->summary_of(times->queued, now);
    detail.worked = times->summary_of(times->worked, now);
  }
  detail.buried_by_tries = spent_jobs_.total(tube.ref);
  detail.oldest_ready_s = (now - oldest_ready).whole_seconds();
  detail.oldest_buried_s = (now - oldest_buried).whole_seconds();
  return detail;
}

}  // namespace haricot
