#include "haricot/queue/restoring.hpp"

#include <algorithm>
#include <utility>

#include "haricot/base/check.hpp"

namespace haricot {

JobRef Restoring::restore(const RestoredJob& restored, std::string_view tube_name, NewBody&& body) {
  // Most jobs have the tube of the job before them, and no tube is freed before end().
  if (tube_ == nullptr || tube_->name != tube_name) {
    tube_ = state_.tubes.find_or_create(tube_name);
    if (tube_ == nullptr) return JobRef::none;
  }
  const JobRef ref = state_.jobs.create(restored.id, std::move(body), restored.tags);
  if (ref == JobRef::none) return ref;
  Job& job = state_.jobs[ref];
  job.tube = tube_->ref;
  set_fields(job, restored);
  // They are zero in a new job and in nearly all records.
  if (bits_of(restored.counters) != 0) state_.jobs.set_counted(ref, restored.counters);
  if (!restored.tags.empty()) state_.jobs.set_facts(ref, restored.facts);
  return ref;
}

// A change that counts one more kick is that kick.
void Restoring::change(JobRef ref, const RestoredJob& change) {
  const auto count_in = [&change](JobEvent event) {
    return change.counters[static_cast<std::size_t>(event)];
  };
  const bool has_facts = state_.jobs.has_facts(ref);
  if (has_facts && count_in(JobEvent::kick) > state_.jobs.counted(ref, JobEvent::kick)) {
    state_.jobs.set_facts(ref, {.tries_before = count_in(JobEvent::reserve)});
  }
  set_fields(state_.jobs[ref], change);
  state_.jobs.set_counted(ref, change.counters);
}

void Restoring::set_fields(Job& job, const RestoredJob& restored) {
  CHECK(restored.state != JobState::reserved);
  job.created = restored.created;
  job.priority = restored.priority;
  job.delay_s = restored.delay_s;
  job.ttr_s = std::max(restored.ttr_s, std::uint32_t{1});
  job.set_state(restored.state);
}

bool Restoring::place_buried(JobRef ref, const Burial& burial) {
  if (!take_up(ref)) return false;
  const Instant since = std::min(burial.since, state_.now);
  places_.to_buried(ref, Place::nowhere, {.since = since, .cause = burial.cause});
  return true;
}

bool Restoring::place(JobRef ref, Instant deadline) {
  Job& job = state_.jobs[ref];
  Tube& tube = state_.tubes[job.tube];
  if (job.has_tags != 0 && !extras_.restore(ref)) return false;
  switch (job.state()) {
    case JobState::delayed:
      if (!tube.delayed.allocate_one()) return false;
      places_.to_delayed(ref, Place::nowhere, deadline);
      return true;
    case JobState::buried:
      places_.to_buried(ref, Place::nowhere, BurialCause::unknown);
      return true;
    case JobState::ready:
    case JobState::reserved:
      break;
  }
  if (!Places::allocate_ready(tube)) return false;
  places_.back_to_ready(ref, job, tube);
  return true;
}

void Restoring::end(JobId next_id) {
  state_.next_id = std::max(state_.next_id, next_id);
  tube_ = nullptr;
  groups_.end_restoring();
  if (groups_.has_ended()) state_.resume_all_by(state_.now);
  for (std::uint32_t i = state_.tubes.size(); i > 0; --i) {
    state_.free_if_unreferenced(state_.tubes[state_.tubes.at(i - 1).ref]);
  }
}

}  // namespace haricot
