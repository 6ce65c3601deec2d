// What time does to jobs and clients, and the backlog of what was too long for one call.

#include <algorithm>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot {

void Engine::advance(Instant now) {
  wheel_.advance_to(now);
  std::uint32_t budget = kJobsPerCall;
  // A timer that moves no job costs too: thousands of clients may stop waiting in one tick.
  for (std::uint32_t timers = 0; timers < kJobsPerCall && budget > 0; ++timers) {
    Timer* timer = wheel_.pop_due();
    if (timer == nullptr) break;
    if (timer->kind() == Tube::kTimerKind) {
      fire_tube(*static_cast<Tube*>(timer->owner()), now, budget);
    } else {
      fire_client(*static_cast<Client*>(timer->owner()), now, budget);
    }
  }
  budget_ = kJobsPerCall;
  if (TubeList* list = tubes_.list_if_asked(); list != nullptr) {
    std::uint32_t pages = kPagesPerCall;
    list->work(pages);
    pages_ = kPagesPerCall;
  }
  if (orphans_.empty() && kicks_.empty()) return;
  // Neither keeps the other waiting: a close of very many jobs takes half if there are kicks.
  std::uint32_t share = kicks_.empty() ? budget : budget / 2;
  budget -= share;
  give_back_orphans(now, share);
  budget += share;
  continue_kicks(now, budget);
}

// Takes off a budget of jobs what was touched beside the jobs themselves.
void Engine::pay(std::uint32_t& budget, std::uint64_t steps_before) const {
  const std::uint64_t jobs = (steps_ - steps_before) / kStepsPerJob;
  budget -= static_cast<std::uint32_t>(std::min<std::uint64_t>(jobs, budget));
}

Instant Engine::next_event() const {
  if (!orphans_.empty() || !kicks_.empty()) return Instant{};
  if (const TubeList* list = tubes_.list_if_asked(); list != nullptr && list->is_working()) {
    return Instant{};
  }
  return wheel_.next_event();
}

// Timers are never later than they have to be, but may be earlier: one that goes off for a deadline
// that has moved back is only set again. That keeps the wheel out of nearly every reserve and
// delete.
void Engine::arm(Timer& timer, Instant deadline) {
  if (!timer.is_set() || deadline < timer.deadline()) wheel_.set(timer, deadline);
}

void Engine::arm_tube(Tube& tube) {
  Instant next = Instant::never();
  if (!tube.delayed.empty()) next = tube.delayed.top().deadline;
  if (tube.paused) next = std::min(next, tube.pause_end);
  arm(tube.timer, next);
}

void Engine::arm_client(Client& client) {
  Instant next = client.wait_end_;
  if (!client.reserved_.empty()) {
    const Instant first_end = client.reserved_.top().deadline;
    next = std::min(next, client.waiting_ ? first_end - kDeadlineMargin : first_end);
  }
  arm(client.timer_, next);
}

void Engine::fire_tube(Tube& tube, Instant now, std::uint32_t& budget) {
  if (tube.paused && tube.pause_end <= now) end_pause(tube, now, budget);
  while (budget > 0 && !tube.delayed.empty() && tube.delayed.top().deadline <= now) {
    --budget;
    const std::uint64_t before = steps_;
    const JobRef ref = tube.delayed.top().job;
    leave(ref);
    if (enter_ready_or_buried(ref) == Outcome::done) offer(tube, now);
    pay(budget, before);
  }
  arm_tube(tube);
}

// Many workers may have waited for the end of a pause. While those that the budget does not reach
// have yet to be served, the tube stays closed to others, who would get in front of them.
void Engine::end_pause(Tube& tube, Instant now, std::uint32_t& budget) {
  tube.paused = false;
  tube.pause_s = 0;
  for (std::uint64_t before = steps_; budget > 0 && offer_one(tube, now); before = steps_) {
    --budget;
    pay(budget, before);
  }
  tube.paused = tube.offers_job() && first_waiting(tube) != nullptr;
  tell_offer(tube);
}

void Engine::fire_client(Client& client, Instant now, std::uint32_t& budget) {
  while (budget > 0 && !client.reserved_.empty() && client.reserved_.top().deadline <= now) {
    --budget;
    const std::uint64_t before_job = steps_;
    time_out(client, now);
    pay(budget, before_job);
  }
  const std::uint64_t before_wait = steps_;
  if (client.waiting_) {
    if (is_deadline_soon(client, now)) {
      end_wait(client);
      deliver(client, Delivery::Kind::deadline_soon, JobRef::none, 0);
    } else if (client.wait_end_ <= now) {
      end_wait(client);
      deliver(client, Delivery::Kind::timed_out, JobRef::none, 0);
    }
  }
  pay(budget, before_wait);
  arm_client(client);
}

