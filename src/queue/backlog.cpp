#include "haricot/queue/backlog.hpp"

#include <algorithm>
#include <new>
#include <utility>
#include <variant>

#include "haricot/base/check.hpp"

namespace haricot {

Backlog::~Backlog() {
  while (const std::unique_ptr<Task> task = tasks_.take_first()) {
    auto* closed = std::get_if<ClosedClient>(&task->work);
    for (std::uint32_t i = 0; closed != nullptr && i < closed->watches.size(); ++i) {
      closed->watches[i]->tube->watchers.remove(*closed->watches[i]);
      delete closed->watches[i];
    }
  }
}

// Time -------------------------------------------------------------------------------------------

void Backlog::advance() {
  left_for_calls_ = turn_limits::kStepsOfCalls;
  state_.wheel.advance_to(state_.now);
  const Budget time = state_.budget(turn_limits::kStepsOfTime);
  if (state_.wheel.has_due()) fire_timers(time);
  if (keys_.next_event() <= state_.now) [[unlikely]]
    keys_.drop_ended(time);
  if (tries_.next_event() <= state_.now) [[unlikely]]
    tries_.record_late(time);
  if (refused_again_ <= state_.now) [[unlikely]] {
    refused_again_ = Instant::never();
    tasks_.resume();
  }
  if (TubeList* list = state_.tubes.list_if_asked(); list != nullptr) {
    list->work(state_.steps, state_.budget(turn_limits::kStepsOfLists));
  }
  if (!tasks_.empty()) work(state_.budget(turn_limits::kStepsOfTasks));
}

// A timer that moves no job costs too: thousands of clients may stop waiting in one tick.
void Backlog::fire_timers(const Budget& budget) {
  while (!budget.is_used_up()) {
    Timer* timer = state_.wheel.pop_due();
    if (timer == nullptr) return;
    state_.steps += turn_limits::kStepsPerTimer;
    if (timer->kind() == Tube::kTimerKind) {
      fire_tube(*static_cast<Tube*>(timer->owner()), budget);
    } else {
      fire_client(*static_cast<Client*>(timer->owner()), budget);
    }
  }
}

Instant Backlog::next_event() const {
  if (tasks_.can_go_on()) return Instant{};
  if (const TubeList* list = state_.tubes.list_if_asked(); list != nullptr && list->is_working()) {
    return Instant{};
  }
  return std::min(
      {state_.wheel.next_event(), keys_.next_event(), tries_.next_event(), refused_again_});
}

void Backlog::resume() {
  tries_.told_in_time();
  if (tries_.next_event() != Instant::never()) [[unlikely]]
    call([&](const Budget& budget) { tries_.record_late(budget); });
  tasks_.resume();
  call([&](const Budget& budget) { work(budget); });
}

void Backlog::fire_tube(Tube& tube, const Budget& budget) {
  const bool pause_ends = tube.paused && tube.pause_end <= state_.now;
  if (pause_ends) let_go_on(tube);
  if (tube.is_behind || pause_ends) offers_.serve_waiting(tube, budget);
  while (!budget.is_used_up() && !tube.delayed.empty() &&
         tube.delayed.top().deadline <= state_.now) {
    state_.steps += QueueState::kStepsPerJob;
    if (offers_.to_ready(tube.delayed.top().job, Place::delayed) == Outcome::done) {
      offers_.offer(tube);
    }
  }
  state_.arm_tube(tube);
}

void Backlog::let_go_on(Tube& tube) {
  tube.paused = false;
  tube.pause_s = 0;
}

void Backlog::end_pause(Tube& tube) {
  let_go_on(tube);
  call([&](const Budget& budget) { offers_.serve_waiting(tube, budget); });
}

// The end of a TTR is not recorded in the journal where a job may be tried as often as it takes:
// after a restart no job is reserved anyway.
void Backlog::fire_client(Client& client, const Budget& budget) {
  while (!budget.is_used_up() && !client.reserved_.empty() &&
         client.reserved_.top().deadline <= state_.now) {
    state_.steps += QueueState::kStepsPerJob;
    const JobRef ref = client.reserved_.top().job;
    state_.jobs.count(ref, JobEvent::timeout);
    ++state_.counts.timeouts;
    offers_.take_back(ref);
  }
  if (client.waiting_) {
    const bool is_soon = watching_.is_deadline_soon(client);
    if (is_soon || client.wait_end_ <= state_.now) {
      watching_.end_wait(client);
      watching_.deliver(client,
                        is_soon ? Delivery::Kind::deadline_soon : Delivery::Kind::timed_out);
    }
  }
  state_.arm_client(client);
}

// Tasks ------------------------------------------------------------------------------------------

void Backlog::work(const Budget& budget) {
  tasks_.work(
      budget,
      [&](Task& task, const Budget& piece) {
        return std::visit([&](auto& work) { return step(task, work, piece); }, task.work);
      },
      [&](std::unique_ptr<Task> task) { end_task(std::move(task)); });
}

void Backlog::end_task(std::unique_ptr<Task> task) {
  if (task->client != nullptr) task->client->has_task_ = false;
  if (task->tube != nullptr) state_.free_if_unreferenced(*task->tube);
}

// The client goes. Nobody is there for the answer to a kick or for another mode, so that ends; a
// flush goes on if it has begun.
void Backlog::leave_task(Client& client) {
  Task* task = tasks_.find(client);
  CHECK(task != nullptr);
  const auto* flush = std::get_if<Flush>(&task->work);
  if (flush == nullptr || !flush->has_begun()) {
    end_task(tasks_.take(*task));
    return;
  }
  client.has_task_ = false;
  tasks_.forget_client(*task);
}

// Closes -----------------------------------------------------------------------------------------

// Its watches go, and its jobs go back to their tubes: the rest of many in later calls.
void Backlog::close(Client& client) {
  if (client.has_task_) leave_task(client);
  ClosedClient closed = watching_.close(client);
  call([&](const Budget& budget) {
    watching_.drop_watches(closed, budget);
    --client.used_->using_clients;
    state_.free_if_unreferenced(*client.used_);
    give_back(closed, budget);
  });
  if (closed.empty()) {
    state_.clients.drop(closed.holder);
    return;
  }
  try {
    tasks_.make_room();
  } catch (const std::bad_alloc&) {
    // No memory to put it off: all at once, then.
    const Budget all = state_.budget(Budget::kAll);
    watching_.drop_watches(closed, all);
    give_back(closed, all);
    state_.clients.drop(closed.holder);
    return;
  }
  tasks_.begin(nullptr, nullptr).work.emplace<ClosedClient>(std::move(closed));
}

TaskState Backlog::step(Task&, ClosedClient& closed, const Budget& budget) {
  give_back(closed, budget);
  watching_.drop_watches(closed, budget);
  if (!closed.empty()) return TaskState::goes_on;
  state_.clients.drop(closed.holder);
  return TaskState::done;
}

// The order in which a closed client's jobs go back shows only where somebody waits for one, or
// where some may be buried: then it is that in which their TTRs would have ended, as if the client
// had let them all expire.
JobRef Backlog::take_job_of(ClosedClient& closed) {
  if (state_.counts.waiting == 0 && !tries_.has_some()) return closed.jobs.take_any().job;
  const JobRef ref = closed.jobs.top().job;
  closed.jobs.remove(0, state_.jobs);
  return ref;
}

void Backlog::give_back(ClosedClient& closed, const Budget& budget) {
  while (!budget.is_used_up() && !closed.jobs.empty()) {
    state_.steps += QueueState::kStepsPerJob;
    offers_.take_back(take_job_of(closed));
  }
}

// Kicks ------------------------------------------------------------------------------------------

ManyResult Backlog::kick(Client& client, std::uint32_t bound) {
  make_room_for_delivery();
  tasks_.make_room();
  Tube& tube = *client.used_;
  // Not by their number: that counts those that a flush has yet to free.
  Kick kick{tube.first_buried != JobRef::none, bound, 0};
  Outcome outcome = Outcome::waiting;
  call([&](const Budget& budget) { outcome = kick_some(kick, tube, budget); });
  const bool waits = outcome == Outcome::not_yet && kick.kicked > 0;
  if (waits) outcome = Outcome::waiting;
  if (outcome == Outcome::waiting) {
    Task& task = tasks_.begin(&client, &tube);
    task.work = kick;
    client.has_task_ = true;
    if (waits) tasks_.put_aside(task);
  }
  return {outcome, kick.kicked};
}

TaskState Backlog::step(Task& task, Kick& kick, const Budget& budget) {
  const Outcome outcome = kick_some(kick, *task.tube, budget);
  if (outcome == Outcome::not_yet) return TaskState::waits;
  if (outcome == Outcome::waiting) return TaskState::goes_on;
  watching_.deliver(*task.client, Delivery::Kind::kicked, JobRef::none, kick.kicked);
  return TaskState::done;
}

// Moves jobs of the tube until the bound is reached, none is left or the budget is used up
// (waiting), or the journal's disk has to be waited for (not_yet, whatever was kicked). A journal
// that refuses ends the kick: what was kicked so far is the answer.
Outcome Backlog::kick_some(Kick& kick, Tube& tube, const Budget& budget) {
  while (kick.left > 0) {
    JobRef ref = tube.first_buried;
    if (!kick.of_buried) ref = tube.delayed.empty() ? JobRef::none : tube.delayed.top().job;
    if (ref == JobRef::none) break;
    if (budget.is_used_up()) return Outcome::waiting;
    if (!tube.ready.reserve_one()) break;
    const JournalStatus room = tries_.reserve_unburial(ref);
    if (room == JournalStatus::later) return Outcome::not_yet;
    if (room != JournalStatus::ok) {
      return kick.kicked > 0 ? Outcome::done : Outcome::journal_failed;
    }
    state_.jobs.count(ref, JobEvent::kick);
    places_.to_ready(ref, kick.of_buried ? Place::buried : Place::delayed);
    state_.journal.record(JobChange::update, flushes_.journaled(ref));
    offers_.offer(tube);
    state_.steps += QueueState::kStepsPerJob;
    --kick.left;
    ++kick.kicked;
  }
  return Outcome::done;
}

// Modes of reserves ------------------------------------------------------------------------------

Outcome Backlog::set_weighted(Client& client, bool weighted) {
  if (weighted == client.is_weighted()) return Outcome::done;
  make_room_for_delivery();
  tasks_.make_room();
  ModeChange change{weighted};
  Outcome outcome = Outcome::waiting;
  call([&](const Budget& budget) { outcome = watching_.change_mode(change, client, budget); });
  if (outcome == Outcome::waiting) {
    tasks_.begin(&client, nullptr).work = std::move(change);
    client.has_task_ = true;
  }
  return outcome;
}

TaskState Backlog::step(Task& task, ModeChange& change, const Budget& budget) {
  const Outcome outcome = watching_.change_mode(change, *task.client, budget);
  if (outcome == Outcome::waiting) return TaskState::goes_on;
  auto kind = change.weighted ? Delivery::Kind::mode_weighted : Delivery::Kind::mode_fifo;
  if (outcome != Outcome::done) kind = Delivery::Kind::mode_failed;
  watching_.deliver(*task.client, kind);
  return TaskState::done;
}

// The watch itself is the last of it, so that nobody sees it without its weight.
Outcome Backlog::watch(Client& client, std::string_view tube_name, std::uint32_t weight) {
  make_room_for_delivery();
  tasks_.make_room();
  Tube* const tube = state_.tubes.find_or_create(tube_name);
  if (tube == nullptr) return Outcome::out_of_memory;
  FirstWeight first{weight};
  Outcome outcome = Outcome::done;
  call([&](const Budget& budget) { outcome = watching_.make_weights(first.made, client, budget); });
  if (outcome == Outcome::waiting) {
    tasks_.begin(&client, tube).work = std::move(first);
    client.has_task_ = true;
    return outcome;
  }
  if (outcome == Outcome::done) outcome = watching_.watch(client, *tube, weight);
  state_.free_if_unreferenced(*tube);
  return outcome;
}

TaskState Backlog::step(Task& task, FirstWeight& first, const Budget& budget) {
  Outcome outcome = watching_.make_weights(first.made, *task.client, budget);
  if (outcome == Outcome::waiting) return TaskState::goes_on;
  if (outcome == Outcome::done) outcome = watching_.watch(*task.client, *task.tube, first.weight);
  const auto kind =
      outcome == Outcome::done ? Delivery::Kind::watching : Delivery::Kind::mode_failed;
  watching_.deliver(*task.client, kind, JobRef::none, task.client->watches_.size());
  return TaskState::done;
}

}  // namespace haricot
