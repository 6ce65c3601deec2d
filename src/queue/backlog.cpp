#include "haricot/queue/backlog.hpp"

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <variant>

#include "haricot/base/check.hpp"
#include "haricot/base/memory.hpp"

namespace haricot {
namespace {

// Memory returns to the system when it was unused for this time, and at most twice that.
constexpr Duration kMemoryAge = Duration::seconds(1);

}  // namespace

Backlog::~Backlog() {
  while (const std::unique_ptr<Task> task = tasks_.take_first()) {
    auto* closed = std::get_if<tasks::ClosedClient>(&task->work);
    for (std::uint32_t i = 0; closed != nullptr && i < closed->watches.size(); ++i) {
      closed->watches[i]->tube->watchers.remove(*closed->watches[i]);
      if (closed->index != nullptr) closed->index->remove(*closed->watches[i]);
      delete closed->watches[i];
    }
  }
}

// Time -------------------------------------------------------------------------------------------

void Backlog::advance() {
  left_for_calls_ = turn_limits::kStepsOfCalls;
  state_.wheel.advance_to(state_.now);
  if (state_.wheel.has_due()) fire_timers(state_.budget(turn_limits::kStepsOfTime));
  continue_tasks();
}

void Backlog::advance_tasks() {
  left_for_calls_ = turn_limits::kStepsOfCalls;
  continue_tasks();
}

void Backlog::continue_tasks() {
  if (next_resume() <= state_.now) [[unlikely]]
    resume_due();
  if (tasks_.has_runnable()) work(state_.budget(turn_limits::kStepsOfTasks));
}

bool Backlog::is_empty() const {
  bool has_tasks = false;
  for (const ChoreRow& row : kChores) has_tasks = has_tasks || row.is_pending(*this);
  tasks_.for_each([&](const Task& task) {
    has_tasks = has_tasks || !std::holds_alternative<tasks::Permanent>(task.work);
  });
  return !has_tasks;
}

// Returns when suspended tasks continue that wait for a time, not only for the journal's disk.
Instant Backlog::next_resume() const {
  if (Memory::bytes_to_go() > 0) return Instant{};
  const Instant next = std::min(keys_.next_event(), state_.resume_at);
  return Memory::kept_bytes() > 0 ? std::min(next, age_memory_again_) : next;
}

// Resumes permanent tasks that may have work; a task without any is suspended again.
void Backlog::resume_due() {
  for (std::size_t i = 0; i < kChores.size(); ++i) {
    if (kChores[i].is_timed) tasks_.resume(*chores_[i]);
  }
  state_.resume_at = state_.resume_all_at;
  if (state_.resume_all_at <= state_.now) resume_all();
}

// Tasks that are refused again set the times again.
void Backlog::resume_all() {
  state_.resume_all_at = Instant::never();
  state_.resume_at = Instant::never();
  tasks_.resume();
}

// Timers that move no job count too, because thousands of clients may stop waiting in one tick.
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

void Backlog::resume() {
  resume_all();
  call([&](const Budget& budget) { work(budget); });
}

void Backlog::fire_tube(Tube& tube, const Budget& budget) {
  const bool pause_ends = tube.paused && tube.pause_end <= state_.now;
  if (pause_ends) unpause(tube);
  if (tube.is_behind || pause_ends) serving_.serve_waiting(tube, budget);
  while (!budget.is_used_up() && !tube.delayed.empty() &&
         tube.delayed.top().deadline <= state_.now) {
    state_.steps += QueueState::kStepsPerJob;
    serving_.end_delay(tube);
  }
  state_.arm_tube(tube);
}

void Backlog::unpause(Tube& tube) {
  tube.paused = false;
  tube.pause_s = 0;
}

void Backlog::end_pause(Tube& tube) {
  unpause(tube);
  call([&](const Budget& budget) { serving_.serve_waiting(tube, budget); });
}

// The end of a TTR is recorded in the journal only if the job has a limit of tries: a restart makes
// reserved jobs ready anyway.
void Backlog::fire_client(Client& client, const Budget& budget) {
  const bool may_end = !client.activity().is_touching_all();
  while (may_end && !budget.is_used_up() && !client.held().empty() &&
         client.held().first().deadline <= state_.now) {
    state_.steps += QueueState::kStepsPerJob;
    const JobRef ref = client.held().first().job;
    state_.jobs.count(ref, JobEvent::timeout);
    ++state_.counts.timeouts;
    serving_.take_back(ref, BurialCause::timed_out);
  }
  if (client.is_waiting()) end_wait_if_due(client, budget);
  if (client.is_waiting_for_end() && client.activity().wait_end() <= state_.now)
    stop_wait_for_end(client);
  state_.arm_client(client);
}

// A client whose turn for a job is still to come waits until then, whatever its timeout.
void Backlog::end_wait_if_due(Client& client, const Budget& budget) {
  const bool is_soon = watching_.is_deadline_soon(client);
  if (!is_soon && client.activity().wait_end() > state_.now) return;
  if (Tube* const behind = watching_.tube_behind(client); behind != nullptr) {
    serving_.serve_waiting(*behind, budget);
    if (!client.is_waiting() || watching_.tube_behind(client) != nullptr) return;
  }
  watching_.end_wait_without_job(
      client, is_soon ? Delivery::Kind::deadline_soon : Delivery::Kind::timed_out);
}

// Tasks ------------------------------------------------------------------------------------------

// Allocates a task, and room for its answer.
void Backlog::allocate_task() {
  allocate_delivery();
  tasks_.allocate_task();
}

// Begins a task of a command. Its answer is the same whether it is done after the first piece or
// much later. Requires: allocate_task().
Outcome Backlog::begin(Client& client, Tube* tube, tasks::Work work) {
  Task& task = tasks_.begin(&client, tube);
  task.work = std::move(work);
  CHECK(!client.is_busy());
  client.activity().busy_with_ = ClientActivity::BusyWith::task;
  run_piece_now(task);
  return Outcome::waiting;
}

// Answers the client of a task, which is no longer busy.
void Backlog::answer(Task& task, const TaskAnswer& answer) {
  watching_.deliver({.client = task.client,
                     .kind = answer.kind,
                     .is_at_once = task.is_new,
                     .not_found = answer.not_found,
                     .count = answer.count});
  task.client->activity().busy_with_ = ClientActivity::BusyWith::nothing;
  tasks_.answered(task);
}

void Backlog::begin_chores() {
  for (std::size_t i = 0; i < kChores.size(); ++i) {
    tasks_.allocate_task();
    Task& task = tasks_.begin(nullptr, nullptr);
    task.work = tasks::Permanent{static_cast<tasks::Chore>(i)};
    tasks_.put_aside(task);
    chores_[i] = &task;
  }
}

void Backlog::run_piece_now(Task& task) {
  call([&](const Budget& budget) {
    tasks_.run_piece(
        task, budget, [&](Task& that, const Budget& piece) { return do_piece(that, piece); },
        [&](const Task& done) { end_task(done); });
  });
}

void Backlog::work(const Budget& budget) {
  tasks_.work(
      budget, [&](Task& task, const Budget& piece) { return do_piece(task, piece); },
      [&](const Task& done) { end_task(done); });
}

TaskState Backlog::do_piece(Task& task, const Budget& budget) {
  return std::visit([&](auto& work) { return do_piece(task, work, budget); }, task.work);
}

void Backlog::end_task(const Task& task) {
  if (task.tube != nullptr) state_.free_if_unreferenced(*task.tube);
}

// Detaches a closing client from its task. A flush that has begun continues; any other task ends,
// because its answer is no longer needed.
void Backlog::leave_task(Client& client) {
  Task* task = tasks_.find(client);
  CHECK(task != nullptr);
  client.activity().busy_with_ = ClientActivity::BusyWith::nothing;
  const auto* flush = std::get_if<tasks::Flush>(&task->work);
  if (flush != nullptr && flush->has_begun()) {
    tasks_.forget_client(*task);
  } else {
    end_task(*tasks_.take(*task));
  }
}

// Closes -----------------------------------------------------------------------------------------

// Removes the client's watches and returns its jobs, now as far as the budget allows, and the rest
// in later calls.
void Backlog::close(Client& client) {
  if (client.activity().is_task()) leave_task(client);
  if (client.is_waiting_for_end()) waits_.drop(client);
  tasks::ClosedClient closed = watching_.close(client);
  call([&](const Budget& budget) {
    watching_.drop_watches(closed, budget);
    Tube& used = state_.used_by(client);
    --used.using_clients;
    state_.free_if_unreferenced(used);
    give_back(closed, budget);
  });
  if (closed.empty()) {
    state_.clients.drop(closed.holder);
    return;
  }
  try {
    tasks_.allocate_task();
  } catch (const std::bad_alloc&) {
    // Without memory for a task, all is done at once.
    const Budget all = state_.budget(Budget::kAll);
    watching_.drop_watches(closed, all);
    give_back(closed, all);
    state_.clients.drop(closed.holder);
    return;
  }
  tasks_.begin(nullptr, nullptr).work.emplace<tasks::ClosedClient>(std::move(closed));
}

TaskState Backlog::do_piece(Task&, tasks::ClosedClient& closed, const Budget& budget) {
  give_back(closed, budget);
  watching_.drop_watches(closed, budget);
  if (!closed.empty()) return TaskState::continues;
  state_.clients.drop(closed.holder);
  return TaskState::done;
}

// The order in which jobs return matters only if a client waits or a job may be buried. Then it is
// the order in which their TTRs would have ended, as if the client had let all of them expire.
JobRef Backlog::take_job_of(tasks::ClosedClient& closed) {
  if (state_.counts.waiting == 0 && !tries_.has_some()) return closed.jobs.take_any().job;
  const JobRef ref = closed.jobs.top().job;
  closed.jobs.remove(0, state_.jobs);
  return ref;
}

void Backlog::give_back(tasks::ClosedClient& closed, const Budget& budget) {
  while (!budget.is_used_up() && !closed.jobs.empty()) {
    state_.steps += QueueState::kStepsPerJob;
    serving_.take_back(take_job_of(closed), BurialCause::closed);
  }
}

// Kicks ------------------------------------------------------------------------------------------

Outcome Backlog::kick(Client& client, std::uint32_t bound) {
  allocate_task();
  Tube& tube = state_.used_by(client);
  // Not by tube.buried, which includes jobs that a flush has yet to free.
  return begin(client, &tube, tasks::Kick{tube.first_buried != JobRef::none, bound, 0});
}

// Kicks jobs of the tube until the bound is reached or none is left. Ends early if the journal
// refuses or memory is short; the answer is the number of jobs kicked so far.
TaskState Backlog::do_piece(Task& task, tasks::Kick& kick, const Budget& budget) {
  Tube& tube = *task.tube;
  bool is_refused = false;
  bool has_memory = true;
  while (kick.left > 0 && !is_refused) {
    JobRef ref = tube.first_buried;
    if (!kick.of_buried) ref = tube.delayed.empty() ? JobRef::none : tube.delayed.top().job;
    if (ref == JobRef::none) break;
    if (budget.is_used_up()) return TaskState::continues;
    has_memory = Places::allocate_ready(tube);
    if (!has_memory) break;
    const JournalStatus room = tries_.take_room_for_unburial(ref);
    if (room == JournalStatus::later) return TaskState::waits;
    is_refused = room != JournalStatus::ok;
    if (is_refused) continue;
    serving_.kick(ref, kick.of_buried ? Place::buried : Place::delayed);
    state_.steps += QueueState::kStepsPerJob;
    --kick.left;
    ++kick.kicked;
  }
  auto kind = Delivery::Kind::kicked;
  if (kick.kicked == 0 && is_refused) kind = Delivery::Kind::failed;
  if (kick.kicked == 0 && !has_memory) kind = Delivery::Kind::out_of_memory;
  answer(task, {.kind = kind, .count = kick.kicked});
  return TaskState::done;
}

// Modes of reserves ------------------------------------------------------------------------------

Outcome Backlog::set_weighted(Client& client, bool weighted) {
  allocate_task();
  return begin(client, nullptr, tasks::ModeChange{weighted});
}

TaskState Backlog::do_piece(Task& task, tasks::ModeChange& change, const Budget& budget) {
  Outcome outcome = Outcome::done;
  if (change.is_begun || change.weighted != task.client->watches().are_weighted()) {
    outcome = watching_.change_mode(change, *task.client, budget);
  }
  if (outcome == Outcome::waiting) return TaskState::continues;
  auto kind = change.weighted ? Delivery::Kind::mode_weighted : Delivery::Kind::mode_fifo;
  if (outcome != Outcome::done) kind = Delivery::Kind::out_of_memory;
  answer(task, {.kind = kind});
  return TaskState::done;
}

// The watch is added last, so it never exists without its weight.
Outcome Backlog::watch(Client& client, std::string_view tube_name, std::uint32_t weight) {
  allocate_task();
  Tube* const tube = state_.tubes.find_or_create(tube_name);
  if (tube == nullptr) return Outcome::out_of_memory;
  return begin(client, tube, tasks::WeightedWatch{weight});
}

TaskState Backlog::do_piece(Task& task, tasks::WeightedWatch& watch, const Budget& budget) {
  Outcome outcome = watching_.make_weights(watch.made, *task.client, budget);
  if (outcome == Outcome::waiting) return TaskState::continues;
  if (outcome == Outcome::done) outcome = watching_.watch(*task.client, *task.tube, watch.weight);
  const bool is_done = outcome == Outcome::done;
  answer(task, {.kind = is_done ? Delivery::Kind::watching : Delivery::Kind::out_of_memory,
                .count = task.client->watches().size()});
  return TaskState::done;
}

// TTRs -------------------------------------------------------------------------------------------

Outcome Backlog::touch_all(Client& client) {
  allocate_task();
  client.activity().is_touching_all_ = true;
  return begin(client, nullptr, tasks::TouchAll{client.held_jobs(), state_.now});
}

TaskState Backlog::do_piece(Task& task, tasks::TouchAll& touch, const Budget& budget) {
  Client& client = *task.client;
  for (; touch.left > 0 && !budget.is_used_up(); --touch.left) {
    places_.touch_in_turn(client, touch.left - 1, touch.since);
    state_.steps += QueueState::kStepsPerJob;
  }
  if (touch.left > 0) return TaskState::continues;
  client.activity().is_touching_all_ = false;
  answer(task, {.kind = Delivery::Kind::touched_all, .count = client.held_jobs()});
  return TaskState::done;
}

// Ends of jobs -----------------------------------------------------------------------------------

Outcome Backlog::wait_for_end(Client& client, JobId id, Instant wait_end) {
  allocate_delivery();
  return waits_.begin(client, id, wait_end) ? Outcome::waiting : Outcome::out_of_memory;
}

void Backlog::stop_wait_for_end(Client& client) {
  if (waits_.has_ended(client)) {
    client.activity().wait_end_ = Instant::never();
    return;
  }
  waits_.drop(client);
  watching_.deliver({.client = &client, .kind = Delivery::Kind::timed_out});
}

// Permanent tasks ---------------------------------------------------------------------------------

// In the order of tasks::Chore.
const std::array<Backlog::ChoreRow, Backlog::kChoreRows> Backlog::kChores = {{
    {&Backlog::drop_ended_keys, [](const Backlog&) { return false; }, true},
    {&Backlog::record_late_burials, [](const Backlog& b) { return b.tries_.has_late(); }, false},
    {&Backlog::end_holds_of_groups, [](const Backlog& b) { return b.groups_.has_ended(); }, false},
    {&Backlog::list_tubes, [](const Backlog&) { return false; }, false},
    {&Backlog::give_memory_back, [](const Backlog&) { return false; }, true},
    {&Backlog::answer_ended_waits, [](const Backlog& b) { return b.waits_.has_ended_some(); },
     true},
}};

TaskState Backlog::do_piece(Task&, tasks::Permanent& permanent, const Budget& budget) {
  return (this->*kChores[static_cast<std::size_t>(permanent.chore)].do_piece)(budget);
}

TaskState Backlog::drop_ended_keys(const Budget& budget) {
  keys_.drop_ended(budget);
  return keys_.next_event() <= state_.now ? TaskState::continues : TaskState::waits;
}

TaskState Backlog::record_late_burials(const Budget& budget) {
  const bool is_refused = !tries_.record_late(budget);
  return is_refused || !tries_.has_late() ? TaskState::waits : TaskState::continues;
}

// Ends the holds for ended groups. A job that was flushed meanwhile only stops being held.
// Otherwise this is like a kick, but there is no client to answer if the journal refuses.
TaskState Backlog::end_holds_of_groups(const Budget& budget) {
  while (groups_.has_ended()) {
    if (budget.is_used_up()) return TaskState::continues;
    state_.steps += QueueState::kStepsPerJob;
    const JobRef ref = groups_.first_of_ended();
    if (ref == JobRef::none) {
      groups_.drop_ended();
      continue;
    }
    if (flushes_.have(ref)) {
      groups_.end_hold(ref);
      continue;
    }
    const bool has_memory =
        state_.jobs[ref].delay_s > 0 || Places::allocate_ready(state_.tube_of(ref));
    const JournalStatus room =
        has_memory ? state_.journal.take_promised_room({}) : JournalStatus::failed;
    if (room != JournalStatus::ok) {
      if (room != JournalStatus::later) state_.try_refused_again();
      return TaskState::waits;
    }
    serving_.end_hold(ref);
    state_.journal.record(JobChange::update, flushes_.journaled(ref));
    serving_.serve(state_.tube_of(ref));
  }
  return TaskState::waits;
}

TaskState Backlog::list_tubes(const Budget& budget) {
  TubeList* const list = state_.tubes.list_if_asked();
  if (list == nullptr) return TaskState::waits;
  list->work(state_.steps, budget);
  return list->is_working() ? TaskState::continues : TaskState::waits;
}

TaskState Backlog::give_memory_back(const Budget&) {
  if (age_memory_again_ <= state_.now) {
    Memory::age();
    age_memory_again_ = state_.now + kMemoryAge;
  }
  const std::size_t before = Memory::bytes_to_go();
  Memory::give_back(turn_limits::kFreedBytes, turn_limits::kFreedShare);
  const std::size_t after = Memory::bytes_to_go();
  state_.steps += (before - after) / turn_limits::kFreedBytesPerStep;
  return after > 0 ? TaskState::continues : TaskState::waits;
}

TaskState Backlog::answer_ended_waits(const Budget& budget) {
  while (waits_.has_ended_some()) {
    if (budget.is_used_up()) return TaskState::continues;
    watching_.deliver(waits_.take_ended());
  }
  return TaskState::waits;
}

}  // namespace haricot
