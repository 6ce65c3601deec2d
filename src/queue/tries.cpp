#include "haricot/queue/tries.hpp"

#include <new>

namespace haricot {
namespace {

// How long a late record waits for the next try.
constexpr Duration kPauseOfLateRecords = Duration::milliseconds(50);

}  // namespace

bool Tries::is_limit_reached(JobRef ref) const {
  const JobStore& jobs = state_.jobs;
  const std::uint32_t own = jobs.tries(ref);
  const std::uint32_t tries = own > 0 ? own : max_;
  return tries > 0 &&
         jobs.counted(ref, JobEvent::reserve) >= tries + jobs.counted(ref, JobEvent::kick);
}

std::uint64_t Tries::burials_to_come() const {
  const std::uint64_t late = late_.size();
  if (max_ > 0) return state_.jobs.size() - state_.counts.buried + late;
  return state_.jobs.with_tries() - buried_ + late;
}

void Tries::count_burial(JobRef ref, bool entered) {
  if (state_.jobs.has_tries(ref)) buried_ += entered ? 1 : ~std::uint64_t{0};
}

JournalStatus Tries::reserve_unburial(JobRef ref) {
  if (!may_limit(state_.jobs[ref]) || !is_limited(ref)) [[likely]]
    return state_.journal.reserve_update();
  return state_.journal.reserve_update_with_burial();
}

void Tries::count_spent(JobRef ref) {
  const Tube& tube = state_.tube_of(ref);
  state_.spent_jobs.add(tube.ref, tube.name, state_.jobs[ref].id, state_.now);
}

bool Tries::is_room(JournalStatus status) {
  if (status == JournalStatus::later) answered_later_ = true;
  return status == JournalStatus::ok;
}

void Tries::record_end_of_limited(JobRef ref) {
  if (is_limited(ref) && is_room(state_.journal.reserve_update())) {
    state_.journal.record_update(flushes_.journaled(ref));
  }
}

void Tries::record_burial(JobRef ref) {
  if (is_room(state_.journal.reserve_burial(flushes_.journaled(ref)))) {
    state_.journal.record_update(flushes_.journaled(ref));
    return;
  }
  try {
    late_.push_back(state_.jobs[ref].id);
    late_again_ = state_.now + kPauseOfLateRecords;
  } catch (const std::bad_alloc&) {
    // Without memory as well as without the disk, a restart gives the job another try.
  }
}

// One that was kicked or deleted meanwhile has a later record. What the budget does not reach is
// due at once, in the next turn.
void Tries::record_late(std::uint32_t& budget) {
  while (!late_.empty()) {
    if (budget == 0) {
      late_again_ = state_.now;
      return;
    }
    --budget;
    const JobRef ref = flushes_.find(late_.back());
    const bool is_buried = ref != JobRef::none && state_.jobs[ref].state() == JobState::buried;
    if (is_buried) {
      if (!is_room(state_.journal.reserve_burial(flushes_.journaled(ref)))) {
        late_again_ = state_.now + kPauseOfLateRecords;
        return;
      }
      state_.journal.record_update(flushes_.journaled(ref));
    }
    late_.pop_back();
  }
  late_again_ = Instant::never();
}

}  // namespace haricot
