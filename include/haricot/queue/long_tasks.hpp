// Long tasks: work that takes too long for one call of the engine and is done in pieces.
//
// Tasks run round-robin: a task does a bounded piece, and moves to the end of the queue if it is
// not done. So a short task does not wait for the end of a long one. Tasks with a waiting client
// have a queue of their own. While there are such tasks, the others get at most half of a call. A
// task that has to wait is suspended until resume().
//
// A permanent task has no client, and is suspended while it has nothing to do.
//
// This class does not interpret the `Work` of a task. A task keeps its tube in existence
// (Tube::tasks).

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "haricot/base/heap.hpp"
#include "haricot/base/intrusive_list.hpp"
#include "haricot/base/paged_array.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/tube.hpp"
#include "haricot/queue/watch_index.hpp"

namespace haricot {

// State of a task after a piece.
enum class TaskState : std::uint8_t {
  done,
  continues,
  waits,  // For something that may take long.
};

template <typename Work>
class LongTasks {
 public:
  struct Task {
    Client* client = nullptr;  // Client that waits for the end, or null.
    Tube* tube = nullptr;      // Null: it needs none.
    Work work{};
    bool waits = false;  // It is suspended.
    bool is_new = true;  // It has not done its first piece.
    ListHook hook{};
  };

  LongTasks() = default;
  LongTasks(const LongTasks&) = delete;
  LongTasks& operator=(const LongTasks&) = delete;
  ~LongTasks() {
    while (take_first() != nullptr) continue;
  }

  // Returns true if a task can do a piece now.
  bool has_runnable() const { return !awaited_.empty() || !others_.empty(); }
  // Number of tasks with a waiting client.
  std::uint32_t awaited() const { return awaited_tasks_; }

  // Allocates memory for one more task. Throws std::bad_alloc; nothing has changed then.
  void allocate_task() {
    if (spare_ == nullptr) spare_ = std::make_unique<Task>();
  }
  // Adds a task and returns it; the caller sets its work. Requires: allocate_task() since the last
  // call.
  Task& begin(Client* client, Tube* tube) {
    Task& task = *spare_.release();
    task.client = client;
    task.tube = tube;
    task.waits = false;
    task.is_new = true;
    if (tube != nullptr) ++tube->tasks;
    if (client != nullptr) ++awaited_tasks_;
    list_of(task).push_back(task);
    return task;
  }

  // Returns the task that a client waits for, or null. O(tasks).
  Task* find(const Client& client) {
    for (List* list : {&awaited_, &waiting_}) {
      for (Task* task = list->first(); task != nullptr; task = list->after(*task)) {
        if (task->client == &client) return task;
      }
    }
    return nullptr;
  }
  // Removes a task and returns it.
  std::unique_ptr<Task> take(Task& task) { return take_from(list_of(task), task); }
  // Removes any task and returns it; null if there is none.
  std::unique_ptr<Task> take_first() {
    for (List* list : {&awaited_, &others_, &waiting_}) {
      if (!list->empty()) return take(list->front());
    }
    return nullptr;
  }
  // Detaches a closed client from its task; the task continues.
  void forget_client(Task& task) {
    List& from = list_of(task);
    answered(task);
    put_behind(from, task, task.waits);
  }
  // Detaches a client that was answered early from its task; the task continues. Called by
  // `do_piece` only.
  void answered(Task& task) {
    --awaited_tasks_;
    task.client = nullptr;
  }
  // Suspends a task, as if its piece had returned `waits`.
  void put_aside(Task& task) { put_behind(list_of(task), task, true); }
  // Resumes a task if it is suspended.
  void resume(Task& task) {
    if (task.waits) put_behind(waiting_, task, false);
  }
  // Resumes suspended tasks in their order: all, or those of a tube.
  void resume(const Tube* of = nullptr) {
    for (Task* task = waiting_.first(); task != nullptr;) {
      Task* const next = waiting_.after(*task);
      if (of == nullptr || task->tube == of) resume(*task);
      task = next;
    }
  }

  // Continues the tasks. `do_piece(task, budget)` does a piece, counts its steps, stops when its
  // budget is used up, and returns a TaskState. `end(task)` gets a task that is done and has been
  // removed. They may call only answered() and resume() of this object.
  template <typename DoPiece, typename End>
  void work(const Budget& budget, DoPiece do_piece, End end) {
    work(others_, budget.part(awaited_.empty() ? budget.left() : budget.left() / 2), do_piece, end);
    work(awaited_, budget, do_piece, end);
  }

  // Does a piece of a task, which may be suspended.
  template <typename DoPiece, typename End>
  void run_piece(Task& task, const Budget& budget, DoPiece do_piece, End end) {
    List& from = list_of(task);
    const TaskState state = do_piece(task, budget);
    task.is_new = false;
    if (state != TaskState::done) {
      put_behind(from, task, state == TaskState::waits);
      return;
    }
    std::unique_ptr<Task> done = take_from(from, task);
    end(*done);
    done->work = Work{};
    if (spare_ == nullptr) spare_ = std::move(done);
  }

