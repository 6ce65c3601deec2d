// What the parts of the engine share: the jobs, the tubes, the clients, the time and the numbers.
//
// Plain data. Each part changes what is named beside it, and looks at the rest. The parts and what
// each may know of the others stand in tests/structure.

#pragma once

#include <algorithm>
#include <cstdint>

#include "haricot/base/ref_table.hpp"
#include "haricot/base/sip_hash.hpp"
#include "haricot/base/time.hpp"
#include "haricot/base/timer_wheel.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/engine_results.hpp"
#include "haricot/queue/job_store.hpp"
#include "haricot/queue/journal.hpp"
#include "haricot/queue/spent_jobs.hpp"
#include "haricot/queue/tube.hpp"
#include "haricot/queue/tube_table.hpp"

namespace haricot {

struct QueueState {
  // Work is counted in steps: about as many as things that were touched, each of which may be a
  // miss of the processor's cache. To move a job, or a tube among the offers of one client, takes
  // so many.
  static constexpr std::uint32_t kStepsPerJob = 8;
  // To deliver something to a client takes so many: its answer is written and sent.
  static constexpr std::uint32_t kStepsPerDelivery = 10 * kStepsPerJob;
  // The least time that is left of a TTR while its holder may still wait for another job.
  static constexpr Duration kDeadlineMargin = Duration::seconds(1);

  // The journal outlives the state.
  QueueState(Instant start, Journal& to, const HashKey& key);
  ~QueueState();
  QueueState(const QueueState&) = delete;
  QueueState& operator=(const QueueState&) = delete;

  Tube& tube_of(JobRef ref) const { return tubes[jobs[ref].tube]; }
  // Frees the tube if nothing needs it any more.
  void free_if_unreferenced(Tube& tube);
  // Sees to it that the timer of the tube, or of the client, goes off in time.
  void arm_tube(Tube& tube);
  void arm_client(Client& client);
  // Takes off a budget of jobs what was touched beside the jobs themselves.
  void pay(std::uint32_t& budget, std::uint64_t steps_before) const {
    const std::uint64_t more = (steps - steps_before) / kStepsPerJob;
    budget -= static_cast<std::uint32_t>(std::min<std::uint64_t>(more, budget));
  }

  Journal& journal;
  JobStore jobs;
  TubeTable tubes;
  Tube* default_tube;
  TimerWheel wheel;
  RefTable<Client, ClientRef> clients;  // Watching, Backlog
  Instant now;                          // The last instant that was named.
  EngineCounts counts;                  // Of jobs: Places. Of clients: Watching. The rest: Engine.
  SpentJobCounts spent_jobs;            // Tries
  std::uint64_t arrivals = 0;           // Of jobs in heaps by deadline: Places.
  std::uint64_t steps = 0;              // That were done, beyond the few of every command.

 private:
  void arm(Timer& timer, Instant deadline);
};

}  // namespace haricot