// The end of a TTR. It is not recorded in the journal: after a restart no job is reserved anyway.
void Engine::time_out(Client& client, Instant now) {
  const JobRef ref = client.reserved_.top().job;
  Tube& tube = tube_of(jobs_[ref]);
  leave_reserved(client, ref);
  jobs_.count(ref, JobEvent::timeout);
  ++counts_.timeouts;
  if (enter_ready_or_buried(ref) == Outcome::done) offer(tube, now);
}

// The order in which a closed client's jobs become ready shows only where somebody waits for one:
// then it is that in which their TTRs would have ended, as if the client had let them all expire.
JobRef Engine::take_orphan(Orphans& orphans) {
  if (counts_.waiting == 0) return orphans.jobs.take_any().job;
  const JobRef ref = orphans.jobs.top().job;
  orphans.jobs.remove(0, jobs_);
  return ref;
}

void Engine::give_back(Orphans& orphans, Instant now, std::uint32_t& budget) {
  while (budget > 0 && !orphans.jobs.empty()) {
    --budget;
    const std::uint64_t before = steps_;
    const JobRef ref = take_orphan(orphans);
    Tube& tube = tube_of(jobs_[ref]);
    count_place(tube, jobs_[ref], false);
    if (enter_ready_or_buried(ref) == Outcome::done) offer(tube, now);
    pay(budget, before);
  }
}

// The last one first. A client without an index has so few that they go at once.
void Engine::drop_watches(Orphans& orphans, std::uint32_t& budget) {
  const bool has_index = orphans.index != nullptr;
  while (!orphans.watches.empty() && (!has_index || budget > 0)) {
    Watch* watch = orphans.watches.back();
    orphans.watches.pop_back();
    if (has_index) {
      --budget;
      orphans.index->remove(*watch);
    }
    drop_watch(*watch, has_index && orphans.index->many);
  }
}

void Engine::give_back_orphans(Instant now, std::uint32_t& budget) {
  while (budget > 0 && !orphans_.empty()) {
    Orphans& orphans = orphans_.back();
    give_back(orphans, now, budget);
    drop_watches(orphans, budget);
    if (!orphans.empty()) return;
    clients_.drop(orphans.holder);
    orphans_.pop_back();
  }
}

// A piece of each in turn, so that a short one does not wait for the end of a long one.
void Engine::continue_kicks(Instant now, std::uint32_t& budget) {
  constexpr std::uint32_t kJobsPerPiece = 200;
  while (budget > 0 && !kicks_.empty()) {
    if (next_kick_ >= kicks_.size()) next_kick_ = 0;
    LongKick& kick = kicks_[next_kick_];
    std::uint32_t piece = std::min(budget, kJobsPerPiece);
    budget -= piece;
    const Outcome outcome = kick_some(kick, now, piece);
    budget += piece;
    if (outcome == Outcome::waiting) {
      ++next_kick_;
      continue;
    }
    kick.client->kicking_ = false;
    deliver(*kick.client, Delivery::Kind::kicked, JobRef::none, kick.kicked);
    kick = kicks_.back();
    kicks_.pop_back();
  }
}

// Moves jobs of the client's tube until the bound is reached, none is left or the budget is used up
// (waiting). A journal that refuses ends the kick: what was kicked so far is the answer.
Outcome Engine::kick_some(LongKick& kick, Instant now, std::uint32_t& budget) {
  Tube& tube = *kick.client->used_;
  while (kick.left > 0) {
    JobRef ref = tube.first_buried;
    if (!kick.of_buried) ref = tube.delayed.empty() ? JobRef::none : tube.delayed.top().job;
    if (ref == JobRef::none) break;
    if (budget == 0) return Outcome::waiting;
    --budget;
    const std::uint64_t before = steps_;
    if (!tube.ready.reserve_one()) break;
    if (journal_.reserve_update() != JournalStatus::ok) {
      return kick.kicked > 0 ? Outcome::done : Outcome::journal_failed;
    }
    leave(ref);
    jobs_.count(ref, JobEvent::kick);
    enter_ready(ref);
    journal_.record_update(journaled(ref));
    offer(tube, now);
    pay(budget, before);
    steps_ += kStepsPerJob;
    --kick.left;
    ++kick.kicked;
  }
  return Outcome::done;
}

}  // namespace haricot
