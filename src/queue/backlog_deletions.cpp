#include <algorithm>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "haricot/queue/backlog.hpp"

namespace haricot {

// The jobs that the next piece of a batch deletes.
struct Backlog::Deletions {
  std::vector<JobRef> refs;            // In the order of their ids.
  std::vector<JobRef> tombstone_refs;  // See Keys::make_tombstones().
  std::vector<Tube*> tubes;            // Tubes to serve, each once.
  std::size_t next = 0;                // Index of the first id after them.
};

Outcome Backlog::delete_batch(Client& client, std::span<const JobId> ids) {
  allocate_task();
  // An id that is named twice is not found the second time.
  tasks::DeleteBatch batch{.ids = {ids.begin(), ids.end()},
                           .asked = static_cast<std::uint32_t>(ids.size())};
  std::sort(batch.ids.begin(), batch.ids.end());
  batch.ids.erase(std::unique(batch.ids.begin(), batch.ids.end()), batch.ids.end());
  const Outcome outcome = begin(client, nullptr, std::move(batch));
  end_holds();
  return outcome;
}

// The first piece has its own budget, which the price of the command has paid for.
TaskState Backlog::do_piece(Task& task, tasks::DeleteBatch& batch, const Budget& budget) {
  Outcome outcome = Outcome::out_of_memory;
  try {
    outcome = delete_some(*task.client, batch,
                          task.is_new ? state_.budget(turn_limits::kStepsOfBatch) : budget);
  } catch (const std::bad_alloc&) {
    // Earlier deletions remain.
  }
  if (outcome == Outcome::waiting) return TaskState::continues;
  if (outcome == Outcome::not_yet) return TaskState::waits;
  auto kind = outcome == Outcome::done ? Delivery::Kind::batch_deleted : Delivery::Kind::failed;
  if (outcome == Outcome::out_of_memory && batch.deleted == 0) {
    kind = Delivery::Kind::out_of_memory;
  }
  answer(task, {.kind = kind,
                .count = batch.deleted,
                .not_found = static_cast<std::uint16_t>(batch.asked - batch.deleted)});
  return TaskState::done;
}

// Deletes the existing jobs of the batch, as many as the budget allows. done, waiting (for a later
// turn), not_yet (the rest waits for the journal's disk), out_of_memory, journal_failed. Throws
// std::bad_alloc before anything has changed.
Outcome Backlog::delete_some(const Client& client, tasks::DeleteBatch& batch,
                             const Budget& budget) {
  Deletions planned = plan_deletions(client, batch, budget);
  state_.steps += (planned.next - batch.next) * turn_limits::kStepsPerNamedJob +
                  planned.refs.size() * QueueState::kStepsPerJob;
  if (!keys_.make_tombstones(planned.refs, planned.tombstone_refs)) return Outcome::out_of_memory;
  const JournalStatus room = delete_planned(planned, batch);
  if (room == JournalStatus::later) return Outcome::not_yet;
  if (room != JournalStatus::ok) return Outcome::journal_failed;
  batch.next = planned.next;
  return batch.next < batch.ids.size() ? Outcome::waiting : Outcome::done;
}

// Plans the deletion of at least one id. Tubes have to be served if their clients may get other
// jobs, or have to be notified: tubes of lanes, and tubes with watchers that have many watches.
Backlog::Deletions Backlog::plan_deletions(const Client& client, const tasks::DeleteBatch& batch,
                                           const Budget& budget) {
  Deletions planned;
  planned.refs.reserve(batch.ids.size() - batch.next);
  planned.tubes.reserve(batch.ids.size() - batch.next);
  std::uint64_t price = 0;
  for (planned.next = batch.next; planned.next < batch.ids.size(); ++planned.next) {
    if (planned.next > batch.next && price >= budget.left()) break;
    price += turn_limits::kStepsPerNamedJob;
    const JobRef ref = flushes_.find(batch.ids[planned.next]);
    if (ref == JobRef::none) continue;
    const Job& job = state_.jobs[ref];
    if (job.state() == JobState::reserved && job.holder() != client.ref()) continue;
    planned.refs.push_back(ref);
    price += QueueState::kStepsPerJob;
    Tube& tube = state_.tube_of(ref);
    const bool is_to_be_served = tube.many_watchers > 0 || lanes_.has(ref);
    if (!is_to_be_served || std::exchange(tube.is_to_be_served, true)) continue;
    planned.tubes.push_back(&tube);
    price += tube.many_watchers * QueueState::kStepsPerJob + QueueState::kStepsPerDelivery;
  }
  for (Tube* tube : planned.tubes) tube->is_to_be_served = false;
  return planned;
}

// If the journal has no room for all deletions at once, tries half as many. If it refuses in
// between, the batch continues later with the first job that is left.
JournalStatus Backlog::delete_planned(const Deletions& planned, tasks::DeleteBatch& batch) {
  const std::span<const JobRef> refs = planned.refs;
  const std::span<const JobRef> tombstone_refs = planned.tombstone_refs;
  // Keeps the tubes, which are served only after all deletions: a job that was given to a client
  // meanwhile might be one of those to delete.
  for (Tube* tube : planned.tubes) ++tube->tasks;
  JournalStatus room = JournalStatus::ok;
  std::size_t done = 0;
  for (std::size_t together = refs.size(); done < refs.size();) {
    together = std::min(together, refs.size() - done);
    const auto part_refs =
        tombstone_refs.empty() ? tombstone_refs : tombstone_refs.subspan(done, together);
    room = state_.journal.take_promised_room({.deletions = static_cast<std::uint32_t>(together),
                                              .tombstones = keys_.room_of(part_refs)});
    if (room == JournalStatus::full && together > 1) {
      together /= 2;
      continue;
    }
    if (room != JournalStatus::ok) break;
    for (std::size_t i = 0; i < together; ++i) {
      const bool leaves_key = !part_refs.empty() && part_refs[i] != JobRef::none;
      const Tombstone key = leaves_key ? keys_.tombstone(part_refs[i]) : Tombstone{};
      state_.free_if_unreferenced(delete_unserved(refs[done + i], leaves_key ? &key : nullptr));
    }
    done += together;
  }
  batch.deleted += static_cast<std::uint32_t>(done);
  if (done < refs.size()) {
    const JobId first_left = state_.jobs[refs[done]].id;
    const auto left = std::lower_bound(batch.ids.begin(), batch.ids.end(), first_left);
    batch.next = static_cast<std::size_t>(left - batch.ids.begin());
    keys_.unmake_tombstones(tombstone_refs.empty() ? tombstone_refs : tombstone_refs.subspan(done));
  }
  serve_each(planned.tubes, done > 0);
  if (groups_.has_ended()) tasks_.resume(task_of(tasks::Chore::ended_groups));
  return room;
}

// Serves the tubes, which were kept in existence. Those whose clients the budget does not reach are
// behind.
void Backlog::serve_each(std::span<Tube* const> tubes, bool has_changed) {
  const Budget budget = state_.budget(turn_limits::kStepsOfWakes);
  for (Tube* tube : tubes) {
    if (has_changed) serving_.serve_waiting(*tube, budget);
  }
  for (Tube* tube : tubes) {
    --tube->tasks;
    state_.free_if_unreferenced(*tube);
  }
}

Outcome Backlog::flush(Client& client, Tube& tube, JobStates states) {
  allocate_task();
  const Outcome outcome =
      begin(client, &tube, tasks::Flush{states, std::make_unique<FlushedJobs>()});
  end_holds();
  return outcome;
}

// Answers a flush that is refused; it continues without its client.
TaskState Backlog::do_piece(Task& task, tasks::Flush& flush, const Budget& budget) {
  const TaskState state = flush_some(flush, *task.tube, budget);
  if (task.client == nullptr || (state != TaskState::done && !flush.is_refused)) return state;
  const auto kind = flush.is_refused ? Delivery::Kind::failed : Delivery::Kind::flushed;
  answer(task, {.kind = kind, .count = flush.flushed});
  return state;
}

// Begins the flush, if possible, and frees jobs until none is left or the budget is used up.
TaskState Backlog::flush_some(tasks::Flush& flush, Tube& tube, const Budget& budget) {
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
    if (flush.states.ready) {
      lanes_.forget_ready(tube);
      Times::forget_ready(tube);
    }
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

TaskState Backlog::free_some(tasks::Flush& flush, Tube& tube, const Budget& budget) {
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
      tasks_.resume(task_of(tasks::Chore::ended_groups));
  }
  return TaskState::done;
}

}  // namespace haricot
