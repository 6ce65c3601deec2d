// Where a job is: in its tube's ready heap, delayed heap or buried list, or with the client that
// holds it. Every move is a leave… and an enter…, and all numbers that are kept about places are
// kept here.

#include "haricot/base/check.hpp"
#include "haricot/queue/counted_times.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot {

// Adds a job to the numbers of the place its state names, or takes it off them.
void Engine::count_place(Tube& tube, const Job& job, bool entered) {
  count_place(tube, job, job.state(), entered);
}

// Inlined, as next to nothing is left of it where the state is known.
[[gnu::always_inline]] inline void Engine::count_place(Tube& tube, const Job& job, JobState state,
                                                       bool entered) {
  const std::uint64_t step = entered ? 1 : ~std::uint64_t{0};  // Adding all ones takes one off.
  switch (state) {
    case JobState::ready:
      counts_.ready += step;
      if (job.is_urgent()) {
        counts_.urgent += step;
        tube.urgent += step;
      }
      break;
    case JobState::reserved:
      counts_.reserved += step;
      tube.reserved += step;
      break;
    case JobState::delayed:
      counts_.delayed += step;
      break;
    case JobState::buried:
      counts_.buried += step;
      tube.buried += step;
      if (job.has_tags != 0) [[unlikely]]
        count_buried_with_tags(job, entered);
      break;
  }
}

void Engine::enter_ready(JobRef ref) {
  Job& job = jobs_[ref];
  job.set_ready_since(now_);
  enter_ready_again(ref, job);
}

void Engine::enter_ready_again(JobRef ref) {
  enter_ready_again(ref, jobs_[ref]);
}

// Inlined, as a call would make each put dearer.
[[gnu::always_inline]] inline void Engine::enter_ready_again(JobRef ref, Job& job) {
  Tube& tube = tube_of(job);
  job.set_state(JobState::ready);
  tube.ready.push(ReadySlot(job.id, job.priority, ref), jobs_);
  count_place(tube, job, JobState::ready, true);
  if (tube.ready.size() > kReadyCounted) [[unlikely]]
    count_ready(tube, job);
  if (has_lane(ref, job)) [[unlikely]]
    enter_ready_in_lane(ref);
}

void Engine::enter_delayed(JobRef ref, Instant deadline) {
  Job& job = jobs_[ref];
  Tube& tube = tube_of(job);
  job.set_state(JobState::delayed);
  tube.delayed.push(DeadlineSlot{deadline, ++arrivals_, ref}, jobs_);
  count_place(tube, job, true);
  arm_tube(tube);
}

void Engine::enter_buried(JobRef ref) {
  Job& job = jobs_[ref];
  Tube& tube = tube_of(job);
  job.set_buried(tube.burials);
  job.links = Links{static_cast<std::uint32_t>(tube.last_buried), 0};
  if (tube.last_buried == JobRef::none) {
    tube.first_buried = ref;
  } else {
    jobs_[tube.last_buried].links.second = static_cast<std::uint32_t>(ref);
  }
  tube.last_buried = ref;
  count_place(tube, job, true);
  count_buried(tube, ref);
}

void Engine::enter_reserved(Client& client, JobRef ref, Instant now) {
  Job& job = jobs_[ref];
  job.set_state(JobState::reserved);
  job.links.second = static_cast<std::uint32_t>(client.ref_);
  jobs_.count(ref, JobEvent::reserve);
  client.reserved_.push(DeadlineSlot{now + Duration::seconds(job.ttr_s), ++arrivals_, ref}, jobs_);
  count_place(tube_of(job), job, JobState::reserved, true);
  if (has_lane(ref, job)) [[unlikely]]
    begin_reserved_in_lane(ref);
  arm_client(client);
}

// A job that cannot become ready for want of memory is buried: there it needs none, and somebody
// can see it.
Outcome Engine::enter_ready_or_buried(JobRef ref) {
  if (tube_of(jobs_[ref]).ready.reserve_one()) {
    enter_ready(ref);
    return Outcome::done;
  }
  enter_buried(ref);
  return Outcome::buried;
}

// A job whose worker did not end it goes back to its tube. If it was in a lane, another job may be
// open now, whatever becomes of this one.
void Engine::take_back(JobRef ref, Tube& tube, Instant now) {
  const bool may_be_spent = may_have_tries(jobs_[ref]);
  const Outcome outcome = may_be_spent ? end_try(ref) : enter_ready_or_buried(ref);
  if (outcome == Outcome::done || has_lane(ref)) offer(tube, now);
}