  // Calls `visit(task)` for each task.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const List* list : {&awaited_, &others_, &waiting_}) {
      for (const Task* task = list->first(); task != nullptr; task = list->after(*task)) {
        visit(*task);
      }
    }
  }

 private:
  using List = IntrusiveList<Task, &Task::hook>;

  List& list_of(const Task& task) {
    if (task.waits) return waiting_;
    return task.client == nullptr ? others_ : awaited_;
  }

  void put_behind(List& from, Task& task, bool waits) {
    from.remove(task);
    task.waits = waits;
    list_of(task).push_back(task);
  }

  std::unique_ptr<Task> take_from(List& from, Task& task) {
    from.remove(task);
    if (task.client != nullptr) --awaited_tasks_;
    if (task.tube != nullptr) --task.tube->tasks;
    return std::unique_ptr<Task>(&task);
  }

  template <typename DoPiece, typename End>
  void work(List& tasks, const Budget& budget, DoPiece& do_piece, End& end) {
    while (!budget.is_used_up() && !tasks.empty()) {
      run_piece(tasks.front(), budget.part(turn_limits::kStepsPerPiece), do_piece, end);
    }
  }

  List awaited_;
  List others_;
  List waiting_;
  std::unique_ptr<Task> spare_;  // Memory for the next task, or null.
  std::uint32_t awaited_tasks_ = 0;
};

// Kinds of long tasks of the engine. Each struct is the data of one kind; its Backlog::do_piece()
// does a piece of the task, and answers the client when the task ends.
namespace tasks {

// Kick of jobs in the task's tube.
struct Kick {
  bool of_buried;
  std::uint32_t left;
  std::uint64_t kicked;
};
// Rest of a closed client: jobs to return, and watches to remove.
struct ClosedClient {
  IndexedHeap<DeadlineEntry> jobs;
  PagedArray<Watch*> watches;
  std::unique_ptr<WatchIndex> index;
  ClientRef holder;  // Reference of the client, which stays in use until the end.

  bool empty() const { return jobs.empty() && watches.empty(); }
};
// Flush of the task's tube, which owns the jobs that are yet to be freed.
struct Flush {
  JobStates states;
  // Heaps for the jobs. Null: the flush has begun, and the tube has the heaps. Otherwise the flush
  // waits for another flush of the tube.
  std::unique_ptr<FlushedJobs> room;
  bool is_refused = false;  // The client was answered that the flush failed.
  std::uint64_t flushed = 0;

  bool has_begun() const { return room == nullptr; }
};

// Deletion of several jobs.
struct DeleteBatch {
  std::vector<JobId> ids;  // Sorted, each once.
  std::uint32_t asked;     // Number of ids in the command.
  std::size_t next = 0;    // Index of the next id.
  std::uint32_t deleted = 0;
};

// Change of the mode of reserves for a client with many watches (Watching::change_mode).
struct ModeChange {
  bool weighted;
  std::unique_ptr<WatchWeights> made = {};  // Weights being made, if the client has none.
  bool is_begun = false;                    // The mode is set, but not all offers are in place.
  std::uint32_t next = 0;                   // Index of the watch whose offer is next.
};

// Watch of the task's tube with a weight. It is added when all watches of the client have weights.
struct WeightedWatch {
  std::uint32_t weight;
  std::unique_ptr<WatchWeights> made = {};  // As in ModeChange.
};

// Restart of the TTRs of all jobs that the client holds, from the last entry of its heap to the
// first. A restarted TTR moves its entry only away from the front, so each entry is visited once.
struct TouchAll {
  std::uint32_t left;  // Number of entries at the front that are not done.
  Instant since;       // Start of the TTRs. No TTR of the client ends meanwhile.
};

// Work of the permanent tasks. Each has a row in Backlog::kChores.
enum class Chore : std::uint8_t {
  ended_keys,     // Removal of keys whose time is over.
  late_burials,   // Records of burials that the journal has refused (Tries).
  ended_groups,   // Ends of holds of jobs whose group has ended (Groups).
  list_of_tubes,  // The list of all tubes, written on request (TubeList).
  freed_memory,   // Return of unused memory to the system (Memory).
  ended_waits,    // Deliveries to clients whose awaited job has ended (JobWaits).
};
// A permanent task.
struct Permanent {
  Chore chore;
};

// Work of a LongTasks::Task.
using Work = std::variant<Kick, ClosedClient, Flush, DeleteBatch, ModeChange, WeightedWatch,
                          TouchAll, Permanent>;

}  // namespace tasks

}  // namespace haricot
