// The engine's long-running and timed work. Each call does a bounded amount of it.
//
// A command that may be long is a long task (LongTasks) from the start. begin() does as much at
// once as the budget of the turn allows, advance() continues it, and answer() delivers its result
// at the end. There are also tasks without a command: the rest of a closed client, keys whose time
// is over, late burials, jobs whose group has ended, the list of all tubes, memory that returns to
// the system, and deliveries to clients whose awaited job has ended (JobWaits). A new kind of task
// needs a struct in long_tasks.hpp, a do_piece() here, and a Delivery::Kind for its answer; a new
// permanent task needs a tasks::Chore, a function here, and its row in kChores.
//
// A tube has one flush at a time. The next one waits, and takes its jobs when the first has ended.
// Jobs never return to the tube: if the journal refuses a deletion, the client is answered that its
// flush failed, the jobs stay invisible, and the task retries until their deletion is recorded.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "haricot/base/time.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/engine_results.hpp"
#include "haricot/queue/flushes.hpp"
#include "haricot/queue/groups.hpp"
#include "haricot/queue/job_waits.hpp"
#include "haricot/queue/keys.hpp"
#include "haricot/queue/lanes.hpp"
#include "haricot/queue/long_tasks.hpp"
#include "haricot/queue/places.hpp"
#include "haricot/queue/queue_state.hpp"
#include "haricot/queue/serving.hpp"
#include "haricot/queue/tries.hpp"
#include "haricot/queue/tube.hpp"
#include "haricot/queue/watching.hpp"

namespace haricot {

class Backlog {
 public:
  Backlog(QueueState& state, Flushes& flushes, Tries& tries, Keys& keys, Groups& groups,
          Places& places, Watching& watching, Serving& serving, LaneOrder& lanes, JobWaits& waits)
      : state_(state),
        flushes_(flushes),
        tries_(tries),
        keys_(keys),
        groups_(groups),
        places_(places),
        watching_(watching),
        serving_(serving),
        lanes_(lanes),
        waits_(waits) {
    begin_chores();
  }
  ~Backlog();
  Backlog(const Backlog&) = delete;
  Backlog& operator=(const Backlog&) = delete;

  // Fires due timers and continues the tasks. The time is QueueState::now.
  void advance();
  // Continues the tasks; no timers fire.
  void advance_tasks();
  // Resumes tasks that wait for the journal's disk.
  void resume();
  // Returns a time in the past if work is left.
  Instant next_event() const {
    return tasks_.has_runnable() ? Instant{} : std::min(state_.wheel.next_event(), next_resume());
  }
  // Returns true if no long task is in progress, and no burial, end of a hold or delivery is
  // pending.
  bool is_empty() const;

  // Calls `work(budget)` for the first piece of a command or a close. All such calls until
  // advance() share one budget.
  template <typename Work>
  void call(Work work) {
    const Budget budget = state_.budget(left_for_calls_);
    work(budget);
    left_for_calls_ = budget.left();
  }
  std::uint64_t left_for_calls() const { return left_for_calls_; }
  // Writes a piece of the list of all tubes now.
  void write_list() { run_piece_now(task_of(tasks::Chore::list_of_tubes)); }
  // Allocates room for the delivery to a client that is about to wait. Throws std::bad_alloc.
  void allocate_delivery() { watching_.allocate_deliveries(tasks_.awaited()); }

  // Commands of the engine. They return `waiting`; `watch` may also return out_of_memory. They
  // throw std::bad_alloc before anything has changed. Require: the client is not busy.
  Outcome kick(Client& client, std::uint32_t bound);
  Outcome flush(Client& client, Tube& tube, JobStates states);
  Outcome delete_batch(Client& client, std::span<const JobId> ids);
  Outcome set_weighted(Client& client, bool weighted);
  Outcome touch_all(Client& client);
  Outcome watch(Client& client, std::string_view tube_name, std::uint32_t weight);
  // Deletes a job, and gives the next job of its lane, if that is open now, to a waiting client.
  // `left` is the key that outlives the job, or null. Requires: room in the journal. Inlined,
  // because a call would slow down every deletion.
  [[gnu::always_inline]] void delete_now(JobRef ref, const Tombstone* left);
  // Ends the holds for a group that has ended. Called after the deletion of a job with tags.
  void end_holds() {
    if (groups_.has_ended()) [[unlikely]]
      run_piece_now(task_of(tasks::Chore::ended_groups));
  }
  // Makes the client wait for the end of the job. Returns waiting or out_of_memory; throws
  // std::bad_alloc before anything has changed. Requires: the client is not busy.
  Outcome wait_for_end(Client& client, JobId id, Instant wait_end);
  // Ends the client's wait for the end of a job with the delivery timed_out. If the job has ended,
  // the delivery reports that instead.
  void stop_wait_for_end(Client& client);
  // Closes a client that does not wait for a job.
  void close(Client& client);
  // Ends the pause of a tube.
  void end_pause(Tube& tube);
  // Serves a tube that may have several jobs for several waiting clients.
  void serve_first(Tube& tube) {
    if (!Serving::has_watchers(tube)) return;
    call([&](const Budget& budget) { serving_.serve_first(tube, budget); });
  }

