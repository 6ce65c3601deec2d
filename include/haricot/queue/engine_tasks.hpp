// The kinds of long tasks of the engine. Each has its data here. Backlog::do_piece() of that kind
// does some of the task, and gives the answer when the task ends. Those at the end are always
// there.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "haricot/base/indexed_heap.hpp"
#include "haricot/base/paged_array.hpp"
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
struct ClosedClient {
  IndexedHeap<DeadlineEntry> jobs;
  PagedArray<Watch*> watches;
  std::unique_ptr<WatchIndex> index;
  ClientRef holder;  // Stays taken until all is done.

  bool empty() const { return jobs.empty() && watches.empty(); }
};
// A flush of the task's tube, which has the jobs that are yet to be freed (backlog_flush.cpp).
struct Flush {
  JobStates states;
  // For the jobs; null: the flush has begun, and the tube has them. If not, another flush of the
  // tube is under way.
  std::unique_ptr<FlushedJobs> room;
  bool is_refused = false;  // By the journal: the client has been told, and the flush goes on.
  std::uint64_t flushed = 0;

  bool has_begun() const { return room == nullptr; }
};

// A deletion of several jobs (backlog_delete.cpp).
struct DeleteBatch {
  std::vector<JobId> ids;  // Each once, in order.
  std::uint32_t asked;     // How many were named.
  std::size_t next = 0;    // The first of those whose jobs are yet to be deleted.
  std::uint32_t deleted = 0;
};

// Another mode of reserves for a client with many watches (Watching::change_mode).
struct ModeChange {
  bool weighted;
  std::unique_ptr<WatchWeights> made = {};  // Of a client without weights, until all are there.
  bool is_begun = false;                    // The client has the mode, and not all of its offers.
  std::uint32_t next = 0;                   // The watch whose offer comes next.
};

// A watch of the task's tube with a weight, which comes as soon as all watches of the client have
// one.
struct WeightedWatch {
  std::uint32_t weight;
  std::unique_ptr<WatchWeights> made = {};  // As in ModeChange.
};

// The TTRs of all jobs that the client holds begin anew, from the last one in its heap to the
// first: a job whose TTR has begun anew only ever moves away from the first.
struct TouchAll {
  std::uint32_t left;  // So many at the front of the heap.
  Instant since;       // When they all begin. No TTR of the client ends meanwhile.
};

// The keys whose time is over are dropped.
struct EndedKeys {};
// The burials that the journal has refused are recorded (Tries).
struct LateBurials {};
// The holds of the jobs end that have waited for groups which have ended (Groups).
struct EndedGroups {};
// The list of all tubes that somebody has asked for is written (TubeList).
struct ListOfTubes {};
// Memory that nobody needs any more goes back to the system (BlobRef).
struct FreedMemory {};
// Those who have waited for the end of a job are told of it (JobWaits).
struct EndedWaits {};

// What a LongTasks::Task does.
using Work =
    std::variant<Kick, ClosedClient, Flush, DeleteBatch, ModeChange, WeightedWatch, TouchAll,
                 EndedKeys, LateBurials, EndedGroups, ListOfTubes, FreedMemory, EndedWaits>;

}  // namespace haricot::engine_tasks
