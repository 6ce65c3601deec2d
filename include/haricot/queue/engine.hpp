// The engine: all tubes, jobs and clients, and every change to them.
//
// It knows neither the wire format, nor sockets, nor a clock; the time is an argument. It makes no
// callbacks: a result for a waiting client is collected as a Delivery, and the caller of the engine
// takes the deliveries after each call.
//
// A command is all or nothing. It first takes the steps that can fail (lookups, memory, room in the
// journal), and then changes the state with calls that cannot fail.
//
// No call iterates over all tubes, clients, waiting clients or jobs. Long work (a kick of a million
// jobs, the jobs and watches of a closed client, a million delays that end in the same second) is
// done in pieces: Backlog keeps the rest, and advance() continues it. Other costs of a command are
// counted in steps, so that the caller can divide the time among clients.
//
// The engine is a front. Each of its parts has a header and tests of its own.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "haricot/base/sip_hash.hpp"
#include "haricot/base/time.hpp"
#include "haricot/queue/backlog.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/engine_results.hpp"
#include "haricot/queue/engine_serializer.hpp"
#include "haricot/queue/extras.hpp"
#include "haricot/queue/flushes.hpp"
#include "haricot/queue/groups.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/job_memory.hpp"
#include "haricot/queue/job_store.hpp"
#include "haricot/queue/job_waits.hpp"
#include "haricot/queue/journal.hpp"
#include "haricot/queue/keys.hpp"
#include "haricot/queue/lanes.hpp"
#include "haricot/queue/places.hpp"
#include "haricot/queue/queries.hpp"
#include "haricot/queue/queue_state.hpp"
#include "haricot/queue/restoring.hpp"
#include "haricot/queue/rules.hpp"
#include "haricot/queue/serving.hpp"
#include "haricot/queue/spent_jobs.hpp"
#include "haricot/queue/times.hpp"
#include "haricot/queue/tries.hpp"
#include "haricot/queue/tube.hpp"
#include "haricot/queue/watching.hpp"

namespace haricot {

class Inspection;  // Defined in engine_invariants.cpp.

class Engine {
 public:
  static constexpr Duration kDeadlineMargin = QueueState::kDeadlineMargin;
  static constexpr std::uint32_t kStepsPerJob = QueueState::kStepsPerJob;
  // Maximum number of jobs that one call moves.
  static constexpr std::uint32_t kJobsPerCall = turn_limits::kStepsOfCalls / kStepsPerJob;

  // Requires: the journal outlives the engine. The names of tubes are hashed with `key`; a server
  // needs a key that clients cannot guess.
  Engine(Instant now, Journal& journal, const HashKey& key = {});
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void limit_tries(std::uint32_t tries) { tries_.limit(tries); }  // See Tries. Requires: no jobs.
  // Replaces the rules of the operator, for puts from now on. Throws std::bad_alloc; nothing has
  // changed then.
  void set_rules(const std::vector<Rule>& rules) { rules_.set(rules); }
  SpentJobCounts& spent_jobs() { return state_.spent_jobs; }  // For the log.
  JobMemory& memory() { return memory_; }  // Limit of the memory for jobs; put() enforces it.
  const JobMemory& memory() const { return memory_; }

  // Clients ------------------------------------------------------------------------------------

  // Adds a client, which uses and watches the tube "default". Returns false if memory is short.
  [[nodiscard]] bool open(Client& client) { return watching_.open(client); }
  // Removes a client. The jobs that it holds become ready, if there are many over several calls of
  // advance(). Afterwards the engine has no reference to the client; pending deliveries to it are
  // dropped.
  void close(Client& client, Instant now);

  // Work ---------------------------------------------------------------------------------------

  // Number of steps since the start. Other code that works for clients adds its steps here too.
  std::uint64_t& steps() { return state_.steps; }
  const std::uint64_t& steps() const { return state_.steps; }
  // offer_steps() returns Watching::offer_steps() of the job's tube, or 0 if there is no such job.
  // next_of_lane_steps() returns the steps that follow the end of the job's reservation, when
  // another job of its lane may be offered.
  std::uint32_t offer_steps(JobId id) const;
  std::uint32_t next_of_lane_steps(JobId id) const;
  const Watching& watching() const { return watching_; }

  // Time ---------------------------------------------------------------------------------------

  // Fires due deadlines and continues the backlog, a bounded amount of both.
  void advance(Instant now);
  // Continues the backlog; no deadlines fire.
  void advance_tasks(Instant now);
  // Returns the time of the next advance(); in the past if there is work left.
  Instant next_event() const { return backlog_.next_event(); }
  // Sets the time. Calls without an argument `now` use the last time that was set or passed.
  void set_now(Instant now) { state_.now = now; }
  // Returns the results for waiting clients since clear_deliveries(), in order; the clients already
  // hold the jobs. Valid until the next call of a function that is not const.
  const std::vector<Delivery>& deliveries() const { return watching_.deliveries(); }
  void clear_deliveries() { watching_.clear_deliveries(); }

