// Kinds of long tasks of the engine. Each struct is the data of one kind; its Backlog::do_piece()
// does a piece of the task, and answers the client when the task ends. The permanent tasks come
// last.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "haricot/base/heap.hpp"
#include "haricot/base/paged_array.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/job_store.hpp"
#include "haricot/queue/tube.hpp"
#include "haricot/queue/watch_index.hpp"
#include "haricot/queue/watch_weights.hpp"

namespace haricot::engine_tasks {

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
// Flush of the task's tube, which owns the jobs that are yet to be freed (backlog_flush.cpp).
struct Flush {
  JobStates states;
  // Heaps for the jobs. Null: the flush has begun, and the tube has the heaps. Otherwise the flush
  // waits for another flush of the tube.
  std::unique_ptr<FlushedJobs> room;
  bool is_refused = false;  // The client was answered that the flush failed.
  std::uint64_t flushed = 0;

  bool has_begun() const { return room == nullptr; }
};

// Deletion of several jobs (backlog_delete.cpp).
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

// Removal of keys whose time is over.
struct EndedKeys {};
// Records of burials that the journal has refused (Tries).
struct LateBurials {};
// Ends of holds of jobs whose group has ended (Groups).
struct EndedGroups {};
// The list of all tubes, written on request (TubeList).
struct ListOfTubes {};
// Return of unused memory to the system (Memory).
struct FreedMemory {};
// Deliveries to clients whose awaited job has ended (JobWaits).
struct EndedWaits {};

// Work of a LongTasks::Task.
using Work =
    std::variant<Kick, ClosedClient, Flush, DeleteBatch, ModeChange, WeightedWatch, TouchAll,
                 EndedKeys, LateBurials, EndedGroups, ListOfTubes, FreedMemory, EndedWaits>;

}  // namespace haricot::engine_tasks
