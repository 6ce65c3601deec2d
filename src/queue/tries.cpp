#include "haricot/queue/tries.hpp"

#include <algorithm>
#include <new>

namespace haricot {

TryEnd Tries::end_of_counted(JobRef ref, std::uint32_t asked_s) const {
  if (is_limit_reached(ref)) return {.is_spent = true, .delay_s = asked_s};
  const bool is_backed_off = asked_s == 0 && state_.jobs.has(ref, Tag::backoff);
  return {.delay_s = is_backed_off ? backoff_s(ref) : asked_s};
}

bool Tries::is_limit_reached(JobRef ref) const {
  const JobStore& jobs = state_.jobs;
  const std::uint32_t own = jobs.tries(ref);
  const std::uint32_t tries = own > 0 ? own : max_;
  return tries > 0 &&
         jobs.counted(ref, JobEvent::reserve) >= tries + jobs.counted(ref, JobEvent::kick);
}

// Returns the delay after the try that ends now. Requires: the job has a backoff.
std::uint32_t Tries::backoff_s(JobRef ref) const {
  constexpr std::uint32_t kDoublingsMax = 32;  // Any number of seconds exceeds its bound then.
  const JobStore& jobs = state_.jobs;
  const JobTags tags = tags_in(jobs.tags(ref));
  const auto reserves = static_cast<std::uint32_t>(jobs.counted(ref, JobEvent::reserve));
  const std::uint32_t tries =
      std::max(reserves - jobs.node<Tag::backoff>(ref).tries_before, std::uint32_t{1});
  const std::uint64_t seconds = std::uint64_t{tags.backoff_s} << std::min(tries - 1, kDoublingsMax);
  const std::uint64_t bound = std::max(tags.backoff_s, tags.backoff_max_s);
  return static_cast<std::uint32_t>(std::min(seconds, bound));
}

JournalStatus Tries::take_room_for_unburial(JobRef ref) {
  return state_.journal.take_room_for_update(counts(ref) ? Promise::burial : Promise::nothing);
}

void Tries::kicked(JobRef ref) {
  JobStore& jobs = state_.jobs;
  if (!jobs.has(ref, Tag::backoff)) return;
  jobs.node<Tag::backoff>(ref).tries_before =
      static_cast<std::uint32_t>(jobs.counted(ref, JobEvent::reserve));
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
  if (!counts(ref)) return;
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
