// Long tasks: what is too long for one call of the engine and is done a piece at a time.
//
// The tasks take turns. In each, a task does a bounded step, and goes behind the others if it is
// not done; so who came first is served first, and a short one does not wait for the end of a long
// one. Those that a client waits for are apart from the others, which take half of a call at most
// while there are such.
//
// What a task does is its `Work`, of which nothing is known here. A task keeps its tube in
// existence (Tube::tasks).

#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "haricot/base/intrusive_list.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/tube.hpp"

namespace haricot {

// How a task is behind a step.
enum class TaskState : std::uint8_t {
  done,
  goes_on,
  waits,  // For something that may be long in coming; and so do all of its kind.
};

template <typename Work>
class LongTasks {
 public:
  struct Task {
    Client* client = nullptr;  // Who waits for the end of it; null: nobody.
    Tube* tube = nullptr;      // Null: it needs none.
    Work work{};
    ListHook hook{};
  };

  // The largest step, in jobs.
  static constexpr std::uint32_t kJobsPerStep = 200;

  LongTasks() = default;
  LongTasks(const LongTasks&) = delete;
  LongTasks& operator=(const LongTasks&) = delete;
  ~LongTasks() {
    while (take_first() != nullptr) continue;
  }

  bool empty() const { return awaited_.empty() && others_.empty(); }
  bool has_others() const { return !others_.empty(); }
  // How many have a client that waits.
  std::uint32_t awaited() const { return awaited_tasks_; }

  // Makes sure of the memory for one more task. Throws std::bad_alloc, and nothing has changed.
  void make_room() {
    if (spare_ == nullptr) spare_ = std::make_unique<Task>();
  }
  // A new task, whose work is the caller's to fill in. Requires: make_room() since the last one.
  Task& begin(Client* client, Tube* tube) {
    Task& task = *spare_.release();
    task.client = client;
    task.tube = tube;
    if (tube != nullptr) ++tube->tasks;
    if (client != nullptr) ++awaited_tasks_;
    list_of(task).push_back(task);
    return task;
  }

  // Takes out the task that a client waits for; null if there is none. O(tasks).
  std::unique_ptr<Task> take(const Client& client) {
    Task* task = awaited_.first();
    while (task != nullptr && task->client != &client) task = awaited_.after(*task);
    return task == nullptr ? nullptr : take(*task);
  }
  // Takes out any; null if there is none.
  std::unique_ptr<Task> take_first() {
    if (empty()) return nullptr;
    return take(awaited_.empty() ? others_.front() : awaited_.front());
  }

  // Goes on with the tasks. `step(task, budget)` does something that is worth the budget at most,
  // takes it off the budget, and returns a TaskState; `end(task)` gets one that is done, by a
  // std::unique_ptr. One that waits stays in front, and those behind it are left alone. Neither
  // calls anything here.
  template <typename Step, typename End>
  void work(std::uint32_t budget, Step step, End end) {
    std::uint32_t share = awaited_.empty() ? budget : budget / 2;
    budget -= share;
    work(others_, share, step, end);
    budget += share;
    work(awaited_, budget, step, end);
  }

  // Calls `visit(task)` for each.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const List* list : {&awaited_, &others_}) {
      for (const Task* task = list->first(); task != nullptr; task = list->after(*task)) {
        visit(*task);
      }
    }
  }

 private:
  using List = IntrusiveList<Task, &Task::hook>;

  List& list_of(const Task& task) { return task.client == nullptr ? others_ : awaited_; }

  std::unique_ptr<Task> take(Task& task) {
    list_of(task).remove(task);
    if (task.client != nullptr) --awaited_tasks_;
    if (task.tube != nullptr) --task.tube->tasks;
    return std::unique_ptr<Task>(&task);
  }

  template <typename Step, typename End>
  void work(List& tasks, std::uint32_t& budget, Step& step, End& end) {
    while (budget > 0 && !tasks.empty()) {
      Task& task = tasks.front();
      std::uint32_t piece = std::min(budget, kJobsPerStep);
      budget -= piece;
      const TaskState state = step(task, piece);
      budget += piece;
      if (state == TaskState::waits) return;
      if (state == TaskState::done) {
        end(take(task));
      } else {
        tasks.remove(task);
        tasks.push_back(task);
      }
    }
  }

  List awaited_;
  List others_;
  std::unique_ptr<Task> spare_;  // The place of the next one; null: it has to be made.
  std::uint32_t awaited_tasks_ = 0;
};

}  // namespace haricot
