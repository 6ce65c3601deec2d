// What time does to jobs and clients, and the backlog of what was too long for one call.

#include <algorithm>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot {

void Engine::advance(Instant now) {
  now_ = now;
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
  if (kept_.size() > 0) [[unlikely]]
    drop_ended_keys(budget);
  if (late_again_ <= now) [[unlikely]]
    record_late_burials(budget);
  if (!tasks_.empty()) work_on_tasks(now, budget);
}

// Takes off a budget of jobs what was touched beside the jobs themselves.
void Engine::pay(std::uint32_t& budget, std::uint64_t steps_before) const {
  const std::uint64_t jobs = (steps_ - steps_before) / kStepsPerJob;
  budget -= static_cast<std::uint32_t>(std::min<std::uint64_t>(jobs, budget));
}

Instant Engine::next_event() const {
  if (tasks_.can_go_on()) return Instant{};
  if (const TubeList* list = tubes_.list_if_asked(); list != nullptr && list->is_working()) {
    return Instant{};
  }
  const Instant next = std::min(wheel_.next_event(), late_again_);
  return kept_.size() == 0 ? next : std::min(next, kept_.next_end());
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
  announce_offer(tube);
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

// The end of a TTR. Where a job may be tried as often as it takes, it is not recorded in the
// journal: after a restart no job is reserved anyway.
void Engine::time_out(Client& client, Instant now) {
  const JobRef ref = client.reserved_.top().job;
  Tube& tube = tube_of(jobs_[ref]);
  leave_reserved(client, ref);
  jobs_.count(ref, JobEvent::timeout);
  ++counts_.timeouts;
  take_back(ref, tube, now);
}

}  // namespace haricot
