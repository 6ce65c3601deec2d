// Flushes: the deletion of all jobs that were in some states of a tube at one moment.
//
// The moment is that of the command. It takes the jobs out of the tube (Flushes), in O(1), and a
// long task frees one after another.

#include <memory>
#include <utility>

#include "haricot/queue/backlog.hpp"

namespace haricot {
namespace {

// How long a flush waits that the journal has refused.
constexpr Duration kPauseOfRefused = Duration::milliseconds(50);

}  // namespace

ManyResult Backlog::flush(Client& client, Tube& tube, JobStates states) {
  make_room_for_delivery();
  tasks_.make_room();
  Flush flush{states, std::make_unique<FlushedJobs>()};
  TaskState state = TaskState::goes_on;
  call([&](const Budget& budget) { state = flush_some(flush, tube, budget); });
  const bool is_refused = flush.is_refused;
  const std::uint64_t flushed = flush.flushed;
  if (state != TaskState::done) {
    Task& task = tasks_.begin(is_refused ? nullptr : &client, &tube);
    task.work = std::move(flush);
    if (state == TaskState::waits) tasks_.put_aside(task);
  }
  if (is_refused) return {Outcome::journal_failed};
  if (state == TaskState::done) {
    state_.free_if_unreferenced(tube);
    return {Outcome::done, flushed};
  }
  client.has_task_ = true;
  return {Outcome::waiting};
}

TaskState Backlog::step(Task& task, Flush& flush, const Budget& budget) {
  const TaskState state = flush_some(flush, *task.tube, budget);
  Client* const client = task.client;
  if (client == nullptr || (state != TaskState::done && !flush.is_refused)) return state;
  const auto kind = flush.is_refused ? Delivery::Kind::flush_failed : Delivery::Kind::flushed;
  watching_.deliver(*client, kind, JobRef::none, flush.flushed);
  client->has_task_ = false;
  tasks_.answered(task);
  return state;
}

// Begins the flush, if it can, and frees jobs until none is left, or the budget is used up.
TaskState Backlog::flush_some(Flush& flush, Tube& tube, const Budget& budget) {
  if (!flush.has_begun()) {
    const bool has_another = tube.flushed != nullptr;
    if (!has_another && !Flushes::has_some(tube, flush.states)) return TaskState::done;
    // What is refused at once does not begin, nor does it wait for another one that is refused.
    flush.is_refused = !can_delete();
    if (flush.is_refused) return TaskState::done;
    if (has_another) return TaskState::waits;
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

// Whether the journal does not refuse a deletion; it may want to wait for its disk.
bool Backlog::can_delete() {
  const JournalStatus room = state_.journal.reserve_promised({.deletions = 1});
  if (room == JournalStatus::ok) state_.journal.release_room();
  return room == JournalStatus::ok || room == JournalStatus::later;
}

TaskState Backlog::free_some(Flush& flush, Tube& tube, const Budget& budget) {
  while (!tube.flushed->empty()) {
    if (budget.is_used_up()) return TaskState::goes_on;
    const JournalStatus room = state_.journal.reserve_promised({.deletions = 1});
    if (room != JournalStatus::ok) {
      if (room == JournalStatus::later) return TaskState::waits;
      flush.is_refused = true;
      refused_again_ = state_.now + kPauseOfRefused;
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
  }
  return TaskState::done;
}

}  // namespace haricot
