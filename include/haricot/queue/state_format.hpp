// The format of an engine's state: plain values, each with its list of fields.

#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "haricot/base/serialization.hpp"
#include "haricot/base/time.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/engine_results.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/time_histogram.hpp"
#include "haricot/queue/tube.hpp"
#include "haricot/queue/tube_times.hpp"

namespace haricot::state_format {

// Parts of a state. These numbers belong to the format and never change.
enum Entry : std::uint32_t {
  kEngine = 1,
  kTube = 2,
  kJob = 3,
  kBurials = 4,
  kTombstone = 5,
  kClient = 6,
  kWaits = 7,
  kJobWaits = 8,  // Absent if there are none.
};

struct Engine {
  JobId next_id = 0;
  std::uint64_t arrivals = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t total_jobs = 0;
  std::uint64_t refused_puts = 0;
  std::uint32_t tubes = 0;
  std::uint64_t jobs = 0;
  std::uint64_t tombstones = 0;

  using Fields =
      FieldList<&Engine::next_id, &Engine::arrivals, &Engine::timeouts, &Engine::total_jobs,
                &Engine::refused_puts, &Engine::tubes, &Engine::jobs, &Engine::tombstones>;
};

struct Tube {
  std::string_view name;
  bool paused = false;
  Instant pause_end;
  std::uint32_t pause_s = 0;
  std::uint64_t total_jobs = 0;
  std::uint64_t deletes = 0;
  std::uint64_t pauses = 0;
  std::uint64_t buried_by_tries = 0;
  bool has_times = false;

  using Fields =
      FieldList<&Tube::name, &Tube::paused, &Tube::pause_end, &Tube::pause_s, &Tube::total_jobs,
                &Tube::deletes, &Tube::pauses, &Tube::buried_by_tries, &Tube::has_times>;
};

// Times of a tube, without the ages of its jobs.
struct Times {
  Instant period_end;
  TimeHistogram queued;
  TimeHistogram worked;
};

struct Tombstone {
  JobId id = 0;
  std::string_view tube_name;
  std::string_view key;
  std::uint32_t seconds = 0;
  Instant end;

  using Fields = FieldList<&Tombstone::id, &Tombstone::tube_name, &Tombstone::key,
                           &Tombstone::seconds, &Tombstone::end>;
};

// A job that a client holds.
struct Hold {
  JobId id = 0;
  Instant deadline;
  std::uint64_t arrival = 0;

  using Fields = FieldList<&Hold::id, &Hold::deadline, &Hold::arrival>;
};

struct Wait {
  std::uint32_t client = 0;  // Its index.
  Instant end;
  WaitFor waits_for = WaitFor::job;

  using Fields = FieldList<&Wait::client, &Wait::end, &Wait::waits_for>;
};

// A wait for the end of a job.
struct JobWait {
  std::uint32_t client = 0;  // Its index.
  JobId id = 0;
  Instant end;

  using Fields = FieldList<&JobWait::client, &JobWait::id, &JobWait::end>;
};

struct Job {
  JobId id = 0;
  std::uint32_t tube = 0;  // Index among the tubes as they were written.
  JobState state = JobState::ready;
  Instant created;
  Instant ready_since;        // Ready jobs only.
  Instant deadline;           // Delayed jobs only: the end of the delay.
  std::uint64_t arrival = 0;  // Delayed jobs only: order among equal deadlines.
  bool is_held = false;       // The job waits for a group.
  std::uint32_t priority = 0;
  std::uint32_t delay_s = 0;
  std::uint32_t ttr_s = 0;
  std::uint32_t body_bytes = 0;
  std::array<std::uint32_t, kJobEvents> counters{};
  std::string_view tags;
  // The limit of the job's lane and the job whose put has set it; equal for all jobs of the lane.
  std::uint32_t lane_limit = 0;
  JobId lane_limit_from = 0;
  std::string_view body;  // Empty: the journal has it.

  using Fields = FieldList<&Job::id, &Job::tube, &Job::state, &Job::created, &Job::ready_since,
                           &Job::deadline, &Job::arrival, &Job::is_held, &Job::priority,
                           &Job::delay_s, &Job::ttr_s, &Job::body_bytes, &Job::counters, &Job::tags,
                           &Job::lane_limit, &Job::lane_limit_from, &Job::body>;
};

// The buried jobs of a tube in their order, and the ends of the runs of BurialRuns.
struct Burials {
  std::uint32_t tube = 0;  // Its index.
  std::uint64_t jobs = 0;  // Number of Burial entries that follow.

  using Fields = FieldList<&Burials::tube, &Burials::jobs>;
};
struct Burial {
  JobId id = 0;
  bool ends_run = false;
  Instant since = {};
  Instant until = {};

  using Fields = FieldList<&Burial::id, &Burial::ends_run, &Burial::since, &Burial::until>;
};

// Sizes of the types that are serialized. A field that is added to one of them has to be added here
// too, unless it can be derived or has a meaning only within its process.
#ifdef __GLIBCXX__
static_assert(sizeof(haricot::Job) == 56);
static_assert(sizeof(haricot::Tube) == 296);
static_assert(sizeof(haricot::TubeTimes) == 504);
static_assert(sizeof(Client) == 136);
static_assert(sizeof(EngineCounts) == 88);
#endif

}  // namespace haricot::state_format
