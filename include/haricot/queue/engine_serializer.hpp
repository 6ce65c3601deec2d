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

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "haricot/base/serialization.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/groups.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/job_waits.hpp"
#include "haricot/queue/keys.hpp"
#include "haricot/queue/lane_order.hpp"
#include "haricot/queue/places.hpp"
#include "haricot/queue/queue_state.hpp"
#include "haricot/queue/restoring.hpp"
#include "haricot/queue/serving.hpp"
#include "haricot/queue/tube.hpp"
#include "haricot/queue/watching.hpp"

namespace haricot {

namespace state_format {
struct Job;
}

// Where the bodies of jobs are.
enum class Bodies : std::uint8_t { in_state, in_journal };
constexpr Bodies last_of(Bodies) {
  return Bodies::in_journal;
}

class EngineSerializer {
 public:
  // Requires: all arguments outlive this object.
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