// Into the delayed heap if the job has a delay, into the ready heap if not.
Outcome Engine::enter_after_delay(JobRef ref, Instant now) {
  const Job& job = jobs_[ref];
  if (job.delay_s == 0) return enter_ready_or_buried(ref);
  if (tube_of(job).delayed.reserve_one()) {
    enter_delayed(ref, now + Duration::seconds(job.delay_s));
    return Outcome::done;
  }
  enter_buried(ref);
  return Outcome::buried;
}

void Engine::leave(JobRef ref) {
  Job& job = jobs_[ref];
  Tube& tube = tube_of(job);
  const JobState state = job.state();
  count_place(tube, job, state, false);
  switch (state) {
    case JobState::ready:
      if (tube.ready.size() > kReadyCounted) [[unlikely]]
        count_less_ready(tube, job);
      if (has_lane(ref, job)) [[unlikely]]
        leave_ready_in_lane(ref);
      tube.ready.remove(job.heap_index(), jobs_);
      tube.ready.trim_if_empty();
      break;
    case JobState::delayed:
      tube.delayed.remove(job.heap_index(), jobs_);
      tube.delayed.trim_if_empty();
      break;
    case JobState::buried: {
      const auto before = static_cast<JobRef>(job.links.first);
      const auto after = static_cast<JobRef>(job.links.second);
      if (before == JobRef::none) {
        tube.first_buried = after;
      } else {
        jobs_[before].links.second = static_cast<std::uint32_t>(after);
      }
      if (after == JobRef::none) {
        tube.last_buried = before;
      } else {
        jobs_[after].links.first = static_cast<std::uint32_t>(before);
      }
      if (tube.times != nullptr && tube.times->buried != nullptr) {
        tube.times->buried->remove(ref, before);
      }
      break;
    }
    case JobState::reserved:
      CHECK(false);  // Its holder has to be named: leave_reserved().
  }
}

void Engine::leave_reserved(Client& client, JobRef ref) {
  const Job& job = jobs_[ref];
  CHECK(job.holder() == client.ref_);
  if (has_lane(ref, job)) [[unlikely]]
    end_reserved_in_lane(ref);
  count_place(tube_of(job), job, JobState::reserved, false);
  client.reserved_.remove(job.heap_index(), jobs_);
  // A client that waits keeps the room that was made for what it waits for.
  if (!client.waiting_) client.reserved_.trim_if_empty();
}

JobRef Engine::held_by(const Client& client, JobId id) const {
  const JobRef ref = jobs_.find(id);
  if (ref == JobRef::none) return ref;
  const Job& job = jobs_[ref];
  const bool held = job.state() == JobState::reserved && job.holder() == client.ref_;
  return held ? ref : JobRef::none;
}

// When the TTR of a reserved job ends. `otherwise` is for a job whose holder is gone already.
Instant Engine::reserved_until(const Job& job, Instant otherwise) const {
  const Client* holder = clients_[job.holder()];
  return holder == nullptr ? otherwise : holder->reserved_.at(job.heap_index()).deadline;
}

// Hands the next ready job to the worker that waits longest. False: one of the two is missing.
bool Engine::offer_one(Tube& tube, Instant now) {
  if (!tube.offers_job()) return false;
  Client* first = first_waiting(tube);
  if (first == nullptr) return false;
  Client& client = *first;
  const JobRef ref = tube.ready.top().job;
  count_queued(tube, jobs_[ref], now_);
  leave(ref);
  end_wait(client);
  enter_reserved(client, ref, now);
  if (client.is_weighted()) [[unlikely]]
    charge(client, tube);
  deliver(client,
          client.waits_for_batch_ ? Delivery::Kind::reserved_in_batch : Delivery::Kind::reserved,
          ref, 0);
  return true;
}

// Hands out ready jobs until jobs or workers run out. An open tube never has both for longer than a
// call, so there is one to hand out for each job that has just become ready.
void Engine::offer(Tube& tube, Instant now) {
  while (offer_one(tube, now)) {
  }
  announce_offer(tube);
}

JournaledJob Engine::journaled(JobRef ref) const {
  const Job& job = jobs_[ref];
  return journaled(ref, job, tubes_[job.tube]);
}

}  // namespace haricot
