#include "haricot/queue/flushes.hpp"

#include <utility>

#include "haricot/base/check.hpp"

namespace haricot {
namespace {

template <typename Heap>
bool is_at(const Heap& heap, std::uint32_t index, JobRef ref) {
  return index < heap.size() && heap.at(index).job == ref;
}

}  // namespace

bool Flushes::is_flushed(JobRef ref) const {
  const Job& job = state_.jobs[ref];
  const Tube& tube = state_.tubes[job.tube];
  if (tube.flushed == nullptr) return false;
  switch (job.state()) {
    case JobState::ready:
      return is_at(tube.flushed->ready, job.heap_index(), ref);
    case JobState::delayed:
      return is_at(tube.flushed->delayed, job.heap_index(), ref);
    case JobState::buried:
      return (job.history.burial_side != 0) != tube.burial_side;
    case JobState::reserved:
      break;
  }
  return false;
}

Instant Flushes::delayed_deadline(JobRef ref, const Job& job, const Tube& tube) const {
  return (have(ref) ? tube.flushed->delayed : tube.delayed).at(job.heap_index()).deadline;
}

bool Flushes::has_some(const Tube& tube, JobStates states) {
  return (states.ready && !tube.ready.empty()) || (states.delayed && !tube.delayed.empty()) ||
         (states.buried && tube.first_buried != JobRef::none);
}

void Flushes::take(Tube& tube, JobStates states, std::unique_ptr<FlushedJobs> room) {
  CHECK(tube.flushed == nullptr && room->empty());
  if (states.ready) room->ready = std::move(tube.ready);
  if (states.delayed) room->delayed = std::move(tube.delayed);
  if (states.buried) {
    room->first_buried = std::exchange(tube.first_buried, JobRef::none);
    tube.last_buried = JobRef::none;
    tube.burial_side = !tube.burial_side;
  }
  tube.flushed = std::move(room);
  ++size_;
}

Flushes::Flushed Flushes::next(const Tube& tube) const {
  const FlushedJobs& jobs = *tube.flushed;
  if (jobs.first_buried != JobRef::none) return {jobs.first_buried, {}};
  if (!jobs.ready.empty()) return {jobs.ready.at(jobs.ready.size() - 1).job, {}};
  const DeadlineEntry& entry = jobs.delayed.at(jobs.delayed.size() - 1);
  return {entry.job, entry.deadline};
}

void Flushes::drop_next(Tube& tube, const Flushed& next) {
  FlushedJobs& jobs = *tube.flushed;
  if (jobs.first_buried != JobRef::none) {
    jobs.first_buried = static_cast<JobRef>(state_.jobs[next.job].links.second);
  } else if (!jobs.ready.empty()) {
    (void)jobs.ready.take_any();
    jobs.ready.trim(0);
  } else {
    (void)jobs.delayed.take_any();
  }
}

void Flushes::end(Tube& tube) {
  CHECK(tube.flushed->empty());
  tube.flushed.reset();
  --size_;
}

}  // namespace haricot
