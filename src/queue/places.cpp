#include "haricot/queue/places.hpp"

#include "haricot/base/check.hpp"

namespace haricot {

// Adds a job to the counts of a place, or subtracts it. Inlined, because almost nothing remains of
// it if the state is a constant.
[[gnu::always_inline]] inline void Places::count(Tube& tube, const Job& job, JobState state,
                                                 bool entered) {
  const std::uint64_t change = entered ? 1 : ~std::uint64_t{0};  // Adding all ones subtracts one.
  EngineCounts& counts = state_.counts;
  switch (state) {
    case JobState::ready:
      counts.ready += change;
      if (job.is_urgent()) {
        counts.urgent += change;
        tube.urgent += change;
      }
      break;
    case JobState::reserved:
      counts.reserved += change;
      tube.reserved += change;
      break;
    case JobState::delayed:
      counts.delayed += change;
      break;
    case JobState::buried:
      counts.buried += change;
      tube.buried += change;
      break;
  }
}

void Places::leave_buried(JobRef ref, const Job& job, Tube& tube) {
  JobStore& jobs = state_.jobs;
  const auto before = static_cast<JobRef>(job.links.first);
  const auto after = static_cast<JobRef>(job.links.second);
  if (before == JobRef::none) {
    tube.first_buried = after;
  } else {
    jobs[before].links.second = static_cast<std::uint32_t>(after);
  }
  if (after == JobRef::none) {
    tube.last_buried = before;
  } else {
    jobs[after].links.first = static_cast<std::uint32_t>(before);
  }
  count(tube, job, JobState::buried, false);
  jobs.forget_burial(ref);
}

void Places::leave_flush(JobRef ref, const Job& job, Tube& tube) {
  count(tube, job, job.state(), false);
  if (job.state() == JobState::buried) state_.jobs.forget_burial(ref);
}

// Inlined, because calls would slow down each change.
[[gnu::always_inline]] inline void Places::leave_holder(const Job& job, Tube& tube,
                                                        Client* holder) {
  count(tube, job, JobState::reserved, false);
  if (holder == nullptr) return;
  holder->held().heap_.remove(job.heap_index(), state_.jobs);
  // A waiting client keeps the room for the job that it waits for.
  if (!holder->is_waiting()) holder->held().heap_.trim_if_empty();
}

[[gnu::always_inline]] inline void Places::leave_ready(Job& job, Tube& tube) {
  count(tube, job, JobState::ready, false);
  times_.count_less_ready(tube, job);
  tube.ready.remove(job.heap_index(), state_.jobs);
}

[[gnu::always_inline]] inline void Places::leave(JobRef ref, Job& job, Tube& tube, Place from) {
  switch (from) {
    case Place::ready:
      leave_ready(job, tube);
      break;
    case Place::reserved:
      leave_holder(job, tube, state_.clients[job.holder()]);
      break;
    case Place::delayed:
      count(tube, job, JobState::delayed, false);
      tube.delayed.remove(job.heap_index(), state_.jobs);
      tube.delayed.trim_if_empty();
      break;
    case Place::buried:
      leave_buried(ref, job, tube);
      break;
    case Place::flushed:
      leave_flush(ref, job, tube);
      break;
    case Place::nowhere:
      break;
  }
}

[[gnu::always_inline]] inline void Places::enter_ready(JobRef ref, Job& job, Tube& tube) {
  job.set_state(JobState::ready);
  tube.ready.push(ReadyEntry(job.id, job.priority, ref), state_.jobs);
  count(tube, job, JobState::ready, true);
  times_.count_ready(tube, job);
}

void Places::to_ready(JobRef ref, Place from) {
  Job& job = state_.jobs[ref];
  Tube& tube = state_.tubes[job.tube];
  if (from != Place::nowhere) [[unlikely]]
    leave(ref, job, tube, from);
  job.set_ready_since(state_.now);
  enter_ready(ref, job, tube);
  notify_extras(ref, job, from, Place::ready);
}

void Places::to_ready_since(JobRef ref, Place from, Instant since) {
  Job& job = state_.jobs[ref];
  Tube& tube = state_.tubes[job.tube];
  leave(ref, job, tube, from);
  job.set_ready_since(since);
  enter_ready(ref, job, tube);
  notify_extras(ref, job, from, Place::ready);
}

void Places::back_to_ready(JobRef ref, Job& job, Tube& tube) {
  job.set_ready_since(job.created);
  enter_ready(ref, job, tube);
  notify_extras(ref, job, Place::nowhere, Place::ready);
}

void Places::to_delayed(JobRef ref, Place from, Instant deadline) {
  Job& job = state_.jobs[ref];
  Tube& tube = state_.tubes[job.tube];
  leave(ref, job, tube, from);
  trim_ready(tube);
  job.set_state(JobState::delayed);
  tube.delayed.push(DeadlineEntry{deadline, ++state_.arrivals, ref}, state_.jobs);
  count(tube, job, JobState::delayed, true);
  state_.arm_tube(tube);
  notify_extras(ref, job, from, Place::delayed);
}

void Places::set_deadline(JobRef ref, Instant deadline) {
  const Job& job = state_.jobs[ref];
  Tube& tube = state_.tubes[job.tube];
  tube.delayed.replace(job.heap_index(), DeadlineEntry{deadline, ++state_.arrivals, ref},
                       state_.jobs);
  state_.arm_tube(tube);
}

void Places::to_buried(JobRef ref, Place from, const Burial& burial) {
  Job& job = state_.jobs[ref];
  Tube& tube = state_.tubes[job.tube];
  leave(ref, job, tube, from);
  trim_ready(tube);
  job.set_state(JobState::buried);
  job.history.burial_side = tube.burial_side ? 1 : 0;
  job.links = Links{static_cast<std::uint32_t>(tube.last_buried), 0};
  if (tube.last_buried == JobRef::none) {
    tube.first_buried = ref;
  } else {
    state_.jobs[tube.last_buried].links.second = static_cast<std::uint32_t>(ref);
  }
  tube.last_buried = ref;
  count(tube, job, JobState::buried, true);
  state_.jobs.set_burial(ref, burial);
  notify_extras(ref, job, from, Place::buried);
  notify_end(job, Delivery::Kind::job_buried);
}

void Places::to_reserved(JobRef ref, Client& holder) {
  Job& job = state_.jobs[ref];
  Tube& tube = state_.tubes[job.tube];
  const Place from = place_of(job.state());
  CHECK(from != Place::reserved);
  if (from == Place::ready) [[likely]] {
    times_.count_queued(tube, job);
    leave_ready(job, tube);
  } else {
    leave(ref, job, tube, from);
  }
  job.set_state(JobState::reserved);
  job.links.second = static_cast<std::uint32_t>(holder.ref());
  state_.jobs.count(ref, JobEvent::reserve);
  const Instant deadline = state_.now + Duration::seconds(job.ttr_s);
  holder.held().heap_.push(DeadlineEntry{deadline, ++state_.arrivals, ref}, state_.jobs);
  count(tube, job, JobState::reserved, true);
  state_.arm_client(holder);
  notify_extras(ref, job, from, Place::reserved);
}

void Places::to_holder(JobRef ref, Client& holder, const DeadlineEntry& entry) {
  Job& job = state_.jobs[ref];
  Tube& tube = state_.tubes[job.tube];
  CHECK(job.state() == JobState::ready);
  leave_ready(job, tube);
  job.set_state(JobState::reserved);
  job.links.second = static_cast<std::uint32_t>(holder.ref());
  holder.held().heap_.push(entry, state_.jobs);
  count(tube, job, JobState::reserved, true);
  state_.arm_client(holder);
  notify_extras(ref, job, Place::ready, Place::reserved);
}

void Places::to_nowhere(JobRef ref, Place from) {
  Job& job = state_.jobs[ref];
  Tube& tube = state_.tubes[job.tube];
  if (from == Place::reserved) [[likely]] {
    Client* const holder = state_.clients[job.holder()];
    times_.count_worked(tube, holder->held().at(job.heap_index()).deadline, job.ttr_s);
    leave_holder(job, tube, holder);
  } else {
    leave(ref, job, tube, from);
  }
  trim_ready(tube);
  notify_extras(ref, job, from, Place::nowhere);
  notify_end(job, Delivery::Kind::job_deleted);
}

void Places::set_priority(JobRef ref, std::uint32_t priority) {
  Job& job = state_.jobs[ref];
  if (job.state() != JobState::ready) {
    job.priority = priority;
    return;
  }
  Tube& tube = state_.tubes[job.tube];
  if (job.has_tags != 0) extras_.before_priority_changes(ref);
  count(tube, job, JobState::ready, false);
  job.priority = priority;
  count(tube, job, JobState::ready, true);
  tube.ready.replace(job.heap_index(), ReadyEntry(job.id, priority, ref), state_.jobs);
  if (job.has_tags != 0) extras_.after_priority_changed(ref);
}

void Places::touch(Client& holder, JobRef ref) {
  const Job& job = state_.jobs[ref];
  DeadlineEntry entry = holder.held().at(job.heap_index());
  entry.restart(job.ttr_s, state_.now);
  entry.arrival = ++state_.arrivals;
  holder.held().heap_.replace(job.heap_index(), entry, state_.jobs);
}

void Places::touch_in_turn(Client& holder, std::uint32_t index, Instant since) {
  DeadlineEntry entry = holder.held().at(index);
  entry.restart(state_.jobs[entry.job].ttr_s, since);
  holder.held().heap_.replace(index, entry, state_.jobs);
}

}  // namespace haricot