  // Commands -----------------------------------------------------------------------------------
  //
  // The comment on a command lists its possible outcomes. A command that may return `waiting` is
  // answered by a delivery, which may already exist when the call returns. It requires that the
  // client is not busy. It may throw std::bad_alloc; nothing has changed then. A long-running
  // command always returns `waiting`, unless it is rejected up front. A command that may return
  // journal_failed may also return not_yet.

  // Takes the next id. A put takes its id before its body arrives; the id is not reused if the put
  // fails.
  JobId take_id() { return state_.next_id++; }
  void mark_producer(Client& client) { state_.mark_producer(client); }
  // done, duplicate, too_big, out_of_memory, journal_failed. `body` is consumed only if a job was
  // created.
  Outcome put(Client& client, const NewJob& job, NewBody&& body, Instant now);
  // Returns the result of the last put that was a duplicate. Valid until the next call of a
  // function that is not const.
  const DuplicatePut& duplicate() const { return duplicate_; }
  // done, out_of_memory
  Outcome use(Client& client, std::string_view tube) { return watching_.use(client, tube); }
  // done (with the job), waiting, timed_out, deadline_soon, out_of_memory. Waits until `wait_end`.
  // If that is not after `now`, the client waits only if earlier clients have yet to be served
  // (Watching::tube_behind).
  ReserveResult reserve(Client& client, Instant wait_end, Instant now,
                        WaitFor waits_for = WaitFor::job);
  // Reserves up to `count` jobs and appends them to `taken`. The first job and the outcome are
  // those of reserve(). More jobs follow as long as they fit and the work is below kStepsPerBatch:
  // a client that watches many tubes scans these for each job.
  Outcome reserve_batch(Client& client, std::uint32_t count, BatchBound bound, Instant wait_end,
                        Instant now, std::vector<JobRef>& taken);
  static constexpr std::uint32_t kStepsPerBatch = 16 * 1024;
  // done (with the job), not_found, out_of_memory, journal_failed
  ReserveResult reserve_job(Client& client, JobId id, Instant now);
  // Waits for the end of the job, until `wait_end` at most. waiting, buried (already), not_found,
  // timed_out, out_of_memory
  Outcome wait_job(Client& client, JobId id, Instant wait_end, Instant now);
  // Ends the wait of a client with the delivery `why`: timed_out or aborted. If the awaited job has
  // ended, the delivery reports that instead; if a tube of the client is behind
  // (Watching::tube_behind), the client times out only after that tube was served.
  void stop_waiting(Client& client, Delivery::Kind why);
  // done, not_found, out_of_memory (for the tombstone), journal_failed
  Outcome delete_job(Client& client, JobId id);
  // waiting
  Outcome delete_batch(Client& client, std::span<const JobId> ids);
  // done, buried (the job has reached the limit of tries in its tags), not_found, out_of_memory,
  // journal_failed. Without a delay, that of the job's backoff counts.
  Outcome release(Client& client, JobId id, std::uint32_t priority, std::uint32_t delay_s,
                  Instant now);
  // done, not_found, journal_failed
  Outcome bury(Client& client, JobId id, std::uint32_t priority);
  // done, not_found
  Outcome touch(Client& client, JobId id, Instant now);
  // Sets the note of a job that is not reserved, or that the client holds. done, not_found,
  // out_of_memory, journal_failed
  Outcome set_note(const Client& client, JobId id, std::string_view note);
  // Restarts the TTRs of all jobs that the client holds. waiting
  Outcome touch_all(Client& client, Instant now);
  // done, out_of_memory
  Outcome watch(Client& client, std::string_view tube) { return watching_.watch(client, tube); }
  // Watches a tube with a weight from 1 to WatchWeights::kWeightMax. Weights count while the client
  // reserves by weight. The initial weight is 1; watch() without a weight does not change it.
  // waiting, out_of_memory
  Outcome watch(Client& client, std::string_view tube, std::uint32_t weight);
  // Sets the mode of the client's reserves: share them among its tubes by weight, or take the job
  // with the best priority of all. waiting
  Outcome set_weighted(Client& client, bool weighted);
  // done, only_watched
  Outcome ignore(Client& client, std::string_view tube) { return watching_.ignore(client, tube); }
  // Returns JobRef::none if there is no such job.
  JobRef peek(JobId id) const { return flushes_.find(id); }
  // waiting
  Outcome kick(Client& client, std::uint32_t bound, Instant now);
  // Deletes the tube's jobs in these states: those that it has now or, if another flush of the tube
  // is in progress, at the end of that flush (Backlog). From then on commands do not find the jobs;
  // counts include them until they are freed. waiting, not_found
  Outcome flush(Client& client, std::string_view tube_name, JobStates states);
  // Resumes long tasks that wait for the journal's disk. Call it when Journal::may_try_again()
  // returns true.
  void resume_tasks(Instant now);
  // done, not_found, out_of_memory, journal_failed
  Outcome kick_job(JobId id, Instant now);
  // done, not_found. 0 seconds end a pause.
  Outcome pause(std::string_view tube_name, std::uint32_t seconds, Instant now);

