// Jobs with a limit of tries: by their tag, or all of them by the server's limit.
//
// Every reserve is a try. When a try ends and the limit is reached, the job is buried instead of
// made ready again. A kick gives one more try. So nothing has to be kept beside the limit: what a
// job has of reserves and kicks says it all, and both stand in its records.
//
// The end of a try is recorded where there is room, so that a restart knows it. A burial is
// recorded always: its room was taken with the put, or with the kick. If the journal does not take
// it now, it is late: advance() tries again.

#include <algorithm>
#include <new>
#include <utility>

#include "haricot/queue/engine.hpp"

namespace haricot {
namespace {

// How long a late record waits for the next try.
constexpr Duration kPauseOfLateRecords = Duration::milliseconds(50);

}  // namespace

std::uint32_t Engine::tries_of(JobRef ref) const {
  const std::uint32_t own = jobs_.tries(ref);
  return own > 0 ? own : tries_max_;
}

bool Engine::is_spent(JobRef ref) const {
  const std::uint32_t tries = tries_of(ref);
  return tries > 0 &&
         jobs_.counted(ref, JobEvent::reserve) >= tries + jobs_.counted(ref, JobEvent::kick);
}

std::uint64_t Engine::burials_to_come() const {
  const std::uint64_t late = late_burials_.size();
  if (tries_max_ > 0) return jobs_.size() - counts_.buried + late;
  return jobs_.with_tries() - buried_with_tries_ + late;
}

void Engine::count_buried_with_tags(const Job& job, bool entered) {
  if (!jobs_.has_tries(jobs_.find(job.id))) return;
  buried_with_tries_ += entered ? 1 : ~std::uint64_t{0};
}

JournalStatus Engine::reserve_unburial(JobRef ref) {
  if (!may_have_tries(jobs_[ref]) || !has_tries(ref)) [[likely]]
    return journal_.reserve_update();
  return journal_.reserve_update_with_burial();
}

void Engine::bury_spent(JobRef ref) {
  jobs_.count(ref, JobEvent::bury);
  enter_buried(ref);
  const Tube& tube = tube_of(jobs_[ref]);
  spent_jobs_.add(tube.ref, tube.name, jobs_[ref].id, now_);
}

// Whoever got the answer `later` has to ask when it is time, whether it still needs to know or not.
bool Engine::is_room(JournalStatus status) {
  if (status == JournalStatus::later) answered_later_ = true;
  return status == JournalStatus::ok;
}

// Requires: it is in no place.
void Engine::end_try(JobRef ref, Instant now) {
  if (!is_spent(ref)) {
    const bool is_recorded = has_tries(ref) && is_room(journal_.reserve_update());
    const Outcome outcome = enter_ready_or_buried(ref);
    if (is_recorded) journal_.record_update(journaled(ref));
    if (outcome == Outcome::done) offer(tube_of(jobs_[ref]), now);
    return;
  }
  bury_spent(ref);
  if (is_room(journal_.reserve_burial(journaled(ref)))) {
    journal_.record_update(journaled(ref));
    return;
  }
  try {
    late_burials_.push_back(jobs_[ref].id);
    late_again_ = now_ + kPauseOfLateRecords;
  } catch (const std::bad_alloc&) {
    // Without memory as well as without the disk, a restart gives the job another try.
  }
}

// One that was kicked or deleted meanwhile has a later record.
void Engine::record_late_burials() {
  while (!late_burials_.empty()) {
    const JobRef ref = find(late_burials_.back());
    const bool is_buried = ref != JobRef::none && jobs_[ref].state() == JobState::buried;
    if (is_buried) {
      if (!is_room(journal_.reserve_burial(journaled(ref)))) {
        late_again_ = now_ + kPauseOfLateRecords;
        return;
      }
      journal_.record_update(journaled(ref));
    }
    late_burials_.pop_back();
  }
  late_again_ = Instant::never();
}

}  // namespace haricot
