// Data that the parts of the engine share: jobs, tubes, clients, the time and counts.
//
// A field whose comment names parts is changed only by these; all parts may read it. A part refers
// to the arguments of its constructor, so these outlive it.
// tests/structure lists the parts and which of them may use which.

#pragma once

#include <algorithm>
#include <cstdint>

#include "haricot/base/check.hpp"
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
  // Time before the end of a TTR at which its holder may no longer wait for another job.
  static constexpr Duration kDeadlineMargin = Duration::seconds(1);
  static constexpr Duration kPauseOfRefused = Duration::milliseconds(50);

  // Requires: the journal outlives the state.
  QueueState(Instant start, Journal& to, const HashKey& key)
      : journal(to),
        jobs(to.has_job_fields(), &steps),
        tubes(key),
        default_tube(tubes.create("default")),
        wheel(start),
        now(start) {
    CHECK(default_tube != nullptr);
  }
  ~QueueState() {
    for (std::uint32_t i = 0; i < tubes.size(); ++i) wheel.cancel(tubes[tubes.at(i).ref].timer);
  }
  QueueState(const QueueState&) = delete;
  QueueState& operator=(const QueueState&) = delete;

  Tube& tube_of(JobRef ref) const { return tubes[jobs[ref].tube]; }
  static Tube& used_by(Client& client) { return *client.used_; }
  // Count the client as a producer, or a worker, once.
  void mark_producer(Client& client) {
    counts.producers += client.producer_ ? 0 : 1;
    client.producer_ = true;
  }
  void mark_worker(Client& client) {
    counts.workers += client.worker_ ? 0 : 1;
    client.worker_ = true;
  }
  // Frees the tube unless something refers to it, or it is the default tube.
  void free_if_unreferenced(Tube& tube) {
    if (&tube == default_tube || tube.is_referenced()) return;
    wheel.cancel(tube.timer);
    spent_jobs.forget(tube.ref);
    steps += tubes.destroy(tube);
  }
  // Ensure that the timer of the tube, or of the client, fires in time.
  void arm_tube(Tube& tube) {
    Instant next = Instant::never();
    if (!tube.delayed.empty()) next = tube.delayed.top().deadline;
    if (tube.paused) next = std::min(next, tube.pause_end);
    if (tube.is_behind) next = std::min(next, now);
    arm(tube.timer, next);
  }
  void arm_client(Client& client) {
    Instant next = client.activity_.wait_end();
    if (!client.held_.empty()) {
      const Instant first_end = client.held_.first().deadline;
      next = std::min(next, client.is_waiting() ? first_end - kDeadlineMargin : first_end);
    }
    arm(client.timer_, next);
  }
  // Checks that each put has to make, as bits of `put_checks`.
  static constexpr std::uint8_t kMemoryCheck = 1;
  static constexpr std::uint8_t kRulesCheck = 2;
  void set_put_check(std::uint8_t check, bool is_needed) {
    put_checks = static_cast<std::uint8_t>(is_needed ? put_checks | check : put_checks & ~check);
  }
  Budget budget(std::uint64_t of) const { return {steps, of}; }
  // Makes Backlog check its permanent tasks by `instant`.
  void resume_by(Instant instant) { resume_at = std::min(resume_at, instant); }
  // Makes Backlog resume all suspended tasks by `instant`.
  void resume_all_by(Instant instant) {
    resume_all_at = std::min(resume_all_at, instant);
    resume_by(instant);
  }
  // Makes Backlog retry soon: the journal has refused a record that must be written.
  void try_refused_again() { resume_all_by(now + kPauseOfRefused); }

  Journal& journal;
  JobStore jobs;
  TubeTable tubes;
  Tube* default_tube;
  TimerWheel wheel;
  RefTable<Client, ClientRef> clients;       // Watching, Backlog
  Instant now;                               // The latest time passed to a call.
  EngineCounts counts;                       // Places (jobs), Watching (clients), Engine (others)
  SpentJobCounts spent_jobs;                 // Tries
  std::uint64_t arrivals = 0;                // Last DeadlineEntry::arrival: Places
  Instant resume_at = Instant::never();      // See resume_by().
  Instant resume_all_at = Instant::never();  // See resume_all_by(); never before `resume_at`.
  std::uint64_t steps = 0;                   // Done by all parts since the start (Budget).
  JobId next_id = 1;                         // Restoring, Engine
  std::uint8_t put_checks = 0;               // JobMemory, Rules

 private:
  // A timer never fires too late, but may fire too early: if the deadline has moved back, it is
  // only set again. So most reserves and deletes do not touch the wheel.
  void arm(Timer& timer, Instant deadline) {
    if (!timer.is_set() || deadline < timer.deadline()) wheel.set(timer, deadline);
  }
};

}  // namespace haricot
