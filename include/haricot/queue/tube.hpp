// A tube: a named queue of jobs, and the clients that watch it.
//
// A tube exists while a job, a `use`, a `watch` or a long task refers to it; the engine creates and
// frees tubes. Ready jobs are in a binary heap by (priority, id), delayed jobs in a binary heap by
// deadline, and buried jobs in a list in the order of their burial. Reserved jobs are in the heap
// of their holder.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "haricot/base/heap.hpp"
#include "haricot/base/intrusive_list.hpp"
#include "haricot/base/time.hpp"
#include "haricot/base/timer_wheel.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/tube_times.hpp"

namespace haricot {

struct Tube;

// Order of ready jobs: by priority, then by id. Blocked jobs (see Lane) come after all others, in
// the same order. Only the lower 63 bits of ids are compared.
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
  std::uint64_t rank_;  // From the top: blocked, priority, upper bits of the id.
};
static_assert(sizeof(ReadyEntry) == 16, "every ready job pays for one");

// Heap of ready jobs. It keeps room for the reserved jobs too, because their return cannot be
// refused (see Places::allocate_ready).
using ReadyHeap = IndexedHeap<ReadyEntry, Freed::kept>;

// Entry of a heap by deadline. Commands of one batch may produce equal deadlines. Then the entry
// that was added first comes first, as if the clock had been read between the commands.
struct DeadlineEntry {
  Instant deadline;
  std::uint64_t arrival;  // Sequence number, assigned by Places.
  JobRef job;
  // Reserved job whose TTR was restarted: the time of the reserve. Otherwise 0.
  CoarseInstant reserved_at{};

  // Returns the seconds since the reserve of a job with this TTR.
  std::uint64_t reserved_for_s(std::uint32_t ttr_s, Instant now) const {
    if (reserved_at != CoarseInstant{}) return reserved_at.whole_seconds_until(now);
    return (now - (deadline - Duration::seconds(ttr_s))).whole_seconds();
  }
  // Restarts the TTR of a reserved job as of `since`.
  void restart(std::uint32_t ttr_s, Instant since) {
    const Duration ttr = Duration::seconds(ttr_s);
    if (reserved_at == CoarseInstant{}) reserved_at = CoarseInstant(deadline - ttr);
    deadline = since + ttr;
  }

  bool operator<(const DeadlineEntry& other) const {
    return deadline != other.deadline ? deadline < other.deadline : arrival < other.arrival;
  }
};

// A tube watched by a client: an entry of the client's watch list, and of the tube's list of
// waiting clients while the client waits. Owned by the client's watch list.
struct Watch {
  static constexpr std::uint32_t kNoOffer = ~std::uint32_t{0};

  ClientRef client{};
  std::uint32_t index = 0;  // Index in the client's watch list.
  Tube* tube = nullptr;
  union {
    // Client with few watches, while it waits: see WatchIndex::wait_number.
    std::uint64_t wait_number = 0;
    // Client with many watches: index among its offers, or kNoOffer.
    std::uint32_t offer;
  };
  ListHook in_tube;  // Link in Tube::watchers.
  // Few watches: link in Tube::waiting while the client waits. Many: link in WatchIndex::behind_.
  ListHook waiting;
};
static_assert(sizeof(Watch) == 56, "every idle connection pays for one");

// Jobs that a flush has taken out of their tube and not freed yet. Their heap indexes refer to
// these heaps.
struct FlushedJobs {
  ReadyHeap ready;
  IndexedHeap<DeadlineEntry> delayed;
  JobRef first_buried = JobRef::none;

  bool empty() const { return ready.empty() && delayed.empty() && first_buried == JobRef::none; }
};

struct Tube {
  static constexpr std::uint8_t kTimerKind = 1;

  // Owned by the tube. The table of tubes refers to it.
  std::string name;
  TubeRef ref{};
  std::uint32_t rule = 0;  // Number of its tags: see Rules.

  // Links of the table of tubes by name.
  std::uint64_t hash = 0;
  Tube* next_in_bucket = nullptr;

  ReadyHeap ready;  // Blocked jobs come after all others.
  IndexedHeap<DeadlineEntry> delayed;
  JobRef first_buried = JobRef::none;
  JobRef last_buried = JobRef::none;
  // Copied into each job that is buried. A flush that takes the list inverts it, so that its jobs
  // differ from those buried later.
  bool burial_side = false;
  std::uint32_t beyond_limit = 0;  // Sum of Lane::ready_beyond_limit() over its lanes.

  std::unique_ptr<FlushedJobs> flushed;  // Null: no flush of the tube is in progress.

  // The first `many_watchers` elements belong to clients with many watches (WatchIndex).
  IntrusiveList<Watch, &Watch::in_tube> watchers;
  // Waiting clients with few watches, in the order of their arrival.
  IntrusiveList<Watch, &Watch::waiting> waiting;

  // Fires at the first deadline of a delayed job or the end of the pause, whichever is earlier;
  // immediately if the tube is behind.
  Timer timer{kTimerKind, this};

  bool paused = false;
  // More clients waited than a turn could serve. Later reserves queue behind them.
  bool is_behind = false;
  bool is_to_be_served = false;  // Used by Backlog::plan_deletions() only.
  std::uint32_t tasks = 0;       // Long tasks that refer to the tube.
  Instant pause_end;
  std::uint32_t pause_s = 0;  // As requested; 0 if the tube is not paused.
  std::uint32_t index = 0;    // Index in TubeTable.

  // Statistics, updated with every change.
  std::uint64_t buried = 0;
  std::uint64_t reserved = 0;
  std::uint64_t urgent = 0;  // Ready jobs with a priority below Job::kUrgentPriorities.
  std::uint64_t total_jobs = 0;
  std::uint32_t using_clients = 0;
  std::uint32_t watching_clients = 0;
  std::uint32_t waiting_clients = 0;  // With few watches; see Engine::waiting_clients().
  std::uint32_t many_watchers = 0;
  std::uint64_t deletes = 0;
  std::uint64_t pauses = 0;

  std::unique_ptr<TubeTimes> times;  // Null: nothing was recorded, or memory was short.

  // Include flushed jobs that are not freed yet.
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
  // Returns true if a job may be reserved now.
  bool offers_job() const { return has_open_job() && !is_behind; }
  // Returns true if a job could be reserved, but clients that are already waiting come first.
  bool offers_job_later() const { return is_behind && has_open_job(); }

 private:
  bool has_open_job() const { return !paused && !ready.empty() && !ready.top().is_blocked(); }
};

}  // namespace haricot
