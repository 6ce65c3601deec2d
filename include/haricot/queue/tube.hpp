// A tube: a named place for jobs, and the workers that wait for them.
//
// A tube exists while a job, a `use`, a `watch` or a long task refers to it; the engine makes and
// frees tubes. Its jobs are in one of three places: a binary heap of the ready ones by (priority,
// id), a binary heap of the delayed ones by deadline, and a list of the buried ones in the order in
// which they were buried. Reserved jobs are with the client that holds them.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "haricot/base/hash_table.hpp"
#include "haricot/base/indexed_heap.hpp"
#include "haricot/base/intrusive_list.hpp"
#include "haricot/base/timer_wheel.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/tube_times.hpp"

namespace haricot {

struct Tube;

// The order in which ready jobs leave: the smaller priority first, then the smaller id; and after
// them all, in the same order, those that are blocked (see Lane). Ids are told apart by 63 bits.
class ReadyEntry {
 public:
  ReadyEntry() = default;
  ReadyEntry(JobId id, std::uint32_t priority, JobRef job_ref, bool is_blocked = false)
      : job(job_ref),
        low_id_(static_cast<std::uint32_t>(id)),
        rank_(std::uint64_t{is_blocked} << 63 | std::uint64_t{priority} << kHighIdBits |
              (id >> 32 & kHighIdMask)) {}

  JobId id() const { return (rank_ & kHighIdMask) << 32 | low_id_; }
  std::uint32_t priority() const { return static_cast<std::uint32_t>(rank_ >> kHighIdBits); }
  bool is_blocked() const { return rank_ >> 63 != 0; }

  bool operator<(const ReadyEntry& other) const {
    return rank_ != other.rank_ ? rank_ < other.rank_ : low_id_ < other.low_id_;
  }
  bool operator==(const ReadyEntry& other) const = default;

  JobRef job;

 private:
  static constexpr unsigned kHighIdBits = 31;
  static constexpr std::uint64_t kHighIdMask = (std::uint64_t{1} << kHighIdBits) - 1;

  std::uint32_t low_id_;
  std::uint64_t rank_;  // From the highest bit on: blocked, priority, the other bits of the id.
};
static_assert(sizeof(ReadyEntry) == 16, "every ready job pays for one");

// Heap of ready jobs. It keeps room for the reserved jobs, whose return cannot be refused (see
// Places::allocate_ready).
using ReadyHeap = IndexedHeap<ReadyEntry, Freed::kept>;

// Jobs by a deadline. Jobs of commands that came in one batch can have equal deadlines. Then the
// job that entered the heap first comes first, as if the clock had been read between the commands.
struct DeadlineEntry {
  Instant deadline;
  std::uint64_t arrival;  // Counted by the engine.
  JobRef job;

  bool operator<(const DeadlineEntry& other) const {
    return deadline != other.deadline ? deadline < other.deadline : arrival < other.arrival;
  }
};

// One client watching one tube: an entry in the client's watch list, and the client's place among
// the tube's waiting workers while it waits. Owned by the client's watch list.
struct Watch {
  static constexpr std::uint32_t kNoOffer = ~std::uint32_t{0};

  ClientRef client{};
  std::uint32_t index = 0;  // The index in the client's watch list.
  Tube* tube = nullptr;
  union {
    // Of a client with few watches, while it waits: as WatchIndex::wait_number.
    std::uint64_t wait_number = 0;
    // Of a client with many watches: the index among the offers, or kNoOffer.
    std::uint32_t offer;
  };
  ListHook in_tube;  // In Tube::watchers.
  // Few watches: in Tube::waiting while the client waits. Many: in WatchIndex::behind_.
  ListHook waiting;
};
static_assert(sizeof(Watch) == 56, "every idle connection pays for one");

// The jobs that a flush has taken out of their tube, and that are yet to be freed. Their indexes
// are those in these heaps.
struct FlushedJobs {
  ReadyHeap ready;
  IndexedHeap<DeadlineEntry> delayed;
  JobRef first_buried = JobRef::none;

  bool empty() const { return ready.empty() && delayed.empty() && first_buried == JobRef::none; }
};

struct Tube {
  static constexpr std::uint8_t kTimerKind = 1;

  // The name is not a std::string_view into the table: a tube is found by name and names itself.
  std::string name;
  TubeRef ref{};

  // Links of the engine's table of tubes by name.
  std::uint64_t hash = 0;
  Tube* next_in_bucket = nullptr;

  ReadyHeap ready;  // The blocked ones are after all others.
  IndexedHeap<DeadlineEntry> delayed;
  JobRef first_buried = JobRef::none;
  JobRef last_buried = JobRef::none;
  // Those jobs say this of themselves. A flush that takes the list away turns it over, so that they
  // differ from those that are buried meanwhile.
  bool burial_side = false;

  std::unique_ptr<FlushedJobs> flushed;  // Null: no flush of the tube is under way.

  // Those of clients with many watches (WatchIndex) are in front, and `many_watchers` is how many.
  IntrusiveList<Watch, &Watch::in_tube> watchers;
  // Of the clients with few watches that wait, in order of arrival.
  IntrusiveList<Watch, &Watch::waiting> waiting;

  // The sooner of the first delayed job's deadline and the end of the pause; now if it is behind.
  Timer timer{kTimerKind, this};

  bool paused = false;
  // More workers waited for its jobs than a turn could serve. Later reserves queue behind them.
  bool is_behind = false;
  bool is_to_be_served = false;  // After the deletions that are being planned.
  std::uint32_t tasks = 0;       // Long tasks that it has to outlive.
  Instant pause_end;
  std::uint32_t pause_s = 0;  // As asked for; 0 when the tube is not paused.
  std::uint32_t index = 0;    // The index in the engine's list of tubes.

  // Numbers for the statistics, kept right at every change.
  std::uint64_t buried = 0;
  std::uint64_t reserved = 0;
  std::uint64_t urgent = 0;  // Ready ones with a priority below Job::kUrgentPriorities.
  std::uint64_t total_jobs = 0;
  std::uint32_t using_clients = 0;
  std::uint32_t watching_clients = 0;
  std::uint32_t waiting_clients = 0;  // With few watches: see Engine::waiting_clients().
  std::uint32_t many_watchers = 0;
  std::uint64_t deletes = 0;
  std::uint64_t pauses = 0;

  std::unique_ptr<TubeTimes> times;  // Null: there was nothing to keep, or no memory for it.

  // With those that are flushed and not freed yet.
  std::uint64_t ready_jobs() const {
    return std::uint64_t{ready.size()} + (flushed == nullptr ? 0 : flushed->ready.size());
  }
  std::uint64_t delayed_jobs() const {
    return std::uint64_t{delayed.size()} + (flushed == nullptr ? 0 : flushed->delayed.size());
  }
  bool has_jobs() const { return !ready.empty() || !delayed.empty() || buried > 0 || reserved > 0; }
  bool is_referenced() const {
    return using_clients > 0 || watching_clients > 0 || has_jobs() || tasks > 0;
  }
  // Has a job that a worker may get now.
  bool offers_job() const { return has_open_job() && !is_behind; }
  // Has a job, but clients that wait already come first.
  bool offers_job_later() const { return is_behind && has_open_job(); }

 private:
  bool has_open_job() const { return !paused && !ready.empty() && !ready.top().is_blocked(); }
};

}  // namespace haricot
