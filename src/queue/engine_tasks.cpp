// The engine's long tasks: closes of clients that held or watched much, and kicks of many jobs.
// Flushes are in engine_flush.cpp, changes of the mode of reserves in engine_weights.cpp.
//
// A command or a close does as much as the budget of its turn allows. What is left becomes a long
// task (LongTasks), and advance() goes on with it. A new kind of task is a struct in
// engine_tasks.hpp with an Engine::step(), and a Delivery::Kind for its answer.

#include "haricot/queue/engine_tasks.hpp"

#include <algorithm>
#include <new>
#include <utility>
#include <variant>

#include "haricot/base/check.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot {

void Engine::work_on_tasks(Instant now, std::uint32_t budget) {
  tasks_.work(
      budget,
      [&](LongTask& task, std::uint32_t& piece) {
        return std::visit([&](auto& work) { return step(task, work, now, piece); }, task.work);
      },
      [&](std::unique_ptr<LongTask> task) { end_task(std::move(task)); });
}

void Engine::end_task(std::unique_ptr<LongTask> task) {
  if (task->client != nullptr) task->client->has_task_ = false;
  if (task->tube != nullptr) free_if_unreferenced(*task->tube);
}

// The client goes. Nobody is there for the answer to a kick or for another mode, so that ends; a
// flush goes on.
void Engine::leave_task(Client& client) {
  LongTask* task = tasks_.find(client);
  CHECK(task != nullptr);
  if (!std::holds_alternative<Flush>(task->work)) {
    end_task(tasks_.take(*task));
    return;
  }
  client.has_task_ = false;
  tasks_.forget_client(*task);
}

void Engine::go_on_with_tasks(Instant now) {
  now_ = now;
  answered_later_ = false;
  if (!late_burials_.empty()) [[unlikely]]
    record_late_burials(budget_);
  tasks_.resume();
  work_on_tasks(now, budget_);
}

// Closes ----------------------------------------------------------------------------------------

// Gives back what a closed client held and watched: the rest of much in later calls.
void Engine::leave_behind(Orphans orphans, Instant now) {
  give_back(orphans, now, budget_);
  if (orphans.empty()) {
    clients_.drop(orphans.holder);
    return;
  }
  try {
    tasks_.make_room();
  } catch (const std::bad_alloc&) {
    // No memory to put it off: all at once, then.
    while (!orphans.empty()) {
      std::uint32_t budget = kJobsPerCall;
      drop_watches(orphans, budget);
      give_back(orphans, now, budget);
    }
    clients_.drop(orphans.holder);
    return;
  }
  tasks_.begin(nullptr, nullptr).work.emplace<Orphans>(std::move(orphans));
}

TaskState Engine::step(LongTask&, Orphans& orphans, Instant now, std::uint32_t& budget) {
  give_back(orphans, now, budget);
  drop_watches(orphans, budget);
  if (!orphans.empty()) return TaskState::goes_on;
  clients_.drop(orphans.holder);
  return TaskState::done;
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
    if (has_lane(ref)) [[unlikely]]
      end_reserved_in_lane(ref);
    take_back(ref, tube, now);
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

// Kicks -----------------------------------------------------------------------------------------

ManyResult Engine::kick(Client& client, std::uint32_t bound, Instant now) {
  now_ = now;
  CHECK(!client.is_busy());
  make_room_for_delivery();
  tasks_.make_room();
  Tube& tube = *client.used_;
  // Not by their number: that counts those that a flush has yet to free.
  Kick kick{tube.first_buried != JobRef::none, bound, 0};
  Outcome outcome = kick_some(kick, tube, now, budget_);
  const bool waits = outcome == Outcome::not_yet && kick.kicked > 0;
  if (waits) outcome = Outcome::waiting;
  if (outcome == Outcome::waiting) {
    LongTask& task = tasks_.begin(&client, &tube);
    task.work = kick;
    client.has_task_ = true;
    if (waits) tasks_.put_aside(task);
  }
  return {outcome, kick.kicked};
}

TaskState Engine::step(LongTask& task, Kick& kick, Instant now, std::uint32_t& budget) {
  const Outcome outcome = kick_some(kick, *task.tube, now, budget);
  if (outcome == Outcome::not_yet) return TaskState::waits;
  if (outcome == Outcome::waiting) return TaskState::goes_on;
  deliver(*task.client, Delivery::Kind::kicked, JobRef::none, kick.kicked);
  return TaskState::done;
}

// Moves jobs of the tube until the bound is reached, none is left or the budget is used up
// (waiting), or the journal's disk has to be waited for (not_yet, whatever was kicked). A journal
// that refuses ends the kick: what was kicked so far is the answer.
Outcome Engine::kick_some(Kick& kick, Tube& tube, Instant now, std::uint32_t& budget) {
  while (kick.left > 0) {
    JobRef ref = tube.first_buried;
    if (!kick.of_buried) ref = tube.delayed.empty() ? JobRef::none : tube.delayed.top().job;
    if (ref == JobRef::none) break;
    if (budget == 0) return Outcome::waiting;
    --budget;
    const std::uint64_t before = steps_;
    if (!tube.ready.reserve_one()) break;
    const JournalStatus room = reserve_unburial(ref);
    if (room == JournalStatus::later) return Outcome::not_yet;
    if (room != JournalStatus::ok) {
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
