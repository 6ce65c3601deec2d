// Long tasks: what is too long for one call of the engine and is done a piece at a time.
//
// The tasks take turns. In its turn a task does a bounded piece, and goes behind the others if it
// is not done. So the oldest task is served first, and a short task does not wait for the end of a
// long one. Tasks that a client waits for have a list of their own. While there are such tasks, the
// others take half of a call at most. A task that has to wait is put aside until resume().
//
// A task that is always there has nobody who waits for it, and waits itself as long as there is
// nothing for it to do.
//
// What a task does is its `Work`, of which nothing is known here. A task keeps its tube in
// existence (Tube::tasks).

#pragma once

#include <cstdint>
#include <memory>

#include "haricot/base/budget.hpp"
#include "haricot/base/intrusive_list.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/tube.hpp"

namespace haricot {

// How a task is after a piece of it.
enum class TaskState : std::uint8_t {
  done,
  goes_on,
  waits,  // For something that may be long in coming.
};

template <typename Work>
class LongTasks {
 public:
  struct Task {
    Client* client = nullptr;  // Who waits for the end of it; null: nobody.
    Tube* tube = nullptr;      // Null: it needs none.
    Work work{};
    bool waits = false;  // It was put aside.
    bool is_new = true;  // It has yet to do its first piece.
    ListHook hook{};
  };

  LongTasks() = default;
  LongTasks(const LongTasks&) = delete;
  LongTasks& operator=(const LongTasks&) = delete;
  ~LongTasks() {
    while (take_first() != nullptr) continue;
  }

  // Whether there is work: a task that can do a piece now.
  bool can_go_on() const { return !awaited_.empty() || !others_.empty(); }
  // How many have a client that waits.
  std::uint32_t awaited() const { return awaited_tasks_; }

  // Makes sure of the memory for one more task. Throws std::bad_alloc, and nothing has changed.
  void allocate_task() {
    if (spare_ == nullptr) spare_ = std::make_unique<Task>();
  }
  // A new task, whose work is the caller's to fill in. Requires: allocate_task() since the last
  // one.
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

  // The task that a client waits for; null if there is none. O(tasks).
  Task* find(const Client& client) {
    for (List* list : {&awaited_, &waiting_}) {
      for (Task* task = list->first(); task != nullptr; task = list->after(*task)) {
        if (task->client == &client) return task;
      }
    }
    return nullptr;
  }
  // Takes out a task.
  std::unique_ptr<Task> take(Task& task) { return take_from(list_of(task), task); }
  // Takes out any; null if there is none.
  std::unique_ptr<Task> take_first() {
    for (List* list : {&awaited_, &others_, &waiting_}) {
      if (!list->empty()) return take(list->front());
    }
    return nullptr;
  }
  // The client of the task is gone; the task goes on, and nobody waits for it.
  void forget_client(Task& task) {
    List& from = list_of(task);
    answered(task);
    put_behind(from, task, task.waits);
  }
  // The client of the task has its answer; the task goes on. To be called in its step.
  void answered(Task& task) {
    --awaited_tasks_;
    task.client = nullptr;
  }
  // As if its step had answered that it waits.
  void put_aside(Task& task) { put_behind(list_of(task), task, true); }
  // One goes on that was put aside; if it was not, nothing happens.
  void resume(Task& task) {
    if (task.waits) put_behind(waiting_, task, false);
  }
  // Has those that were put aside go on, in the order in which they were: all, or those of a tube.
  void resume(const Tube* of = nullptr) {
    for (Task* task = waiting_.first(); task != nullptr;) {
      Task* const next = waiting_.after(*task);
      if (of == nullptr || task->tube == of) resume(*task);
      task = next;
    }
  }

  // Goes on with the tasks. `step(task, budget)` does a piece, counts its steps, stops when its
  // budget is used up, and returns a TaskState; `end(task)` gets one that is done, and that is no
  // longer among the others. Neither calls anything here, but for answered() and resume().
  template <typename DoPiece, typename End>
  void work(const Budget& budget, DoPiece do_piece, End end) {
    work(others_, budget.part(awaited_.empty() ? budget.left() : budget.left() / 2), do_piece, end);
    work(awaited_, budget, do_piece, end);
  }

  // Does a piece of that task, which may be one that was put aside.
  template <typename DoPiece, typename End>
  void go_on_with(Task& task, const Budget& budget, DoPiece do_piece, End end) {
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

  // Calls `visit(task)` for each.
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
      go_on_with(tasks.front(), budget.part(turn_limits::kStepsPerPiece), do_piece, end);
    }
  }

  List awaited_;
  List others_;
  List waiting_;
  std::unique_ptr<Task> spare_;  // The place of the next one; null: it has to be made.
  std::uint32_t awaited_tasks_ = 0;
};

}  // namespace haricot
