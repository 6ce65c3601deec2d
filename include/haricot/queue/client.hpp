// A client: the queue's view of a connection. It has the tube that the connection uses, the tubes
// that it watches, the jobs that it holds, and whether it waits for a job.
//
// Only the engine changes a client. owner() leads from a client to its session.

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

// The result that a client waits for, and the form of the answer.
enum class WaitFor : std::uint8_t {
  job,
  batch,         // A job, reported as the answer to a batch.
  job_or_input,  // A job; input from the client ends the wait.
};
constexpr WaitFor last_of(WaitFor) {
  return WaitFor::job_or_input;
}

class Client {
 public:
  static constexpr std::uint8_t kTimerKind = 2;

  // `owner` is returned with every delivery; the client does not use it.
  explicit Client(void* owner) : owner_(owner) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void* owner() const { return owner_; }
  // Unique until this client is closed and its jobs have been returned. Never 0.
  ClientRef ref() const { return ref_; }
  const Tube& used() const { return *used_; }
  std::uint32_t watched_tubes() const { return watches_.size(); }
  // Requires: index < watched_tubes(). Tubes are in the order of watching, except that the last one
  // takes the position of an ignored one.
  const Tube& watched(std::uint32_t index) const { return *watches_[index]->tube; }
  // Bytes of the names of all watched tubes. Counted from WatchIndex::kIndexedFrom tubes on; 0
  // below.
  std::uint64_t counted_name_bytes() const { return index_ == nullptr ? 0 : index_->name_bytes(); }
  std::uint32_t held_jobs() const { return reserved_.size(); }

  // Returns true if no further command may run: a reserve waits for a job, a long task is in
  // progress, or the client waits for the end of a job.
  bool is_busy() const { return busy_with_ != BusyWith::nothing; }
  bool is_waiting() const { return busy_with_ == BusyWith::reserve; }
  bool is_waiting_for_end() const { return busy_with_ == BusyWith::end_of_job; }
  bool is_waiting_for_input() const { return is_waiting() && waits_for_ == WaitFor::job_or_input; }

 private:
  friend class Engine;
  // Parts of the engine.
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
  // Reason why the client is busy; checked by every command.
  enum class BusyWith : std::uint8_t {
    nothing,
    reserve,     // See Watching.
    task,        // See Backlog.
    end_of_job,  // See JobWaits.
  };
  BusyWith busy_with_ = BusyWith::nothing;
  // In one byte, because every idle connection pays for it.
  WaitFor waits_for_ : 2 = WaitFor::job;  // While busy with a reserve.
  bool is_touching_all_ : 1 = false;      // While busy with a touch-all.
  bool producer_ = false;                 // Has sent a put.
  bool worker_ = false;                   // Has sent a reserve.
  Tube* used_ = nullptr;
  PagedArray<Watch*> watches_;
  std::unique_ptr<WatchIndex> index_;      // Null until there are kIndexedFrom watches.
  std::unique_ptr<WatchWeights> weights_;  // Null: all weights are 1, and reserves go by priority.
  // Held jobs, ordered by the end of their TTRs.
  IndexedHeap<DeadlineEntry> reserved_;
  // Fires at the end of the current wait or of the first TTR, whichever is earlier; while the
  // client waits for a job, kDeadlineMargin before the end of the TTR.
  Timer timer_{kTimerKind, this};
  Instant wait_end_ = Instant::never();
};

}  // namespace haricot
