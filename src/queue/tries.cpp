#include "haricot/queue/tries.hpp"

#include <new>

namespace haricot {

bool Tries::is_limit_reached(JobRef ref) const {
  const JobStore& jobs = state_.jobs;
  const std::uint32_t own = jobs.tries(ref);
  const std::uint32_t tries = own > 0 ? own : max_;
  return tries > 0 &&
         jobs.counted(ref, JobEvent::reserve) >= tries + jobs.counted(ref, JobEvent::kick);
}

JournalStatus Tries::take_room_for_unburial(JobRef ref) {
  return state_.journal.take_room_for_update(is_limited(ref) ? Promise::burial : Promise::nothing);
}

void Tries::count_spent(JobRef ref) {
  const Tube& tube = state_.tube_of(ref);
  state_.spent_jobs.add(tube.ref, tube.name, state_.jobs[ref].id, state_.now);
}

bool Tries::has_room_for_burial(JobRef ref) {
  const JournaledJob job = flushes_.journaled(ref);
  return state_.journal.take_promised_room({.burial = &job}) == JournalStatus::ok;
}

void Tries::record_end(JobRef ref) {
  if (!is_limited(ref)) return;
  if (state_.journal.take_room_for_update(Promise::nothing) != JournalStatus::ok) return;
  state_.journal.record(JobChange::update, flushes_.journaled(ref));
}

void Tries::record_burial(JobRef ref) {
  if (has_room_for_burial(ref)) {
    state_.journal.record(JobChange::update, flushes_.journaled(ref));
    return;
  }
  try {
    late_.push_back({state_.jobs[ref].id, burials_of(ref)});
    state_.try_refused_again();
  } catch (const std::bad_alloc&) {
    // If both memory and the disk fail, a restart gives the job another try.
  }
}

// A job that was kicked or deleted meanwhile has a later record. If it was buried again, the other
// burial has an entry of its own.
bool Tries::record_late(const Budget& budget) {
  while (!late_.empty() && !budget.is_used_up()) {
    state_.steps += QueueState::kStepsPerJob;
    const JobRef ref = flushes_.find(late_.back().id);
    const bool is_there = ref != JobRef::none && burials_of(ref) == late_.back().number;
    if (is_there && state_.jobs[ref].state() == JobState::buried) {
      if (!has_room_for_burial(ref)) {
        state_.try_refused_again();
        return false;
      }
      state_.journal.record(JobChange::update, flushes_.journaled(ref));
    }
    late_.pop_back();
  }
  return true;
}

}  // namespace haricot
