// The kinds of long tasks of the engine. Each has its data here. Engine::step() of that kind does
// some of the task, and gives the answer when the task ends (engine_tasks.cpp).

#pragma once

#include <cstdint>
#include <memory>
#include <variant>

#include "haricot/base/indexed_heap.hpp"
#include "haricot/base/paged_array.hpp"
#include "haricot/queue/burial_runs.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/job_store.hpp"
#include "haricot/queue/tube.hpp"
#include "haricot/queue/watch_index.hpp"
#include "haricot/queue/watch_weights.hpp"

namespace haricot::engine_tasks {

// A kick of jobs of the task's tube.
struct Kick {
  bool of_buried;
  std::uint32_t left;
  std::uint64_t kicked;
};
// What a closed client has left behind: jobs that have yet to be given back, and watches of
// tubes.
struct Orphans {
  IndexedHeap<DeadlineSlot> jobs;
  PagedArray<Watch*> watches;
  std::unique_ptr<WatchIndex> index;
  ClientRef holder;  // Stays taken until all is done.

  bool empty() const { return jobs.empty() && watches.empty(); }
};
// A flush, and the jobs that it has taken out of the task's tube (engine_flush.cpp).
struct Flush {
  IndexedHeap<ReadySlot> ready;
  IndexedHeap<DeadlineSlot> delayed;
  JobRef first_buried = JobRef::none;
  JobRef last_buried = JobRef::none;
  std::unique_ptr<BurialRuns> runs = {};  // Of those.
  std::uint32_t burials = 0;              // The number of their list.
  bool wants_buried = false;     // Those are still in the tube: no number was free for a new list.
  bool is_putting_back = false;  // The journal has refused.
  std::uint64_t flushed = 0;

  bool empty() const {
    return ready.empty() && delayed.empty() && first_buried == JobRef::none && !wants_buried;
  }
};

// Another mode of reserves for a client with many watches (engine_weights.cpp).
struct ModeChange {
  bool weighted;
  std::unique_ptr<WatchWeights> made = {};  // Of a client without weights, until all are there.
  bool is_begun = false;                    // The client has the mode, and not all of its offers.
  std::uint32_t next = 0;                   // The watch whose offer comes next.
};

// What a LongTasks::Task does.
using Work = std::variant<Kick, Orphans, Flush, ModeChange>;

}  // namespace haricot::engine_tasks
