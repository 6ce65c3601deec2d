// Arguments and results of the engine: plain values that own nothing.

#pragma once

#include <cstdint>
#include <string_view>

#include "haricot/base/job_tags.hpp"
#include "haricot/base/time.hpp"
#include "haricot/queue/burial_times.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/tube.hpp"
#include "haricot/queue/tube_times.hpp"

namespace haricot {

// Outcome of a command. The comment on each command lists the possible ones.
enum class Outcome : std::uint8_t {
  done,
  not_found,
  buried,   // The job was buried, or was buried already.
  waiting,  // A delivery will have the answer.
  timed_out,
  deadline_soon,
  only_watched,  // The client watches no other tube.
  out_of_memory,
  journal_failed,
  not_yet,  // The journal waits for its disk. Nothing has changed; repeat the call.
  // A job of the tube has the key of the put, or a deleted one still keeps it: see
  // Engine::duplicate().
  duplicate,
  too_big,  // The tags of the put and those of its rule have no room together.
};

struct NewJob {
  JobId id = 0;  // From take_id().
  std::uint32_t priority = 0;
  std::uint32_t delay_s = 0;
  std::uint32_t ttr_s = 0;     // 0 becomes 1.
  std::string_view tags = {};  // Text (base/job_tags.hpp); used during the call only.
  // The parsed tags; null: put() parses them.
  const ReadTags* read_tags = nullptr;
};

// The job that has the key of a put, or its tombstone.
struct DuplicatePut {
  JobRef job = JobRef::none;
  bool is_raised = false;   // The put was more urgent; the job now has its priority.
  bool is_deleted = false;  // `job` is a tombstone: see JobStore::create_tombstone().
};

// A job that the journal restores.
struct RestoredJob {
  JobId id = 0;
  Instant created;
  std::uint32_t priority = 0;
  std::uint32_t delay_s = 0;
  std::uint32_t ttr_s = 0;           // 0 becomes 1.
  JobState state = JobState::ready;  // Never reserved.
  JobCounts counters{};
  std::string_view tags = {};  // As in NewJob.
  TagFacts facts = {};
};

// Result of placing a key that outlived its job and that the journal restores.
enum class PlacedKey : std::uint8_t {
  taken,  // The key is taken until its end.
  over,   // Its time is over, or it is taken already; the caller destroys the tombstone.
  no_memory,
};

struct ReserveResult {
  Outcome outcome;
  JobRef job = JobRef::none;
};

// Bound of one answer: `fits` returns true if a job fits into it. The first job is taken in any
// case.
struct BatchBound {
  bool (*fits)(void* context, std::uint32_t body_bytes) = nullptr;
  void* context = nullptr;
};

// Result of a scan of jobs in the order of their ids.
struct ScanResult {
  JobId next = 0;  // Id at which the next scan begins; 0: there are no more jobs.
  std::uint32_t scanned = 0;
};

// Result for a client that waited, or answer to a long task. The client is no longer busy.
struct Delivery {
  enum class Kind : std::uint8_t {
    reserved,
    reserved_in_batch,  // Answer to a batch; without a job if none came in time.
    timed_out,
    deadline_soon,
    aborted,
    mode_fifo,      // Reserves go by priority from now on.
    mode_weighted,  // Reserves go by weight from now on.
    watching,       // The tube is watched, with a weight.
    out_of_memory,  // Nothing has changed.
    touched_all,
    job_not_found,  // The awaited job does not exist on this server.
    kicked,
    flushed,
    batch_deleted,
    job_deleted,  // The awaited job was deleted.
    job_buried,
    failed,  // The journal has refused; earlier changes remain.
  };
  Client* client;
  Kind kind;
  bool is_at_once = false;      // The long task has ended within its command.
  std::uint16_t not_found = 0;  // batch_deleted: number of ids without a job to delete.
  JobRef job = JobRef::none;    // reserved, reserved_in_batch: the job, now held by the client.
  std::uint64_t count = 0;  // Long task: jobs moved, touched or deleted. watching: watched tubes.

  // Returns true if the answer may report changes that were recorded after the command returned.
  bool reports_later_records() const { return reports_changes(kind) && !is_at_once; }
  // Returns true for answers that report recorded changes of jobs, or a failure that may follow
  // some. Reserves and touches are not recorded.
  static constexpr bool reports_changes(Kind kind) {
    switch (kind) {
      case Kind::kicked:
      case Kind::flushed:
      case Kind::batch_deleted:
      case Kind::job_deleted:
      case Kind::job_buried:
      case Kind::failed:
        return true;
      case Kind::reserved:
      case Kind::reserved_in_batch:
      case Kind::timed_out:
      case Kind::deadline_soon:
      case Kind::aborted:
      case Kind::mode_fifo:
      case Kind::mode_weighted:
      case Kind::watching:
      case Kind::out_of_memory:
      case Kind::touched_all:
      case Kind::job_not_found:
        return false;
    }
    return true;
  }
};

// Current numbers, and totals since the start; correct at all times.
struct EngineCounts {
  std::uint64_t urgent = 0;
  std::uint64_t ready = 0;
  std::uint64_t reserved = 0;
  std::uint64_t delayed = 0;
  std::uint64_t buried = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t total_jobs = 0;
  std::uint64_t refused_puts = 0;  // By the limit of memory.
  std::uint32_t clients = 0;
  std::uint32_t producers = 0;
  std::uint32_t workers = 0;
  std::uint32_t waiting = 0;
  std::uint32_t waiting_for_end = 0;  // Clients that wait for the end of a job.
  std::uint32_t beyond_limit = 0;     // Sum of Tube::beyond_limit.
};

// Times of a tube. An age is 0 if there is no such job.
struct TubeDetail {
  std::uint64_t oldest_ready_s = 0;
  std::uint64_t oldest_buried_s = 0;
  TimeSummary queued = {};
  TimeSummary worked = {};
  std::uint64_t buried_by_tries = 0;
  std::uint32_t beyond_limit = 0;
  std::string_view rule = {};  // The tags that a rule adds to puts. Valid until the rules change.
};

// Values for stats-job.
struct JobReport {
  JobId id;
  const Tube* tube;
  JobState state;
  std::uint32_t priority;
  std::uint32_t delay_s;
  std::uint32_t ttr_s;
  std::uint64_t age_s;
  std::uint64_t time_left_s;
  std::uint64_t file;  // Journal file with the job's full record, or 0.
  std::uint32_t body_bytes;
  std::uint64_t reserves, timeouts, releases, buries, kicks;
  std::string_view tags = {};                       // Text, valid while the job exists.
  std::string_view note = {};                       // Valid while the job exists and has this note.
  bool is_held = false;                             // The job waits for a group.
  ClientRef holder{};                               // 0: not reserved, or the holder is gone.
  std::uint64_t reserved_for_s = 0;                 // Since the reserve; 0 without a holder.
  BurialCause burial_cause = BurialCause::unknown;  // Buried jobs only.
  std::uint64_t buried_s = 0;  // Seconds since the burial; buried jobs with a known cause only.
};

}  // namespace haricot