  // For the journal -----------------------------------------------------------------------------

  // Restores the jobs of the journal. Requires: no client has been opened.
  Restoring& restoring() { return restoring_; }
  // Returns the serializer of the jobs, tubes and clients. Requires: is_at_rest().
  EngineSerializer& serializer() { return serializer_; }
  bool is_at_rest() const { return backlog_.is_empty(); }
  // Return a job, or a tombstone, as the journal records it; for records that are not caused by a
  // command.
  JournaledJob journaled(JobRef ref) const { return flushes_.journaled(ref); }
  Burial burial(JobRef ref) const { return state_.jobs.burial(ref, state_.now); }
  Tombstone tombstone(JobRef tombstone_ref) const { return keys_.tombstone(tombstone_ref); }
  // Returns the room that a put of the job would need; for jobs that are in no file.
  PutRoom room_of(JobRef ref) const;
  // Returns true if the job has neither tags nor a limit of tries.
  bool is_plain(JobRef ref) const { return !tries_.may_count(state_.jobs[ref]); }
  // Returns true if the end of a try may bury the job: its tries count, and it is not buried.
  bool may_be_buried(JobRef ref) const {
    return tries_.counts(ref) && places_.of(ref) != Place::buried;
  }
  JobStore& jobs() { return state_.jobs; }
  JobId next_id() const { return state_.next_id; }

  // Queries ------------------------------------------------------------------------------------

  Queries& queries() { return queries_; }
  const Queries& queries() const { return queries_; }
  const JobStore& jobs() const { return state_.jobs; }
  const TubeTable& tubes() const { return state_.tubes; }
  // Returns the list of all tubes; advance() continues to write it. Throws std::bad_alloc.
  TubeList& tube_list() { return state_.tubes.list(); }
  // Writes a piece of that list now. Requires: tube_list() was called.
  void write_list() { backlog_.write_list(); }
  const EngineCounts& counts() const { return state_.counts; }
  const Tube* find_tube(std::string_view name) const { return state_.tubes.find(name); }
  // Returns null if the group has no job.
  const Group* find_group(std::string_view name) const { return groups_.find(name); }
  const Lanes& lanes() const { return lanes_.lanes(); }
  std::uint32_t waiting_clients(const Tube& tube) { return watching_.waiting_clients(tube); }
  // Ends the program if an invariant is broken. Walks over all data; for tests.
  void check_invariants() const;

 private:
  PutRoom room_for(const Tube& tube, std::size_t body_bytes, const ReadTags& tags,
                   bool is_held) const;
  void begin_job(Tube& tube, const NewJob& put, JobRef ref, Group* after);
  [[gnu::cold, gnu::noinline]] std::optional<Outcome> put_checked(Tube& tube, const NewJob& put,
                                                                  NewBody& body);
  [[gnu::noinline]] Outcome put_with_tags(Tube& tube, const NewJob& put, const ReadTags& read,
                                          NewBody&& body);
  Outcome wait_ends_at_once(const Client& client, Instant wait_end);
  Outcome put_again(Tube& tube, JobRef owner, std::uint32_t priority);
  [[gnu::cold, gnu::noinline]] Outcome delete_leaving_key(JobRef ref);
  JobRef held_by(const Client& client, JobId id) const;
  JobRef not_held_by_others(const Client& client, JobId id) const;

  QueueState state_;
  Flushes flushes_;
  Tries tries_;
  LaneOrder lanes_;
  Keys keys_;
  Groups groups_;
  Extras extras_;
  JobMemory memory_;
  Times times_;
  Rules rules_;
  Queries queries_;
  JobWaits job_waits_;
  Places places_;
  Restoring restoring_;
  Watching watching_;
  Serving serving_;
  Backlog backlog_;
  EngineSerializer serializer_;
  DuplicatePut duplicate_;
  friend class Inspection;
};

}  // namespace haricot
