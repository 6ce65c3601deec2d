// Serializes the jobs, tubes and clients of an engine: the predecessor writes them, and its
// successor reads them.
//
// The order is: engine, clients, waits. The state contains facts, such as the time of a put and the
// end of a TTR. The reader repeats the calls that led to them, and thereby rebuilds derived data
// such as heaps, counts and lanes. Instants are times of the machine's monotonic clock, so they
// remain valid.
//
// With a journal, bodies are not written: the new engine has the jobs already, and the state adds
// what the journal does not keep. An engine with a journal also accepts jobs from a state with
// bodies, besides those that its journal has restored; the journal has to record them then. The
// rest of the engine must be at rest: see is_at_rest().

#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "haricot/base/serialization.hpp"
#include "haricot/base/time.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/engine_results.hpp"
#include "haricot/queue/groups.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/job_waits.hpp"
#include "haricot/queue/keys.hpp"
#include "haricot/queue/lanes.hpp"
#include "haricot/queue/places.hpp"
#include "haricot/queue/queue_state.hpp"
#include "haricot/queue/restoring.hpp"
#include "haricot/queue/serving.hpp"
#include "haricot/queue/tube.hpp"
#include "haricot/queue/tube_times.hpp"
#include "haricot/queue/watching.hpp"

namespace haricot {

// The format of an engine's state: plain values, each with its list of fields.
namespace state_format {

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
  CoarseInstant reserved_at{};

  using Fields = FieldList<&Hold::id, &Hold::deadline, &Hold::arrival, &Hold::reserved_at>;
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
  TagFacts facts;
  // The limit of the job's lane and the job whose put has set it; equal for all jobs of the lane.
  std::uint32_t lane_limit = 0;
  JobId lane_limit_from = 0;
  // Empty: the journal has them.
  std::string_view note;
  std::string_view body;

  using Fields =
      FieldList<&Job::id, &Job::tube, &Job::state, &Job::created, &Job::ready_since, &Job::deadline,
                &Job::arrival, &Job::is_held, &Job::priority, &Job::delay_s, &Job::ttr_s,
                &Job::body_bytes, &Job::counters, &Job::tags, &Job::facts, &Job::lane_limit,
                &Job::lane_limit_from, &Job::note, &Job::body>;
};

// The buried jobs of a tube in their order.
struct Burials {
  std::uint32_t tube = 0;  // Its index.
  std::uint64_t jobs = 0;  // Number of Burial entries that follow.

  using Fields = FieldList<&Burials::tube, &Burials::jobs>;
};
struct Burial {
  JobId id = 0;
  Instant since = {};
  std::uint8_t cause = 0;  // A BurialCause, perhaps one of a later version.

  using Fields = FieldList<&Burial::id, &Burial::since, &Burial::cause>;
};

// Sizes of the types that are serialized. A field that is added to one of them has to be added here
// too, unless it can be derived or has a meaning only within its process.
#ifdef __GLIBCXX__
static_assert(sizeof(haricot::Job) == 56);
static_assert(sizeof(haricot::Tube) == 296);
static_assert(sizeof(haricot::TubeTimes) == 496);
static_assert(sizeof(Client) == 136);
static_assert(sizeof(EngineCounts) == 88);
static_assert(sizeof(TagFacts) == 4);
#endif

}  // namespace state_format

// Where the bodies of jobs are.
enum class Bodies : std::uint8_t { in_state, in_journal };
constexpr Bodies last_of(Bodies) {
  return Bodies::in_journal;
}

class EngineSerializer {
 public:
  EngineSerializer(QueueState& state, LaneOrder& lanes, Keys& keys, Groups& groups, Places& places,
                   Restoring& restoring, Watching& watching, Serving& offers, JobWaits& job_waits)
      : state_(state),
        lanes_(lanes),
        keys_(keys),
        groups_(groups),
        places_(places),
        restoring_(restoring),
        watching_(watching),
        offers_(offers),
        job_waits_(job_waits) {}
  EngineSerializer(const EngineSerializer&) = delete;
  EngineSerializer& operator=(const EngineSerializer&) = delete;

  // Writes everything except the clients.
  void write(StateWriter& to, Bodies bodies) const;
  enum class Read : std::uint8_t {
    good,
    // The journal has other jobs than the state, or the state has no bodies and there is no
    // journal. The journal's jobs remain, and clients lose the jobs that they held.
    other_jobs,
    broken,  // The state is invalid, or memory is short: the engine is unusable.
  };
  // Reads into an engine without clients, whose only jobs are those that its journal has restored.
  // May throw std::bad_alloc; the engine is unusable then, as after `broken`.
  [[nodiscard]] Read read(StateReader& from, Bodies bodies);
  // Number of jobs in the state that was read, and of those that clients held and lost.
  std::uint64_t jobs() const { return jobs_; }
  std::uint64_t holds_dropped() const { return holds_dropped_; }

  void write_client(StateWriter& to, const Client& client) const;
  // Reads into a client that was just opened. Returns false if the state is invalid or memory is
  // short.
  [[nodiscard]] bool read_client(StateReader& from, Client& client);

  // Writes which clients wait, in the order of their waits. `clients` has all clients, in the order
  // in which read_waits() gets them.
  void write_waits(StateWriter& to, std::span<const Client* const> clients) const;
  // Makes the clients wait again. A client whose time is over, or for which there is a job that has
  // lost its holder, gets a delivery as usual. Returns false if the state is invalid.
  [[nodiscard]] bool read_waits(StateReader& from, std::span<Client* const> clients);

 private:
  void write_tube(StateWriter& to, const Tube& tube) const;
  void write_job(StateWriter& to, JobRef ref, Bodies bodies) const;
  void write_burials(StateWriter& to, const Tube& tube) const;
  bool read_all(StateReader& from, Bodies bodies);
  bool pass_over(StateReader& from, Bodies bodies, JobId& next_id, bool& has_same);
  bool is_same(const state_format::Job& job, std::string_view tube_name, Bodies bodies) const;
  Tube* read_tube(StateReader& from);
  bool read_job(StateReader& from, std::span<Tube* const> tubes, Bodies bodies);
  bool place(JobRef ref, Place before, const state_format::Job& fields);
  bool hold_in_turn();
  bool read_burials(StateReader& from, std::span<Tube* const> tubes);
  bool read_tombstone(StateReader& from, Bodies bodies);
  bool read_watches(StateReader& from, Client& client);
  bool read_holds(StateReader& from, Client& client);
  void write_job_waits(StateWriter& to, std::span<const Client* const> clients) const;
  bool read_job_waits(StateReader& from, std::span<Client* const> clients);

  QueueState& state_;
  LaneOrder& lanes_;
  Keys& keys_;
  Groups& groups_;
  Places& places_;
  Restoring& restoring_;
  Watching& watching_;
  Serving& offers_;
  JobWaits& job_waits_;
  std::uint64_t jobs_ = 0;
  std::uint64_t holds_dropped_ = 0;
  bool has_jobs_ = true;  // read() has not found other jobs.
  // Held jobs that were read, with their arrival.
  std::vector<std::pair<std::uint64_t, JobRef>> held_;
};

}  // namespace haricot
