// Flushes: the deletion of all jobs that are in some states of a tube at the moment of the command.
//
// The command takes the jobs out of the tube in O(1) (Flushes), and a long task frees them one by
// one.

#include <memory>
#include <utility>

#include "haricot/queue/backlog.hpp"

namespace haricot {

Outcome Backlog::flush(Client& client, Tube& tube, JobStates states) {
  allocate_task();
  const Outcome outcome = begin(client, &tube, Flush{states, std::make_unique<FlushedJobs>()});
  end_holds();
  return outcome;
}

// Answers a flush that is refused; it continues without its client.
TaskState Backlog::do_piece(Task& task, Flush& flush, const Budget& budget) {
  const TaskState state = flush_some(flush, *task.tube, budget);
  if (task.client == nullptr || (state != TaskState::done && !flush.is_refused)) return state;
  const auto kind = flush.is_refused ? Delivery::Kind::failed : Delivery::Kind::flushed;
  answer(task, {.kind = kind, .count = flush.flushed});
  return state;
}

// Begins the flush, if possible, and frees jobs until none is left or the budget is used up.
TaskState Backlog::flush_some(Flush& flush, Tube& tube, const Budget& budget) {
  if (!flush.has_begun()) {
    const bool has_another = tube.flushed != nullptr;
    if (!has_another && !Flushes::has_some(tube, flush.states)) return TaskState::done;
    // A flush that is refused at once does not begin, and does not wait for another one that is
    // refused.
    flush.is_refused = !can_delete();
    if (flush.is_refused) return TaskState::done;
    if (has_another) return TaskState::waits;
    flush.is_refused = flush.states.ready && !allocate_for_reserved(*flush.room, tube);
    if (flush.is_refused) return TaskState::done;
    flushes_.take(tube, flush.states, std::move(flush.room));
    Times::forget(tube, flush.states);
    watching_.announce(tube);
  }
  const TaskState state = free_some(flush, tube, budget);
  if (state != TaskState::done) return state;
  flushes_.end(tube);
  tasks_.resume(&tube);
  return TaskState::done;
}

// Allocates room for the reserved jobs in the heap that replaces the flushed one. Returns false if
// memory is short.
bool Backlog::allocate_for_reserved(FlushedJobs& room, const Tube& tube) {
  const auto reserved = static_cast<std::uint32_t>(tube.reserved);
  state_.steps += reserved / ReadyHeap::kPageElements;
  return room.ready.allocate(reserved);
}

// Returns false if the journal refuses a deletion; true if it has to wait for its disk.
bool Backlog::can_delete() {
  const JournalStatus room = state_.journal.take_promised_room({.deletions = 1});
  if (room == JournalStatus::ok) state_.journal.release_room();
  return room == JournalStatus::ok || room == JournalStatus::later;
}

TaskState Backlog::free_some(Flush& flush, Tube& tube, const Budget& budget) {
  while (!tube.flushed->empty()) {
    if (budget.is_used_up()) return TaskState::continues;
    const JournalStatus room = state_.journal.take_promised_room({.deletions = 1});
    if (room != JournalStatus::ok) {
      if (room == JournalStatus::later) return TaskState::waits;
      flush.is_refused = true;
      state_.try_refused_again();
      return TaskState::waits;
    }
    const Flushes::Flushed next = flushes_.next(tube);
    const Job& job = state_.jobs[next.job];
    state_.journal.record_deletion({next.job, job, tube.name, next.deadline}, nullptr);
    places_.to_nowhere(next.job, Place::flushed);
    flushes_.drop_next(tube, next);
    state_.jobs.destroy(next.job);
    state_.steps += QueueState::kStepsPerJob;
    ++flush.flushed;
    if (groups_.has_ended()) [[unlikely]]
      tasks_.resume(ended_groups_);
  }
  return TaskState::done;
}

}  // namespace haricot
