#include "haricot/queue/restoring.hpp"

#include <algorithm>
#include <utility>

#include "haricot/base/check.hpp"

namespace haricot {

JobRef Restoring::restore(const RestoredJob& restored, std::string_view tube_name, NewBody body) {
  // Most jobs follow one of the same tube, and no tube goes before the end of it all.
  if (tube_ == nullptr || tube_->name != tube_name) {
    tube_ = state_.tubes.find_or_create(tube_name);
    if (tube_ == nullptr) return JobRef::none;
  }
  const JobRef ref = state_.jobs.create(restored.id, std::move(body), restored.tags);
  if (ref == JobRef::none) return ref;
  state_.jobs[ref].tube = tube_->ref;
  change(ref, restored);
  return ref;
}

void Restoring::change(JobRef ref, const RestoredJob& change) {
  CHECK(change.state != JobState::reserved);
  Job& job = state_.jobs[ref];
  job.created = change.created;
  job.priority = change.priority;
  job.delay_s = change.delay_s;
  job.ttr_s = std::max(change.ttr_s, std::uint32_t{1});
  job.set_state(change.state);
  for (std::size_t i = 0; i < kJobEvents; ++i) {
    const auto event = static_cast<JobEvent>(i);
    // Nearly all are zero, in new jobs as well as in records.
    if (change.counters[i] != 0 || state_.jobs.counted(ref, event) != 0) {
      state_.jobs.set_counted(ref, event, change.counters[i]);
    }
  }
}

bool Restoring::place(JobRef ref, Instant deadline) {
  const Job& job = state_.jobs[ref];
  Tube& tube = state_.tubes[job.tube];
  if (job.has_tags != 0 && !extras_.restore(ref)) return false;
  switch (job.state()) {
    case JobState::delayed:
      if (!tube.delayed.reserve_one()) return false;
      places_.to_delayed(ref, Place::nowhere, deadline);
      return true;
    case JobState::buried:
      places_.to_buried(ref, Place::nowhere);
      return true;
    case JobState::ready:
    case JobState::reserved:
      break;
  }
  if (!tube.ready.reserve_one()) return false;
  // No journal says when that was, so its age as a ready job is that of the job.
  places_.to_ready_since(ref, Place::nowhere, job.created);
  return true;
}

void Restoring::end(JobId next_id) {
  state_.next_id = std::max(state_.next_id, next_id);
  tube_ = nullptr;
  for (std::uint32_t i = state_.tubes.size(); i > 0; --i) {
    state_.free_if_unreferenced(state_.tubes[state_.tubes.at(i - 1).ref]);
  }
}

}  // namespace haricot