 private:
  friend class Inspection;

  using Tasks = LongTasks<tasks::Work>;
  using Task = Tasks::Task;

  // Row of a permanent task.
  struct ChoreRow {
    TaskState (Backlog::*do_piece)(const Budget& budget);
    // Returns true if the server must not hand over, because work is left.
    bool (*is_pending)(const Backlog& backlog);
    bool is_timed;  // It has to run when next_resume() is reached.
  };
  static constexpr std::size_t kChoreRows = 6;
  static const std::array<ChoreRow, kChoreRows> kChores;  // Indexed by tasks::Chore.

  Task& task_of(tasks::Chore chore) { return *chores_[static_cast<std::size_t>(chore)]; }
  void continue_tasks();
  void fire_timers(const Budget& budget);
  static void unpause(Tube& tube);
  void fire_tube(Tube& tube, const Budget& budget);
  void fire_client(Client& client, const Budget& budget);
  void end_wait_if_due(Client& client, const Budget& budget);
  Instant next_resume() const;
  void resume_due();
  void resume_all();
  void begin_chores();
  void allocate_task();
  Outcome begin(Client& client, Tube* tube, tasks::Work work);
  struct TaskAnswer {
    Delivery::Kind kind;
    std::uint64_t count = 0;
    std::uint16_t not_found = 0;
  };
  void answer(Task& task, const TaskAnswer& answer);
  void work(const Budget& budget);
  void run_piece_now(Task& task);
  TaskState do_piece(Task& task, const Budget& budget);
  void end_task(const Task& task);
  void leave_task(Client& client);
  // Do one piece of the task. The budget of a new task may be used up already.
  TaskState do_piece(Task& task, tasks::Kick& kick, const Budget& budget);
  TaskState do_piece(Task& task, tasks::ClosedClient& closed, const Budget& budget);
  TaskState do_piece(Task& task, tasks::Flush& flush, const Budget& budget);
  TaskState do_piece(Task& task, tasks::DeleteBatch& batch, const Budget& budget);
  TaskState do_piece(Task& task, tasks::ModeChange& change, const Budget& budget);
  TaskState do_piece(Task& task, tasks::WeightedWatch& watch, const Budget& budget);
  TaskState do_piece(Task& task, tasks::TouchAll& touch, const Budget& budget);
  TaskState do_piece(Task& task, tasks::Permanent& permanent, const Budget& budget);
  // Do one piece of a permanent task.
  TaskState drop_ended_keys(const Budget& budget);
  TaskState record_late_burials(const Budget& budget);
  TaskState end_holds_of_groups(const Budget& budget);
  TaskState list_tubes(const Budget& budget);
  TaskState give_memory_back(const Budget& budget);
  TaskState answer_ended_waits(const Budget& budget);
  struct Deletions;
  Outcome delete_some(const Client& client, tasks::DeleteBatch& batch, const Budget& budget);
  Deletions plan_deletions(const Client& client, const tasks::DeleteBatch& batch,
                           const Budget& budget);
  JournalStatus delete_planned(const Deletions& planned, tasks::DeleteBatch& batch);
  void serve_each(std::span<Tube* const> tubes, bool has_changed);
  TaskState flush_some(tasks::Flush& flush, Tube& tube, const Budget& budget);
  bool can_delete();
  bool allocate_for_reserved(FlushedJobs& room, const Tube& tube);
  TaskState free_some(tasks::Flush& flush, Tube& tube, const Budget& budget);
  [[gnu::always_inline]] Tube& delete_unserved(JobRef ref, const Tombstone* left);
  JobRef take_job_of(tasks::ClosedClient& closed);
  void give_back(tasks::ClosedClient& closed, const Budget& budget);

  QueueState& state_;
  Flushes& flushes_;
  Tries& tries_;
  Keys& keys_;
  Groups& groups_;
  Places& places_;
  Watching& watching_;
  Serving& serving_;
  LaneOrder& lanes_;
  JobWaits& waits_;
  Tasks tasks_;
  std::array<Task*, kChoreRows> chores_{};  // The permanent tasks, indexed by tasks::Chore.
  Instant age_memory_again_;
  std::uint64_t left_for_calls_ = turn_limits::kStepsOfCalls;
};

inline void Backlog::delete_now(JobRef ref, const Tombstone* left) {
  Tube& tube = delete_unserved(ref, left);
  serving_.serve(tube);
  state_.free_if_unreferenced(tube);
}

// Deletes a job without serving its tube. Returns the tube, which may be unreferenced now.
inline Tube& Backlog::delete_unserved(JobRef ref, const Tombstone* left) {
  const Job& job = state_.jobs[ref];
  Tube& tube = state_.tubes[job.tube];
  // Recorded first: the record needs the deadline of a delayed job, which is in the heap that it
  // leaves.
  state_.journal.record_deletion(flushes_.journaled(ref, job, tube), left);
  places_.to_nowhere(ref, place_of(job.state()));
  state_.jobs.destroy(ref);
  ++tube.deletes;
  return tube;
}

}  // namespace haricot
