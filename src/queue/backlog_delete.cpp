// A deletion of several jobs: together, or, where the journal has no room for that, in parts.

#include <algorithm>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "haricot/queue/backlog.hpp"

namespace haricot {

DeleteResult Backlog::delete_batch(Client& client, std::span<const JobId> ids) {
  make_room_for_delivery();
  tasks_.make_room();
  const auto asked = static_cast<std::uint32_t>(ids.size());
  // An id that is named twice is not found the second time.
  DeleteBatch batch{.ids = {ids.begin(), ids.end()}, .asked = asked};
  std::sort(batch.ids.begin(), batch.ids.end());
  batch.ids.erase(std::unique(batch.ids.begin(), batch.ids.end()), batch.ids.end());
  const Outcome outcome = delete_some(client, batch);
  if (outcome == Outcome::not_yet && batch.goes_in_parts) {
    Task& task = tasks_.begin(&client, nullptr);
    task.work = std::move(batch);
    client.has_task_ = true;
    tasks_.put_aside(task);
    return {Outcome::waiting};
  }
  if (outcome != Outcome::done) return {outcome};
  return {outcome, batch.deleted, asked - batch.deleted};
}

TaskState Backlog::step(Task& task, DeleteBatch& batch, const Budget&) {
  Outcome outcome = Outcome::out_of_memory;
  try {
    outcome = delete_some(*task.client, batch);
  } catch (const std::bad_alloc&) {
    // Nobody else catches it here. What was deleted before stays deleted.
  }
  if (outcome == Outcome::not_yet) return TaskState::waits;
  const bool is_done = outcome == Outcome::done;
  const auto kind = is_done ? Delivery::Kind::batch_deleted : Delivery::Kind::batch_failed;
  watching_.deliver(*task.client, kind, JobRef::none, batch.deleted, batch.asked - batch.deleted);
  return TaskState::done;
}

// Deletes those jobs of the batch that are there. done, out_of_memory (none was deleted),
// journal_failed; not_yet: the rest waits for the journal's disk. Throws std::bad_alloc before
// anything has changed.
Outcome Backlog::delete_some(const Client& client, DeleteBatch& batch) {
  std::vector<JobRef> refs;
  refs.reserve(batch.ids.size());
  for (const JobId id : batch.ids) {
    const JobRef ref = flushes_.find(id);
    if (ref == JobRef::none) continue;
    const Job& job = state_.jobs[ref];
    if (job.state() != JobState::reserved || job.holder() == client.ref_) refs.push_back(ref);
  }
  state_.steps += batch.ids.size() * 2 + refs.size() * QueueState::kStepsPerJob;
  const std::vector<Tube*> tubes = tubes_to_offer(refs);
  std::vector<JobRef> remains;
  if (!keys_.make_remains(refs, remains)) return Outcome::out_of_memory;
  JournalStatus room = JournalStatus::ok;
  std::size_t together = refs.size();
  bool is_begun = false;
  for (std::span<const JobRef> left = refs; !left.empty();) {
    const auto part = left.first(std::min(together, left.size()));
    const auto all = std::span<const JobRef>(remains);
    const auto kept = all.empty() ? all : all.subspan(refs.size() - left.size(), part.size());
    const auto deletions = static_cast<std::uint32_t>(part.size());
    room = state_.journal.reserve_promised({.deletions = deletions, .kept = keys_.room_of(kept)});
    if (room == JournalStatus::full && part.size() > 1) {
      batch.goes_in_parts = true;
      together = part.size() / 2;
      continue;
    }
    if (room != JournalStatus::ok) {
      keys_.unmake_remains(all.empty() ? all : all.last(left.size()));
      break;
    }
    // A job that is offered meanwhile might be one of those that are to be deleted. And each
    // watcher is told of its tube once, however many of its jobs go.
    if (!std::exchange(is_begun, true)) {
      for (Tube* tube : tubes) {
        ++tube->tasks;
        tube->is_to_be_offered = true;
      }
    }
    for (std::size_t i = 0; i < part.size(); ++i) {
      const bool leaves_key = !kept.empty() && kept[i] != JobRef::none;
      const KeptKey key = leaves_key ? keys_.kept(kept[i]) : KeptKey{};
      state_.free_if_unreferenced(delete_unoffered(part[i], leaves_key ? &key : nullptr));
    }
    batch.deleted += deletions;
    left = left.subspan(part.size());
  }
  if (is_begun) offer_each(tubes);
  if (room == JournalStatus::later) return Outcome::not_yet;
  return room == JournalStatus::ok ? Outcome::done : Outcome::journal_failed;
}

// The tubes whose workers may get other jobs when those go, or have to be told: those of lanes, and
// those with watchers that have many watches. Throws std::bad_alloc.
std::vector<Tube*> Backlog::tubes_to_offer(std::span<const JobRef> refs) const {
  std::vector<Tube*> tubes;
  for (const JobRef ref : refs) {
    Tube& tube = state_.tube_of(ref);
    if (tube.many_watchers > 0 || lanes_.has(ref)) tubes.push_back(&tube);
  }
  return tubes;
}

// Each tube was kept in existence. Those whose workers the budget does not reach are behind.
void Backlog::offer_each(std::span<Tube* const> tubes) {
  const Budget budget = state_.budget(turn_limits::kStepsOfWakes);
  for (Tube* tube : tubes) {
    if (std::exchange(tube->is_to_be_offered, false)) offers_.serve_waiting(*tube, budget);
  }
  for (Tube* tube : tubes) {
    --tube->tasks;
    state_.free_if_unreferenced(*tube);
  }
}

}  // namespace haricot
