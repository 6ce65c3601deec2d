// What the parts of the engine share: the jobs, the tubes, the clients, the time and the numbers.
//
// Plain data. Each part changes what is named beside it, and looks at the rest. The parts and what
// each may know of the others stand in tests/structure.

#pragma once

#include <algorithm>
#include <cstdint>

#include "haricot/base/budget.hpp"
#include "haricot/base/ref_table.hpp"
#include "haricot/base/sip_hash.hpp"
#include "haricot/base/time.hpp"
#include "haricot/base/timer_wheel.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/engine_results.hpp"
#include "haricot/queue/job_store.hpp"
#include "haricot/queue/journal.hpp"
#include "haricot/queue/spent_jobs.hpp"
#include "haricot/queue/tube.hpp"
#include "haricot/queue/tube_table.hpp"

namespace haricot {

struct QueueState {
  static constexpr std::uint32_t kStepsPerJob = turn_limits::kStepsPerJob;
  static constexpr std::uint32_t kStepsPerDelivery = turn_limits::kStepsPerDelivery;
  // The least time that is left of a TTR while its holder may still wait for another job.
  static constexpr Duration kDeadlineMargin = Duration::seconds(1);
  static constexpr Duration kPauseOfRefused = Duration::milliseconds(50);

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
  Budget budget(std::uint64_t of) const { return {steps, of}; }
  // By then a task that is always there has something to do (Backlog),
  void resume_by(Instant instant) { resume_at = std::min(resume_at, instant); }
  // or any of those that were put aside.
  void resume_all_by(Instant instant) {
    resume_all_at = std::min(resume_all_at, instant);
    resume_by(instant);
  }
  // The journal has refused what has to be recorded: Backlog tries again soon.
  void try_refused_again() { resume_all_by(now + kPauseOfRefused); }

  Journal& journal;
  JobStore jobs;
  TubeTable tubes;
  Tube* default_tube;
  TimerWheel wheel;
  RefTable<Client, ClientRef> clients;   // Watching, Backlog
  Instant now;                           // The last instant that was named.
  EngineCounts counts;                   // Of jobs: Places. Of clients: Watching. The rest: Engine.
  SpentJobCounts spent_jobs;             // Tries
  std::uint64_t arrivals = 0;            // Of jobs in heaps by deadline: Places.
  Instant resume_at = Instant::never();  // resume_by()
  Instant resume_all_at = Instant::never();  // resume_all_by(); not before `resume_at`.
  std::uint64_t steps = 0;                   // That were done since the start, by all (Budget).
  JobId next_id = 1;                         // Restoring; the rest: Engine.

 private:
  void arm(Timer& timer, Instant deadline);
};

}  // namespace haricot
