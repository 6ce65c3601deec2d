// How the jobs, tubes and clients of an engine go on in another process: written by the old one,
// and read by the new one.
//
// The order is: engine, clients, waits. Written is what has happened (when a job was put, until
// when a client holds it), and read back by the calls that made it so; what follows from that, as
// heaps, counts and lanes, is made anew. An instant is one of the machine's, which goes on.
//
// Where a journal has the jobs, their bodies are not written: the new engine has them already, and
// what no journal keeps is added to them. An engine with a journal also takes jobs from a state
// with bodies, beside those that its journal has brought back: the journal has to record them then.
// All else of the engine must be at rest: see is_at_rest().

#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "haricot/base/state_stream.hpp"
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

namespace saved {
struct Job;
}

// Where the bodies of jobs are.
enum class Bodies : std::uint8_t { in_state, in_journal };
constexpr Bodies last_of(Bodies) {
  return Bodies::in_journal;
}

class StateTransfer {
 public:
  // All of them outlive this.
  StateTransfer(QueueState& state, LaneOrder& lanes, Keys& keys, Groups& groups, Places& places,
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
  StateTransfer(const StateTransfer&) = delete;
  StateTransfer& operator=(const StateTransfer&) = delete;

  // All but the clients.
  void write(StateWriter& to, Bodies bodies) const;
  enum class Read : std::uint8_t {
    good,
    // The journal has others, or a state without bodies meets no journal. The journal's jobs stay,
    // and clients come without those they held.
    other_jobs,
    broken,  // It cannot be, or there is no memory: the engine is of no use.
  };
  // Into an engine without clients, and without jobs but those that its journal has brought back.
  // May throw std::bad_alloc, with the same end as `broken`.
  [[nodiscard]] Read read(StateReader& from, Bodies bodies);
  // Numbers of jobs in the state that was read, and of those among them that clients held and do
  // not hold any more.
  std::uint64_t jobs() const { return jobs_; }
  std::uint64_t holds_dropped() const { return holds_dropped_; }

  void write_client(StateWriter& to, const Client& client) const;
  // Of a client that was just opened. False: it cannot be, or no memory.
  [[nodiscard]] bool read_client(StateReader& from, Client& client);

  // Who waits, and since when in relation to each other. `clients`: all, in an order that is the
  // same when they are read.
  void write_waits(StateWriter& to, std::span<const Client* const> clients) const;
  // What has come to those who wait is a delivery, as always: their time is over, or a job is there
  // whose holder is gone.
  [[nodiscard]] bool read_waits(StateReader& from, std::span<Client* const> clients);

 private:
  void write_tube(StateWriter& to, const Tube& tube) const;
  void write_job(StateWriter& to, JobRef ref, Bodies bodies) const;
  void write_burials(StateWriter& to, const Tube& tube) const;
  bool read_all(StateReader& from, Bodies bodies);
  bool pass_over(StateReader& from, Bodies bodies, JobId& next_id, bool& has_same);
  bool is_same(const saved::Job& job, std::string_view tube_name, Bodies bodies) const;
  Tube* read_tube(StateReader& from);
  bool read_job(StateReader& from, std::span<Tube* const> tubes, Bodies bodies);
  bool place(JobRef ref, Place before, const saved::Job& saved);
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
  bool has_jobs_ = true;                                // Of the state that is read.
  std::vector<std::pair<std::uint64_t, JobRef>> held_;  // Its held jobs, with their arrival.
};

}  // namespace haricot
