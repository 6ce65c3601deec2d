// A client: the queue's view of a connection. It stores the tube that the connection uses, the
// tubes that it watches, the jobs that it holds, and whether it waits for a job.
//
// Only the engine changes a client. Each part of the engine changes its own part of it, and reads
// the others. owner() leads from a client to its session.

#pragma once

#include <cstdint>
#include <memory>

#include "haricot/base/heap.hpp"
#include "haricot/base/paged_array.hpp"
#include "haricot/base/timer_wheel.hpp"
#include "haricot/queue/tube.hpp"
#include "haricot/queue/watch_index.hpp"

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

// The tubes that a client watches, in the order of watching, except that the last one takes the
// position of an ignored one. Changed by Watching.
class WatchedTubes {
 public:
  std::uint32_t size() const { return list_.size(); }
  // Requires: index < size().
  const Watch& operator[](std::uint32_t index) const { return *list_[index]; }
  // Returns true if commands must not iterate over the watches (WatchIndex).
  bool are_many() const { return index_ != nullptr && index_->many; }
  // Returns true if reserves go by weight (WatchWeights).
  bool are_weighted() const { return weights_ != nullptr && weights_->in_use; }
  // Null until there are WatchIndex::kIndexedFrom watches.
  const WatchIndex* index() const { return index_.get(); }
  // Null: all weights are 1, and reserves go by priority.
  const WatchWeights* weights() const { return weights_.get(); }

 private:
  friend class Watching;

  PagedArray<Watch*> list_;
  std::unique_ptr<WatchIndex> index_;
  std::unique_ptr<WatchWeights> weights_;
};

// The jobs that a client holds, ordered by the ends of their TTRs. Changed by Places; Watching
// takes them when the client closes.
class HeldJobs {
 public:
  bool empty() const { return heap_.empty(); }
  std::uint32_t size() const { return heap_.size(); }
  // Requires: not empty.
  const DeadlineEntry& first() const { return heap_.top(); }
  const DeadlineEntry& at(std::uint32_t index) const { return heap_.at(index); }
  const IndexedHeap<DeadlineEntry>& heap() const { return heap_; }

 private:
  friend class Places;
  friend class Watching;

  IndexedHeap<DeadlineEntry> heap_;
};

// The reason why a client may not run another command. One part of the engine begins and ends each
// of these activities.
class ClientActivity {
 public:
  bool is_idle() const { return busy_with_ == BusyWith::nothing; }
  bool is_reserve() const { return busy_with_ == BusyWith::reserve; }
  bool is_task() const { return busy_with_ == BusyWith::task; }
  bool is_wait_for_end() const { return busy_with_ == BusyWith::end_of_job; }
  WaitFor waits_for() const { return waits_for_; }           // During a reserve.
  bool is_touching_all() const { return is_touching_all_; }  // During a touch-all.
  Instant wait_end() const { return wait_end_; }

 private:
  friend class Watching;  // reserve
  friend class Backlog;   // task
  friend class JobWaits;  // end_of_job

  enum class BusyWith : std::uint8_t { nothing, reserve, task, end_of_job };

  Instant wait_end_ = Instant::never();
  BusyWith busy_with_ = BusyWith::nothing;
  // In one byte, because every idle connection pays for it.
  WaitFor waits_for_ : 2 = WaitFor::job;
  bool is_touching_all_ : 1 = false;
};

class Client {
 public:
  static constexpr std::uint8_t kTimerKind = 2;

  // `owner` is returned by owner(); the client does not use it.
  explicit Client(void* owner) : owner_(owner) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void* owner() const { return owner_; }
  // Unique until this client is closed and its jobs have been returned. Never 0.
  ClientRef ref() const { return ref_; }
  const Tube& used() const { return *used_; }
  std::uint32_t watched_tubes() const { return watches_.size(); }
  // Requires: index < watched_tubes(). The order is that of WatchedTubes.
  const Tube& watched(std::uint32_t index) const { return *watches_[index].tube; }
  // Bytes of the names of all watched tubes; 0 for a client with fewer than
  // WatchIndex::kIndexedFrom tubes, because theirs are not counted.
  std::uint64_t counted_name_bytes() const {
    return watches_.index() == nullptr ? 0 : watches_.index()->name_bytes();
  }
  std::uint32_t held_jobs() const { return held_.size(); }
  bool is_producer() const { return producer_; }
  bool is_worker() const { return worker_; }

  // Returns true if no further command may run: a reserve waits for a job, a long task is in
  // progress, or the client waits for the end of a job.
  bool is_busy() const { return !activity_.is_idle(); }
  bool is_waiting() const { return activity_.is_reserve(); }
  bool is_waiting_for_end() const { return activity_.is_wait_for_end(); }
  bool is_waiting_for_input() const {
    return is_waiting() && activity_.waits_for() == WaitFor::job_or_input;
  }

  const WatchedTubes& watches() const { return watches_; }
  const HeldJobs& held() const { return held_; }
  HeldJobs& held() { return held_; }
  const ClientActivity& activity() const { return activity_; }
  ClientActivity& activity() { return activity_; }

 private:
  friend class Watching;     // Opens and closes clients, and sets the tube that they use.
  friend struct QueueState;  // Sets their timers and marks.
  friend class Inspection;

  void* owner_;
  // Without an address of its own, so that the flags after it use its padding: every idle
  // connection pays for a client.
  [[no_unique_address]] ClientActivity activity_;
  bool producer_ = false;  // Has sent a put.
  bool worker_ = false;    // Has sent a reserve.
  ClientRef ref_{};
  Tube* used_ = nullptr;
  WatchedTubes watches_;
  HeldJobs held_;
  // Fires at the end of the current wait or of the first TTR, whichever is earlier; while the
  // client waits for a job, kDeadlineMargin before the end of the TTR.
  Timer timer_{kTimerKind, this};
};

}  // namespace haricot
