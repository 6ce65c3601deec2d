// How jobs come back that a journal has kept: first into the store, where later records may still
// change or drop them, and at the end each into its place.

#include <algorithm>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot {

JobRef Engine::restore(const RestoredJob& restored, std::string_view tube_name, NewBody body) {
  // Most jobs follow one of the same tube, and no tube goes before the end of it all.
  if (restored_tube_ == nullptr || restored_tube_->name != tube_name) {
    restored_tube_ = tubes_.find_or_create(tube_name);
    if (restored_tube_ == nullptr) return JobRef::none;
  }
  const JobRef ref = jobs_.create(restored.id, std::move(body), restored.tags);
  if (ref == JobRef::none) return ref;
  jobs_[ref].tube = restored_tube_->ref;
  change_restored(ref, restored);
  return ref;
}

void Engine::change_restored(JobRef ref, const RestoredJob& change) {
  CHECK(change.state != JobState::reserved);
  Job& job = jobs_[ref];
  job.created = change.created;
  job.priority = change.priority;
  job.delay_s = change.delay_s;
  job.ttr_s = std::max(change.ttr_s, std::uint32_t{1});
  job.set_state(change.state);
  for (std::size_t i = 0; i < kJobEvents; ++i) {
    const auto event = static_cast<JobEvent>(i);
    // Nearly all are zero, in new jobs as well as in records.
    if (change.counters[i] != 0 || jobs_.counted(ref, event) != 0) {
      jobs_.set_counted(ref, event, change.counters[i]);
    }
  }
}

bool Engine::place_restored(JobRef ref, Instant deadline) {
  Tube& tube = tube_of(jobs_[ref]);
  if (jobs_[ref].has_tags != 0) {
    if (!restore_tags(ref)) return false;
    count_key_to_keep(ref, true);
  }
  switch (jobs_[ref].state()) {
    case JobState::delayed:
      if (!tube.delayed.reserve_one()) return false;
      enter_delayed(ref, deadline);
      return true;
    case JobState::buried:
      enter_buried(ref);
      return true;
    case JobState::ready:
    case JobState::reserved:
      break;
  }
  if (!tube.ready.reserve_one()) return false;
  // No journal says when that was, so its age as a ready job is that of the job.
  jobs_[ref].set_ready_since(jobs_[ref].created);
  enter_ready_again(ref);
  return true;
}

void Engine::end_restore(JobId next_id) {
  next_id_ = std::max(next_id_, next_id);
  restored_tube_ = nullptr;
  for (std::uint32_t i = tubes_.size(); i > 0; --i) {
    free_if_unreferenced(tubes_[tubes_.at(i - 1).ref]);
  }
}

}  // namespace haricot
