// What callers hand to the engine and what it answers: plain values, which own nothing.

#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "haricot/base/job_tags.hpp"
#include "haricot/base/time.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/time_histogram.hpp"
#include "haricot/queue/tube.hpp"

namespace haricot {

// How a command ended. Each command names those that it can have.
enum class Outcome : std::uint8_t {
  done,
  not_found,
  buried,   // There was no memory for the heap the job belongs in, so it is buried instead.
  waiting,  // The answer comes later, as a delivery.
  timed_out,
  deadline_soon,
  only_watched,  // The client watches no other tube.
  out_of_memory,
  journal_failed,
  not_yet,  // The journal waits for its disk. Nothing has changed; the call is to be made again.
  // Another job of the tube has the key of the put, or one had it and is deleted: see
  // Engine::duplicate().
  duplicate,
};

struct NewJob {
  JobId id = 0;  // From take_id().
  std::uint32_t priority = 0;
  std::uint32_t delay_s = 0;
  std::uint32_t ttr_s = 0;     // 0 becomes 1.
  std::string_view tags = {};  // Their text (base/job_tags.hpp). Used during the call only.
  // The same text and what it says, if somebody has read it; null: put() reads it.
  const ReadTags* read_tags = nullptr;
};

// The job that has the key of a put, or its tombstone.
struct DuplicatePut {
  JobRef job = JobRef::none;
  bool is_raised = false;   // The put was more urgent, and the job has its priority now.
  bool is_deleted = false;  // The key has outlived the job: see JobStore::create_tombstone().
};

// A job that the journal brings back.
struct RestoredJob {
  JobId id = 0;
  Instant created;
  std::uint32_t priority = 0;
  std::uint32_t delay_s = 0;
  std::uint32_t ttr_s = 0;           // 0 becomes 1.
  JobState state = JobState::ready;  // Not reserved.
  JobCounts counters{};
  std::string_view tags = {};  // As in NewJob.
};

// What has become of a key that outlived its job, and that the journal brings back.
enum class PlacedKey : std::uint8_t {
  taken,  // It is taken until its end.
  over,   // Its time is over or somebody else has it. The tombstone of the job is left to the
          // caller.
  no_memory,
};

struct ReserveResult {
  Outcome outcome;
  JobRef job = JobRef::none;
};

// How much fits into one answer: asked of each job after the first.
struct BatchBound {
  bool (*fits)(void* context, std::uint32_t body_bytes) = nullptr;
  void* context = nullptr;
};

// What a look at some jobs in the order of their ids has shown.
struct ScanResult {
  JobId next = 0;  // Where the next look goes on; 0: there is no later job.
  std::uint32_t looked_at = 0;
};

// What came to a client that waited, or the answer to a long task. The client is not busy any more.
struct Delivery {
  // What may tell of records that others have made stands behind the rest.
  enum class Kind : std::uint8_t {
    reserved,
    reserved_in_batch,  // The client has asked for a batch. Without a job: none has come.
    timed_out,
    deadline_soon,
    aborted,
    mode_fifo,      // Reserves go by priority from here on,
    mode_weighted,  // or by weight;
    watching,       // With a weight.
    out_of_memory,  // Nothing has changed.
    touched_all,
    job_not_found,  // That the client waits for: it is not among those of this server.
    kicked,
    flushed,
    batch_deleted,
    job_deleted,  // The one that the client waits for.
    job_buried,
    failed,  // The journal has refused; what has gone stays gone.
  };
  Client* client;
  Kind kind;
  bool is_at_once = false;      // Of a long task: it has ended within its command.
  std::uint16_t not_found = 0;  // batch_deleted: of how many ids there was no job to delete.
  JobRef job = JobRef::none;    // reserved, reserved_in_batch: the job, which the client now holds.
  std::uint64_t count = 0;      // Of a long task: how many jobs it has moved, touched or deleted.

  // Whether there may be records of which who ran a command does not know.
  bool may_tell_of_records() const { return kind >= Kind::kicked && !is_at_once; }
};

// Numbers of now and totals since the start, each right at every moment.
struct EngineCounts {
  std::uint64_t urgent = 0;
  std::uint64_t ready = 0;
  std::uint64_t reserved = 0;
  std::uint64_t delayed = 0;
  std::uint64_t buried = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t total_jobs = 0;
  std::uint64_t refused_puts = 0;  // For want of memory below the limit.
  std::uint32_t clients = 0;
  std::uint32_t producers = 0;
  std::uint32_t workers = 0;
  std::uint32_t waiting = 0;
  std::uint32_t waiting_for_end = 0;  // Of a job.
};

// What a tube tells of times. An age is 0 if there is no such job.
struct TubeDetail {
  std::uint64_t oldest_ready_s = 0;
  std::uint64_t oldest_buried_s = 0;
  TimeSummary queued = {};
  TimeSummary worked = {};
  std::uint64_t buried_by_tries = 0;
};

// What stats-job tells.
struct JobReport {
  JobId id;
  const Tube* tube;
  JobState state;
  std::uint32_t priority;
  std::uint32_t delay_s;
  std::uint32_t ttr_s;
  std::uint64_t age_s;
  std::uint64_t time_left_s;
  std::uint64_t file;  // The journal's file with its full record, or 0.
  std::uint32_t body_bytes;
  std::uint64_t reserves, timeouts, releases, buries, kicks;
  std::string_view tags = {};  // Their text, valid as long as the job is.
  bool is_held = false;        // It waits for a group.
  ClientRef holder{};          // Of a reserved job; 0: there is none, or it is gone already.
};

}  // namespace haricot
