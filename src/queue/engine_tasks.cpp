// Long tasks: what is too long for one call of the engine, a piece at a time.
//
// A command or a close does as much as the budget of its turn allows. What is left becomes a
// LongTask, and advance() goes on with it. All kinds of tasks are served alike: a bounded step each
// in turn, those that came first in front, until the budget of the call is used up. A task keeps
// its tube in existence. At its end its client, if there is one, gets an answer as a delivery.
//
// A new kind of task is a struct in LongTask::work with a step(), and a Delivery::Kind for its
// answer.

#include <algorithm>
#include <new>
#include <utility>
#include <variant>

#include "haricot/base/check.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot {
namespace {

// So much at once, so that a short task does not wait for the end of a long one.
constexpr std::uint32_t kJobsPerStep = 200;

}  // namespace

// The memory that beginning a task takes. Asked for before a command changes anything.
void Engine::make_room_for_task() {
  if (spare_task_ == nullptr) spare_task_ = std::make_unique<LongTask>();
}

Engine::LongTask& Engine::begin_awaited_task(Client& client, Tube& tube, Delivery::Kind answer,
                                             std::uint64_t count) {
  LongTask& task = *spare_task_.release();
  task.client = &client;
  task.tube = &tube;
  task.answer = answer;
  task.count = count;
  ++tube.tasks;
  client.has_task_ = true;
  awaited_tasks_.push_back(task);
  ++awaited_;
  return task;
}

Engine::LongTask& Engine::begin_other_task() {
  LongTask& task = *spare_task_.release();
  other_tasks_.push_back(task);
  return task;
}

// Requires: the task is in no list any more.
void Engine::end_task(LongTask& task) {
  if (task.client != nullptr) {
    task.client->has_task_ = false;
    --awaited_;
  }
  if (task.tube != nullptr) {
    --task.tube->tasks;
    free_if_unreferenced(*task.tube);
  }
  delete &task;
}

// The client goes, and takes no answer any more. It has one task at most.
void Engine::end_task_of(const Client& client) {
  LongTask* task = awaited_tasks_.first();
  while (task != nullptr && task->client != &client) task = awaited_tasks_.after(*task);
  CHECK(task != nullptr);
  awaited_tasks_.remove(*task);
  end_task(*task);
}

void Engine::work_on(LongTasks& tasks, Instant now, std::uint32_t& budget) {
  while (budget > 0 && !tasks.empty()) {
    LongTask& task = tasks.front();
    std::uint32_t piece = std::min(budget, kJobsPerStep);
    budget -= piece;
    const bool is_done =
        std::visit([&](auto& work) { return step(task, work, now, piece); }, task.work);
    budget += piece;
    tasks.remove(task);
    if (!is_done) {
      tasks.push_back(task);
      continue;
    }
    if (task.client != nullptr) deliver(*task.client, task.answer, JobRef::none, task.count);
    end_task(task);
  }
}

// What nobody waits for takes half if there is something else.
void Engine::work_on_tasks(Instant now, std::uint32_t budget) {
  std::uint32_t share = awaited_tasks_.empty() ? budget : budget / 2;
  budget -= share;
  work_on(other_tasks_, now, share);
  budget += share;
  work_on(awaited_tasks_, now, budget);
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
    make_room_for_task();
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
  begin_other_task().work.emplace<Orphans>(std::move(orphans));
}

bool Engine::step(LongTask&, Orphans& orphans, Instant now, std::uint32_t& budget) {
  give_back(orphans, now, budget);
  drop_watches(orphans, budget);
  if (!orphans.empty()) return false;
  clients_.drop(orphans.holder);
  return true;
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

// Kicks -----------------------------------------------------------------------------------------

KickResult Engine::kick(Client& client, std::uint32_t bound, Instant now) {
  CHECK(!client.is_busy());
  make_room_for_delivery();
  make_room_for_task();
  Tube& tube = *client.used_;
  Kick kick{tube.buried > 0, bound};
  std::uint64_t kicked = 0;
  const Outcome outcome = kick_some(kick, tube, kicked, now, budget_);
  if (outcome == Outcome::waiting) {
    begin_awaited_task(client, tube, Delivery::Kind::kicked, kicked).work = kick;
  }
  return {outcome, kicked};
}

bool Engine::step(LongTask& task, Kick& kick, Instant now, std::uint32_t& budget) {
  return kick_some(kick, *task.tube, task.count, now, budget) != Outcome::waiting;
}

// Moves jobs of the tube until the bound is reached, none is left or the budget is used up
// (waiting). A journal that refuses ends the kick: what was kicked so far is the answer.
Outcome Engine::kick_some(Kick& kick, Tube& tube, std::uint64_t& kicked, Instant now,
                          std::uint32_t& budget) {
  while (kick.left > 0) {
    JobRef ref = tube.first_buried;
    if (!kick.of_buried) ref = tube.delayed.empty() ? JobRef::none : tube.delayed.top().job;
    if (ref == JobRef::none) break;
    if (budget == 0) return Outcome::waiting;
    --budget;
    const std::uint64_t before = steps_;
    if (!tube.ready.reserve_one()) break;
    if (journal_.reserve_update() != JournalStatus::ok) {
      return kicked > 0 ? Outcome::done : Outcome::journal_failed;
    }
    leave(ref);
    jobs_.count(ref, JobEvent::kick);
    enter_ready(ref);
    journal_.record_update(journaled(ref));
    offer(tube, now);
    pay(budget, before);
    steps_ += kStepsPerJob;
    --kick.left;
    ++kicked;
  }
  return Outcome::done;
}

}  // namespace haricot
