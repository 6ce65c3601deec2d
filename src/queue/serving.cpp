#include "haricot/queue/serving.hpp"

namespace haricot {

JobRef Serving::give(Tube& tube, Client& client) {
  const JobRef ref = tube.ready.top().job;
  places_.to_reserved(ref, client);
  watching_.charge(client, tube);
  watching_.announce(tube);
  return ref;
}

// Gives the next ready job to the client that has waited longest. Returns false if there is no such
// job or client.
bool Serving::serve_one(Tube& tube) {
  if (!tube.offers_job()) return false;
  Client* const first = watching_.first_waiting(tube);
  if (first == nullptr) return false;
  const JobRef ref = tube.ready.top().job;
  const bool is_batch = first->activity().waits_for() == WaitFor::batch;
  const auto kind = is_batch ? Delivery::Kind::reserved_in_batch : Delivery::Kind::reserved;
  watching_.end_wait(*first);
  places_.to_reserved(ref, *first);
  watching_.charge(*first, tube);
  watching_.deliver({.client = first, .kind = kind, .job = ref});
  return true;
}

void Serving::serve_watchers(Tube& tube) {
  while (serve_one(tube)) {
  }
  watching_.announce(tube);
}

void Serving::serve_waiting(Tube& tube, const Budget& budget) {
  tube.is_behind = false;
  while (!budget.is_used_up() && serve_one(tube)) state_.steps += QueueState::kStepsPerJob;
  tube.is_behind = tube.offers_job() && watching_.first_waiting(tube) != nullptr;
  watching_.announce(tube);
  if (tube.is_behind) state_.arm_tube(tube);
}

void Serving::serve_first(Tube& tube, const Budget& budget) {
  if (serve_one(tube)) {
    serve_waiting(tube, budget);
  } else {
    watching_.announce(tube);
  }
}

void Serving::to_ready_after_delay(JobRef ref, Place from) {
  const Job& job = state_.jobs[ref];
  if (job.delay_s == 0) {
    places_.to_ready(ref, from);
  } else {
    places_.to_delayed(ref, from, state_.now + Duration::seconds(job.delay_s));
  }
}

void Serving::to_held(JobRef ref, Group& group) {
  places_.to_delayed(ref, Place::nowhere, Instant::never());
  groups_.hold(ref, group);
}

void Serving::end_hold(JobRef ref) {
  const Job& job = state_.jobs[ref];
  groups_.end_hold(ref);
  if (job.delay_s > 0) {
    places_.set_deadline(ref, state_.now + Duration::seconds(job.delay_s));
  } else {
    places_.to_ready(ref, Place::delayed);
  }
}

// The ready heap keeps no room for delayed jobs, because each would pay 16 bytes for it.
void Serving::end_delay(Tube& tube) {
  const JobRef ref = tube.delayed.top().job;
  if (Places::allocate_ready(tube)) {
    places_.to_ready(ref, Place::delayed);
    serve(tube);
  } else {
    places_.set_deadline(ref, state_.now + QueueState::kPauseOfRefused);
  }
}

void Serving::kick(JobRef ref, Place from) {
  state_.jobs.count(ref, JobEvent::kick);
  tries_.kicked(ref);
  places_.to_ready(ref, from);
  state_.journal.record(JobChange::update, flushes_.journaled(ref));
  serve(state_.tube_of(ref));
}

void Serving::bury_unfinished(JobRef ref, BurialCause cause) {
  state_.jobs.count(ref, JobEvent::bury);
  places_.to_buried(ref, Place::reserved, cause);
  if (cause != BurialCause::memory) tries_.count_spent(ref);
}

// Without memory for its delay the job is buried: made ready, it would fail again at once, just
// when the server is short of memory.
void Serving::end_counted_try(JobRef ref, BurialCause cause) {
  const TryEnd end = tries_.end_of_try(ref, 0);
  const bool is_delayed = !end.is_spent && end.delay_s > 0;
  const bool lacks_memory = is_delayed && !state_.tube_of(ref).delayed.allocate_one();
  if (end.is_spent || lacks_memory) {
    bury_unfinished(ref, lacks_memory ? BurialCause::memory : cause);
    tries_.record_burial(ref);
    return;
  }
  if (is_delayed) {
    state_.jobs[ref].delay_s = end.delay_s;
    to_ready_after_delay(ref, Place::reserved);
  } else {
    places_.to_ready(ref, Place::reserved);
  }
  tries_.record_end(ref);
}

void Serving::take_back(JobRef ref, BurialCause cause) {
  if (tries_.may_count(state_.jobs[ref])) [[unlikely]] {
    end_counted_try(ref, cause);
  } else {
    places_.to_ready(ref, Place::reserved);
  }
  // If the job was in a lane, another job may be open now, even if this one was buried.
  serve(state_.tube_of(ref));
}

}  // namespace haricot
