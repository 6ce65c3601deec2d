// A client: what the queue knows of a connection. The tube it uses, the tubes it watches, the jobs
// it holds, and whether it waits for one.
//
// Only the engine changes a client. Who owns it (a session) gets at it through `owner`.

#pragma once

#include <cstdint>
#include <memory>

#include "haricot/base/indexed_heap.hpp"
#include "haricot/base/paged_array.hpp"
#include "haricot/base/timer_wheel.hpp"
#include "haricot/queue/tube.hpp"
#include "haricot/queue/watch_index.hpp"
#include "haricot/queue/watch_weights.hpp"

namespace haricot {

// What a client waits for, and how it will be told.
enum class WaitFor : std::uint8_t {
  job,
  batch,         // In the answer to a batch, though it is one job.
  job_or_input,  // The same as a job; what the client sends ends the wait.
};
constexpr WaitFor last_of(WaitFor) {
  return WaitFor::job_or_input;
}

class Client {
 public:
  static constexpr std::uint8_t kTimerKind = 2;

  // `owner` is handed back with every delivery; the client does not look at it.
  explicit Client(void* owner) : owner_(owner) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void* owner() const { return owner_; }
  // No other client has it, until this one is closed and its jobs have gone back. Never 0.
  ClientRef ref() const { return ref_; }
  const Tube& used() const { return *used_; }
  std::uint32_t watched_tubes() const { return watches_.size(); }
  // Requires: index < watched_tubes(). The order is that of watching, but for what `ignore` took
  // out.
  const Tube& watched(std::uint32_t index) const { return *watches_[index]->tube; }
  // The bytes of the names of all of them, where they are counted: from WatchIndex::kIndexedFrom
  // tubes on. Else 0.
  std::uint64_t counted_name_bytes() const { return index_ == nullptr ? 0 : index_->name_bytes(); }
  std::uint32_t held_jobs() const { return reserved_.size(); }

  // Nothing after the current command may run: a reserve waits for a job, a long task is under
  // way, or it waits for the end of a job.
  bool is_busy() const { return busy_with_ != BusyWith::nothing; }
  bool is_waiting() const { return busy_with_ == BusyWith::reserve; }
  bool is_waiting_for_end() const { return busy_with_ == BusyWith::end_of_job; }
  bool is_waiting_for_input() const { return is_waiting() && waits_for_ == WaitFor::job_or_input; }

 private:
  friend class Engine;
  // Its parts.
  friend struct QueueState;
  friend class Backlog;
  friend class JobWaits;
  friend class Looks;
  friend class Serving;
  friend class Places;
  friend class StateTransfer;
  friend class Watching;
  friend class Inspection;

  bool has_many_watches() const { return index_ != nullptr && index_->many; }
  bool has_task() const { return busy_with_ == BusyWith::task; }
  bool is_weighted() const { return weights_ != nullptr && weights_->in_use; }

  void* owner_;
  ClientRef ref_{};
  // What it waits for the end of. Each command asks whether that is nothing.
  enum class BusyWith : std::uint8_t {
    nothing,
    reserve,     // Watching
    task,        // Backlog
    end_of_job,  // JobWaits
  };
  BusyWith busy_with_ = BusyWith::nothing;
  // In one byte, as every idle connection pays for it.
  WaitFor waits_for_ : 2 = WaitFor::job;  // If it is busy with a reserve.
  bool is_touching_all_ : 1 = false;      // If it is busy with a task.
  bool producer_ = false;                 // Has put a job.
  bool worker_ = false;                   // Has asked for one.
  Tube* used_ = nullptr;
  PagedArray<Watch*> watches_;
  std::unique_ptr<WatchIndex> index_;      // Null: it watches few tubes.
  std::unique_ptr<WatchWeights> weights_;  // Null: all have weight 1, and no reserve asks for it.
  // The jobs it holds, by the end of their TTR.
  IndexedHeap<DeadlineEntry> reserved_;
  // The sooner of: the end of the first TTR; while it waits, the moment of DEADLINE_SOON and the
  // end of its reserve timeout; the end of its wait for the end of a job.
  Timer timer_{kTimerKind, this};
  Instant wait_end_ = Instant::never();
};

}  // namespace haricot
