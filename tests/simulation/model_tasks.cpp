#include <algorithm>
#include <utility>

#include "mismatch.hpp"
#include "model.hpp"

// Kicks and flushes: what they do at once, and what becomes a long task. The tape says what the
// disk decided about each job; how many jobs a call moves, and whose turn it is, the model knows.

namespace haricot::simulation {
namespace {

// The largest step of a task, in jobs.
constexpr std::uint32_t kJobsPerStep = 200;
// What it costs to look for the number of a list of buried jobs.
constexpr std::uint32_t kJobsPerLook = 20;
// In so many lists the buried jobs of a tube may be: its own, and those of flushes.
constexpr std::uint64_t kBurialLists = 5;

}  // namespace

// Commands ----------------------------------------------------------------------------------------

std::string Model::kick(int number, std::uint32_t bound, Tape& tape, Instant now) {
  const std::string tube = clients_.at(number).used;
  ModelTask kick{.number = ++last_task_,
                 .client = number,
                 .tube = tube,
                 .is_flush = false,
                 .of_buried = first_buried(tube) != 0,
                 .left = bound};
  const Step outcome = kick_some(kick, budget_, tape, now);
  if (outcome == Step::failed) return kInternalError;
  if (outcome == Step::done) return "KICKED " + std::to_string(kick.done) + "\r\n";
  ++task_turns_;
  (outcome == Step::waits ? put_aside_ : awaited_).push_back(std::move(kick));
  return {};
}

std::string Model::flush(int number, const Request& request, Tape& tape) {
  if (find_tube(request.tube) == nullptr) return "NOT_FOUND\r\n";
  const auto is_wanted = [&](StateWord state) {
    return request.state == StateWord::none || request.state == state;
  };
  awaited_.push_back(
      {.number = ++last_task_, .client = number, .tube = request.tube, .is_flush = true});
  ModelTask& flush = awaited_.back();
  note_open_jobs(request.tube);
  for (auto& [id, job] : jobs_) {
    if (job.flush != 0 || job.tube != request.tube) continue;
    const bool is_ready = job.state == JobState::ready && is_wanted(StateWord::ready);
    const bool is_delayed = job.state == JobState::delayed && is_wanted(StateWord::delayed);
    if (is_ready) flush.ready.insert(id);
    if (is_delayed) flush.delayed.insert(id);
    if (is_ready || is_delayed) job.flush = flush.number;
  }
  flush.wants_buried = is_wanted(StateWord::buried) && first_buried(request.tube) != 0;
  if (flush.wants_buried) take_buried(flush);

  const Step outcome = free_some(flush, budget_, tape);
  if (outcome == Step::done) {
    std::string text = "FLUSHED " + std::to_string(flush.done) + "\r\n";
    awaited_.pop_back();
    drop_if_unreferenced(request.tube);
    return text;
  }
  ++task_turns_;
  if (outcome == Step::waits) {
    put_aside_.splice(put_aside_.end(), awaited_, std::prev(awaited_.end()));
  }
  return {};
}

// Of each lane the server has one job in front of those that wait, and gives it back first.
void Model::note_open_jobs(const std::string& tube) {
  std::size_t free = 0;
  std::set<std::string> lanes;
  const std::vector<JobId> ready = ready_jobs(tube, free);
  for (std::size_t i = 0; i < ready.size(); ++i) {
    ModelJob& job = jobs_.at(ready[i]);
    job.was_flushed_open = job.lane.empty() || (i < free && lanes.insert(job.lane).second);
  }
}

// The client goes: its kick ends, its flush goes on.
void Model::leave_task(int number) {
  const auto is_its = [number](const ModelTask& task) { return task.client == number; };
  for (Tasks* tasks : {&awaited_, &put_aside_}) {
    const auto task = std::find_if(tasks->begin(), tasks->end(), is_its);
    if (task == tasks->end()) continue;
    if (!task->is_flush) {
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

// In the order in which they were put aside.
void Model::resume_tasks(Tape& tape, Instant now) {
  record_late_burials(tape);
  while (!put_aside_.empty()) {
    Tasks& to = put_aside_.front().client == 0 ? others_ : awaited_;
    to.splice(to.end(), put_aside_, put_aside_.begin());
  }
  work_on_tasks(budget_, tape, now);
}

// Tasks that nobody waits for get half, if there are others.
void Model::work_on_tasks(std::uint32_t budget, Tape& tape, Instant now) {
  std::uint32_t share = awaited_.empty() ? budget : budget / 2;
  budget -= share;
  work(others_, share, tape, now);
  budget += share;
  work(awaited_, budget, tape, now);
}

void Model::work(Tasks& tasks, std::uint32_t& budget, Tape& tape, Instant now) {
  while (budget > 0 && !tasks.empty()) {
    const auto task = tasks.begin();
    std::uint32_t piece = std::min(budget, kJobsPerStep);
    budget -= piece;
    const Step outcome = step(*task, piece, tape, now);
    budget += piece;
    if (outcome == Step::done) {
      const std::string tube = task->tube;
      tasks.erase(task);
      drop_if_unreferenced(tube);
      continue;
    }
    ++task_turns_;
    Tasks& to = outcome == Step::waits ? put_aside_ : tasks;
    to.splice(to.end(), tasks, task);
  }
}

Model::Step Model::step(ModelTask& task, std::uint32_t& budget, Tape& tape, Instant now) {
  if (!task.is_flush) {
    const Step outcome = kick_some(task, budget, tape, now);
    if (outcome == Step::waits || outcome == Step::goes_on) return outcome;
    answer(task.client, "KICKED " + std::to_string(task.done) + "\r\n");
    return Step::done;
  }
  if (!task.is_putting_back) {
    const Step outcome = free_some(task, budget, tape);
    if (outcome != Step::done) return outcome;
  }
  if (task.is_putting_back) {
    put_back(task, budget, now);
    if (task.has_jobs()) return Step::goes_on;
  }
  if (task.client != 0) {
    answer(task.client,
           task.is_putting_back ? kInternalError : "FLUSHED " + std::to_string(task.done) + "\r\n");
  }
  return Step::done;
}

// Kicks -------------------------------------------------------------------------------------------

// failed: the disk has refused the first job.
Model::Step Model::kick_some(ModelTask& kick, std::uint32_t& budget, Tape& tape, Instant now) {
  for (; kick.left > 0; --kick.left, ++kick.done) {
    const JobId id = kick.of_buried ? first_buried(kick.tube) : first_delayed(kick.tube);
    if (id == 0) break;
    if (budget == 0) return Step::goes_on;
    --budget;
    const JournalStatus status = tape.take(Event::Kind::reserve_update).status;
    if (status == JournalStatus::later) return Step::waits;
    if (status != JournalStatus::ok) return kick.done > 0 ? Step::done : Step::failed;
    ModelJob& job = jobs_.at(id);
    ++job.counts[static_cast<std::size_t>(JobEvent::kick)];
    begin_ready(job, now);
    check_record(tape, Event::Kind::record_update, id);
    offer(kick.tube, now);
  }
  return Step::done;
}

// Flushes -----------------------------------------------------------------------------------------

// Frees jobs, the buried ones first; goes_on, too, if the disk has refused.
Model::Step Model::free_some(ModelTask& flush, std::uint32_t& budget, Tape& tape) {
  if (flush.wants_buried) take_buried(flush);
  while (flush.has_jobs() || flush.wants_buried) {
    if (budget == 0) return Step::goes_on;
    if (!flush.has_jobs()) {
      budget -= std::min(budget, kJobsPerLook);
      return put_aside_.empty() ? Step::goes_on : Step::waits;
    }
    --budget;
    const JournalStatus status = take_room_to_delete({}, tape);
    if (status == JournalStatus::later) return Step::waits;
    if (status != JournalStatus::ok) {
      flush.is_putting_back = true;
      flush.wants_buried = false;
      ++put_backs_;
      return Step::goes_on;
    }
    free_recorded(flush, tape.take(Event::Kind::record_delete).id);
  }
  return Step::done;
}

// The buried jobs go in their order; the ready ones in any, and in front of the delayed ones.
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

// Where too many flushes of the tube have buried jobs, one more has to wait for those.
void Model::take_buried(ModelTask& flush) {
  std::uint64_t lists = 1;
  for_each_task([&](const ModelTask& task) {
    if (task.is_flush && task.tube == flush.tube && !task.buried.empty()) ++lists;
  });
  if (lists >= kBurialLists) return;
  flush.wants_buried = false;
  ModelTube& tube = *find_tube(flush.tube);
  drop_empty_runs(tube);
  for (ModelRun& run : tube.runs) {
    if (run.flush == 0) run.flush = flush.number;
  }
  tube.runs_joined_from = 64;
  for (const JobId id : in_order_of_service(flush.tube, JobState::buried)) {
    flush.buried.push_back(id);
    jobs_.at(id).flush = flush.number;
  }
}

// The rest of a flush that was refused comes back to where it was. A worker gets the best job
// first.
void Model::put_back(ModelTask& flush, std::uint32_t& budget, Instant now) {
  const auto is_better = [this](JobId one, JobId other) {
    const ModelJob& a = jobs_.at(one);
    const ModelJob& b = jobs_.at(other);
    return std::pair(!a.was_flushed_open, a.priority) < std::pair(!b.was_flushed_open, b.priority);
  };
  const auto is_sooner = [this](JobId one, JobId other) {
    const ModelJob& a = jobs_.at(one);
    const ModelJob& b = jobs_.at(other);
    return std::pair(a.deadline, a.arrival) < std::pair(b.deadline, b.arrival);
  };
  for (; budget > 0 && flush.has_jobs(); --budget) {
    if (!flush.ready.empty()) {
      const auto best = std::min_element(flush.ready.begin(), flush.ready.end(), is_better);
      const JobId id = *best;
      flush.ready.erase(best);
      jobs_.at(id).flush = 0;
      offer(flush.tube, now);
    } else if (!flush.delayed.empty()) {
      const auto first = std::min_element(flush.delayed.begin(), flush.delayed.end(), is_sooner);
      jobs_.at(*first).flush = 0;
      flush.delayed.erase(first);
    } else {
      jobs_.at(flush.buried.back()).flush = 0;
      put_back_run(jobs_.at(flush.buried.back()));
      flush.buried.pop_back();
    }
  }
}

}  // namespace haricot::simulation
