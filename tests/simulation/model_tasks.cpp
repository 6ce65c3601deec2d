#include <algorithm>
#include <utility>

#include "mismatch.hpp"
#include "model.hpp"

// Kicks and flushes: their immediate effects, and the long tasks. The tape has the disk's decision
// about each job; the number of jobs in a call, and the order of tasks, are known to the model.

namespace haricot::simulation {
// Commands ----------------------------------------------------------------------------------------

std::string Model::kick(int number, std::uint32_t bound, Tape& tape, Instant now) {
  const std::string tube = clients_.at(number).used;
  ModelTask kick{.number = ++last_task_,
                 .client = number,
                 .tube = tube,
                 .is_flush = false,
                 .of_buried = first_buried(tube) != 0,
                 .left = bound};
  Step outcome = Step::continues;
  call([&](const Budget& budget) { outcome = kick_some(kick, budget, tape, now); });
  if (outcome == Step::failed) return kInternalError;
  if (outcome == Step::done) return "KICKED " + std::to_string(kick.done) + "\r\n";
  ++task_turns_;
  (outcome == Step::waits ? put_aside_ : awaited_).push_back(std::move(kick));
  return {};
}

std::string Model::flush(int number, const Request& request, Tape& tape, Instant now) {
  if (find_tube(request.tube) == nullptr) return "FLUSHED 0\r\n";
  ModelTask flush{.number = ++last_task_,
                  .client = number,
                  .tube = request.tube,
                  .is_flush = true,
                  .state = request.state};
  Step outcome = Step::continues;
  call([&](const Budget& budget) { outcome = flush_some(flush, budget, tape, now); });
  const bool is_refused = flush.is_refused;
  const std::string text = is_refused ? kInternalError
                           : outcome == Step::done
                               ? "FLUSHED " + std::to_string(flush.done) + "\r\n"
                               : "";
  if (outcome == Step::done) {
    drop_if_unreferenced(request.tube);
  } else {
    ++task_turns_;
    if (is_refused) flush.client = 0;
    (outcome == Step::waits ? put_aside_ : awaited_).push_back(std::move(flush));
  }
  end_holds(tape, now);
  return text;
}

// Jobs whose TTRs end at the same instant keep their order.
std::string Model::touch_all(int number, Instant now) {
  ModelTask touch{.number = ++last_task_, .client = number, .tube = {}, .is_flush = false};
  touch.touched = 0;
  for (auto& [id, job] : jobs_) {
    if (!holds(number, id)) continue;
    job.deadline = now + Duration::seconds(job.ttr_s);
    job.since = now;
    job.is_touched = true;
    ++*touch.touched;
  }
  touch.left = static_cast<std::uint32_t>(*touch.touched);
  Step outcome = Step::continues;
  call([&](const Budget& budget) { outcome = touch_some(touch, budget); });
  if (outcome == Step::done) return "TOUCHED_ALL " + std::to_string(*touch.touched) + "\r\n";
  ++task_turns_;
  awaited_.push_back(std::move(touch));
  return {};
}

// The TTRs have restarted at once; only the answer takes time.
Model::Step Model::touch_some(ModelTask& touch, const Budget& budget) {
  for (; touch.left > 0; --touch.left) {
    if (budget.is_used_up()) return Step::continues;
    steps_ += QueueState::kStepsPerJob;
  }
  return Step::done;
}

// The client leaves: its kick and its deletion of several jobs end, its flush continues if it has
// begun.
void Model::leave_task(int number) {
  const auto is_its = [number](const ModelTask& task) { return task.client == number; };
  for (Tasks* tasks : {&awaited_, &put_aside_}) {
    const auto task = std::find_if(tasks->begin(), tasks->end(), is_its);
    if (task == tasks->end()) continue;
    if (!task->is_flush || !task->has_begun) {
      tasks->erase(task);
      return;
    }
    task->client = 0;
    Tasks& to = tasks == &put_aside_ ? put_aside_ : others_;
    to.splice(to.end(), *tasks, task);
    return;
  }
}

// Turns -------------------------------------------------------------------------------------------

void Model::resume_tasks(Tape& tape, Instant now) {
  refused_again_ = Instant::never();
  resume();
  call([&](const Budget& budget) { work_on_tasks(budget, tape, now); });
}

// Resumes the tasks of a tube, or all, in the order in which they were suspended.
void Model::resume(const std::string& of) {
  for (auto task = put_aside_.begin(); task != put_aside_.end();) {
    const auto next = std::next(task);
    Tasks& to = task->client == 0 ? others_ : awaited_;
    if (of.empty() || task->tube == of) to.splice(to.end(), put_aside_, task);
    task = next;
  }
}

Model::Tasks Model::begin_always() {
  Tasks tasks;
  tasks.push_back({.number = 0, .client = 0, .tube = {}, .is_flush = false, .is_of_keys = true});
  tasks.push_back({.number = 0, .client = 0, .tube = {}, .is_flush = false, .is_of_groups = true});
  tasks.push_back({.number = 0, .client = 0, .tube = {}, .is_flush = false, .is_of_waits = true});
  return tasks;
}

void Model::resume_due(Instant now) {
  if (std::min(next_end_of_key(), refused_again_) > now && !has_ended_waits_) return;
  for (const auto kind : {&ModelTask::is_of_keys, &ModelTask::is_of_waits}) {
    const auto task = std::find_if(put_aside_.begin(), put_aside_.end(),
                                   [kind](const ModelTask& one) { return one.*kind; });
    if (task != put_aside_.end()) others_.splice(others_.end(), put_aside_, task);
  }
  if (refused_again_ > now) return;
  refused_again_ = Instant::never();
  resume();
}

// Tasks without a waiting client get half, if there are others.
void Model::work_on_tasks(const Budget& budget, Tape& tape, Instant now) {
  const Budget of_others = budget.part(awaited_.empty() ? budget.left() : budget.left() / 2);
  record_late_burials(tape, now);
  work(others_, of_others, tape, now);
  work(awaited_, budget, tape, now);
}

void Model::work(Tasks& tasks, const Budget& budget, Tape& tape, Instant now) {
  while (!budget.is_used_up() && !tasks.empty()) {
    const auto task = tasks.begin();
    const Budget piece = budget.part(turn_limits::kStepsPerPiece);
    const Step outcome = step(*task, piece, tape, now);
    if (outcome == Step::done) {
      const std::string tube = task->tube;
      tasks.erase(task);
      drop_if_unreferenced(tube);
    } else {
      if (!task->is_always_there()) ++task_turns_;
      Tasks& to = outcome == Step::waits ? put_aside_ : tasks;
      to.splice(to.end(), tasks, task);
    }
    // They have their turn among tasks without a waiting client.
    record_late_burials(tape, now);
  }
}

Model::Step Model::step(ModelTask& task, const Budget& budget, Tape& tape, Instant now) {
  if (task.is_of_keys) return drop_ended_keys(budget, now);
  if (task.is_of_groups) return end_some_holds(budget, tape, now);
  if (task.is_of_waits) return tell_ended(budget);
  if (!task.ids.empty()) {
    const Step outcome = delete_some(task, budget, tape, now);
    if (outcome == Step::waits || outcome == Step::continues) return outcome;
    deliver(task.client, outcome == Step::done ? to_answer(task) : kInternalError);
    return Step::done;
  }
  if (task.touched) {
    const Step outcome = touch_some(task, budget);
    if (outcome == Step::done) {
      deliver(task.client, "TOUCHED_ALL " + std::to_string(*task.touched) + "\r\n");
    }
    return outcome;
  }
  if (!task.is_flush) {
    const Step outcome = kick_some(task, budget, tape, now);
    if (outcome == Step::waits || outcome == Step::continues) return outcome;
    deliver(task.client, outcome == Step::failed ? kInternalError
                                                 : "KICKED " + std::to_string(task.done) + "\r\n");
    return Step::done;
  }
  const Step outcome = flush_some(task, budget, tape, now);
  const bool is_answered = outcome == Step::done || task.is_refused;
  if (task.client != 0 && is_answered) {
    deliver(task.client,
            task.is_refused ? kInternalError : "FLUSHED " + std::to_string(task.done) + "\r\n");
    task.client = 0;
  }
  return outcome;
}

// Kicks -------------------------------------------------------------------------------------------

// failed: the disk has refused the first job.
Model::Step Model::kick_some(ModelTask& kick, const Budget& budget, Tape& tape, Instant now) {
  for (; kick.left > 0; --kick.left, ++kick.done) {
    const JobId id = kick.of_buried ? first_buried(kick.tube) : first_delayed(kick.tube);
    if (id == 0) break;
    if (budget.is_used_up()) return Step::continues;
    const JournalStatus status = tape.take(Event::Kind::take_room_for_update).status;
    if (status == JournalStatus::later) return Step::waits;
    if (status != JournalStatus::ok) return kick.done > 0 ? Step::done : Step::failed;
    ModelJob& job = jobs_.at(id);
    count_kick(job);
    begin_ready(job, now);
    check_record(tape, Event::Kind::record_update, id);
    offer(kick.tube, now);
    steps_ += QueueState::kStepsPerJob;
  }
  return Step::done;
}

// Flushes -----------------------------------------------------------------------------------------

// A tube has one flush at a time. A flush that the disk refuses at once neither begins nor waits.
Model::Step Model::flush_some(ModelTask& flush, const Budget& budget, Tape& tape, Instant now) {
  if (!flush.has_begun) {
    bool has_to_wait = false;
    for_each_task([&](const ModelTask& task) {
      has_to_wait = has_to_wait || (task.has_begun && task.tube == flush.tube);
    });
    const std::vector<JobId> named = named_by(flush);
    if (named.empty() && !has_to_wait) return Step::done;
    const JournalStatus status = take_room_to_delete({}, tape);
    flush.is_refused = status != JournalStatus::ok && status != JournalStatus::later;
    if (flush.is_refused) return Step::done;
    if (has_to_wait) return Step::waits;
    take_jobs(flush, named);
  }
  const Step outcome = free_some(flush, budget, tape, now);
  if (outcome == Step::done) {
    flush.has_begun = false;
    resume(flush.tube);
  }
  return outcome;
}

// Returns the existing jobs, the buried ones in their order.
std::vector<JobId> Model::named_by(const ModelTask& flush) const {
  std::vector<JobId> named;
  for (const auto state : {StateWord::buried, StateWord::ready, StateWord::delayed}) {
    if (flush.state != StateWord::none && flush.state != state) continue;
    const JobState of = state == StateWord::buried  ? JobState::buried
                        : state == StateWord::ready ? JobState::ready
                                                    : JobState::delayed;
    const std::vector<JobId> some = in_order_of_service(flush.tube, of);
    named.insert(named.end(), some.begin(), some.end());
  }
  return named;
}

void Model::take_jobs(ModelTask& flush, const std::vector<JobId>& named) {
  for (const JobId id : named) {
    ModelJob& job = jobs_.at(id);
    job.flush = flush.number;
    if (job.state == JobState::buried) flush.buried.push_back(id);
    if (job.state == JobState::ready) flush.ready.insert(id);
    if (job.state == JobState::delayed) flush.delayed.insert(id);
  }
  flush.has_begun = true;
}

// Frees jobs, the buried ones first. A flush that the disk refuses is retried later.
Model::Step Model::free_some(ModelTask& flush, const Budget& budget, Tape& tape, Instant now) {
  while (flush.has_jobs()) {
    if (budget.is_used_up()) return Step::continues;
    const JournalStatus status = take_room_to_delete({}, tape);
    if (status != JournalStatus::ok) {
      if (status == JournalStatus::later) return Step::waits;
      if (!flush.is_refused) ++refused_flushes_;
      flush.is_refused = true;
      try_refused_again(now);
      return Step::waits;
    }
    free_recorded(flush, tape.take(Event::Kind::record_delete).id);
    steps_ += QueueState::kStepsPerJob;
    resume_end_of_holds();
  }
  return Step::done;
}

// Buried jobs are freed in their order; ready ones in any order, and before the delayed ones.
void Model::free_recorded(ModelTask& flush, JobId id) {
  const std::string what = "a flush frees job " + std::to_string(id);
  if (!flush.buried.empty()) {
    require(id == flush.buried.front(), what + " before a job that was buried first");
    flush.buried.pop_front();
  } else if (!flush.ready.empty()) {
    require(flush.ready.erase(id) == 1, what + ", which is none of its ready ones");
  } else {
    require(flush.delayed.erase(id) == 1, what + ", which is none of its delayed ones");
  }
  erase_job(id);
  ++flush.done;
}

}  // namespace haricot::simulation
