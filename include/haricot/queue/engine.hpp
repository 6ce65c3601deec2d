// The engine: all tubes, jobs and clients, and every change to them.
//
// It knows neither bytes nor sockets nor a clock; the time is an argument. It calls nobody back
// either: what a command or the time brings to a client that waits is collected as a Delivery, and
// whoever drives the engine takes the deliveries after each call and hands them out.
//
// Every command does what can fail first (lookup, memory, room in the journal) and then changes the
// state with calls that cannot. So each of them either does all it says or nothing at all.
//
// No call walks all tubes, clients, waiting workers or jobs. What is long by nature (a kick of a
// million jobs, the jobs and watches of a closed client, a million delays that end in one second)
// is done a piece at a time: the rest is a Backlog that advance() works off. What a command costs
// beyond that is counted in steps, for who divides the time among clients.
//
// The engine is a front. Its parts stand below, each with a header and tests of its own.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "haricot/base/sip_hash.hpp"
#include "haricot/base/time.hpp"
#include "haricot/queue/backlog.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/engine_results.hpp"
#include "haricot/queue/extras.hpp"
#include "haricot/queue/flushes.hpp"
#include "haricot/queue/groups.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/job_memory.hpp"
#include "haricot/queue/job_store.hpp"
#include "haricot/queue/job_waits.hpp"
#include "haricot/queue/journal.hpp"
#include "haricot/queue/keys.hpp"
#include "haricot/queue/lane_order.hpp"
#include "haricot/queue/looks.hpp"
#include "haricot/queue/places.hpp"
#include "haricot/queue/queue_state.hpp"
#include "haricot/queue/restoring.hpp"
#include "haricot/queue/serving.hpp"
#include "haricot/queue/spent_jobs.hpp"
#include "haricot/queue/state_transfer.hpp"
#include "haricot/queue/times.hpp"
#include "haricot/queue/tries.hpp"
#include "haricot/queue/tube.hpp"
#include "haricot/queue/watching.hpp"

namespace haricot {

class Inspection;  // engine_invariants.cpp

class Engine {
 public:
  static constexpr Duration kDeadlineMargin = QueueState::kDeadlineMargin;
  static constexpr std::uint32_t kStepsPerJob = QueueState::kStepsPerJob;
  // How many jobs one call moves at most.
  static constexpr std::uint32_t kJobsPerCall = turn_limits::kStepsOfCalls / kStepsPerJob;

  // The journal outlives the engine. Names of tubes are hashed with the key: who serves clients
  // takes one that they cannot guess.
  Engine(Instant now, Journal& journal, const HashKey& key = {});
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void limit_tries(std::uint32_t tries) { tries_.limit(tries); }  // Tries. Before there is a job.
  SpentJobCounts& spent_jobs() { return state_.spent_jobs; }      // For the log.
  JobMemory& memory() { return memory_; }  // The limit of what jobs take: put() asks it.
  const JobMemory& memory() const { return memory_; }

  // Clients ------------------------------------------------------------------------------------

  // Takes a client in: it uses and watches the tube "default". False: no memory.
  [[nodiscard]] bool open(Client& client) { return watching_.open(client); }
  // Lets a client go: the jobs it holds get ready again, now or, if they are many, soon. Nothing of
  // the engine refers to the client afterwards, and pending deliveries to it are dropped.
  void close(Client& client, Instant now);

  // Work ---------------------------------------------------------------------------------------

  // How many steps were done since the start. Who works for the engine's clients counts here, too.
  std::uint64_t& steps() { return state_.steps; }
  const std::uint64_t& steps() const { return state_.steps; }
  // Watching::offer_steps() of the tube of that job (0: there is none), and where it is reserved no
  // more: another job of its lane may follow.
  std::uint32_t offer_steps(JobId id) const;
  std::uint32_t next_of_lane_steps(JobId id) const;
  const Watching& watching() const { return watching_; }

  // Time ---------------------------------------------------------------------------------------

  // Does what is due, and works on the backlog: a bounded amount.
  void advance(Instant now);
  // Works on the backlog alone: what is due waits.
  void advance_tasks(Instant now);
  // When advance() has to be called again; a time in the past if there is something left to do.
  Instant next_event() const { return backlog_.next_event(); }
  // For calls that are not told the time: they happen at the last instant that any call was told.
  void set_now(Instant now) { state_.now = now; }
  // What has come to waiting clients since the last time, in order; they hold its jobs. Valid until
  // the next call of anything here that is not const.
  const std::vector<Delivery>& deliveries() const { return watching_.deliveries(); }
  void clear_deliveries() { watching_.clear_deliveries(); }

  // Commands -----------------------------------------------------------------------------------
  //
  // Before each stands how it may end. What may end as `waiting` brings its answer as a delivery,
  // which may be there when the call returns; it requires that the client is not busy, and throws
  // std::bad_alloc before anything has changed. What may be long never ends in another way, but for
  // what is refused before it begins.
  // What changes a job may end as `not_yet`, too, where journal_failed is named.

  // The next id. It is taken as soon as a put is announced and never given out again, whatever
  // becomes of the put.
  JobId take_id() { return state_.next_id++; }
  void mark_producer(Client& client);
  // done, duplicate, out_of_memory, journal_failed. `body` is taken only by a put that has made a
  // job.
  Outcome put(Client& client, const NewJob& job, NewBody&& body, Instant now);
  // The last put that was a duplicate. Valid until the next call of anything that is not const.
  const DuplicatePut& duplicate() const { return duplicate_; }
  // done, out_of_memory
  Outcome use(Client& client, std::string_view tube) { return watching_.use(client, tube); }
  // done (with the job), waiting, timed_out, deadline_soon, out_of_memory. Waits at most until
  // `wait_end`; a time that is not after `now` means not at all, unless clients that wait already
  // are still being served (Watching::tube_behind).
  ReserveResult reserve(Client& client, Instant wait_end, Instant now, WaitFor what = WaitFor::job);
  // As reserve(), for up to `count` jobs, which are added to `taken`: the one that reserve() would
  // give, and others as long as they fit and the work for them is bounded by kStepsPerBatch: a
  // client that watches many tubes has to look through them for each job.
  Outcome reserve_batch(Client& client, std::uint32_t count, BatchBound bound, Instant wait_end,
                        Instant now, std::vector<JobRef>& taken);
  static constexpr std::uint32_t kStepsPerBatch = 16 * 1024;
  // done (with the job), not_found, out_of_memory, journal_failed
  ReserveResult reserve_job(Client& client, JobId id, Instant now);
  // Waits for the end of the job, until `wait_end` at most. waiting, buried (already), not_found,
  // timed_out, out_of_memory
  Outcome wait_job(Client& client, JobId id, Instant wait_end, Instant now);
  // Ends the wait of a client with that delivery: timed_out, aborted. A wait for a job that has
  // ended reports the end instead, and no client times out while its turn is still to come
  // (Watching::tube_behind).
  void stop_waiting(Client& client, Delivery::Kind why);
  // done, not_found, out_of_memory (what would remain of the job finds no place), journal_failed
  Outcome delete_job(Client& client, JobId id);
  // waiting
  Outcome delete_batch(Client& client, std::span<const JobId> ids);
  // done, buried (the limit of tries that its put has set is reached), not_found, out_of_memory,
  // journal_failed
  Outcome release(Client& client, JobId id, std::uint32_t priority, std::uint32_t delay_s,
                  Instant now);
  // done, not_found, journal_failed
  Outcome bury(Client& client, JobId id, std::uint32_t priority);
  // done, not_found
  Outcome touch(Client& client, JobId id, Instant now);
  // Of all jobs that the client holds. waiting
  Outcome touch_all(Client& client, Instant now);
  // done, out_of_memory
  Outcome watch(Client& client, std::string_view tube) { return watching_.watch(client, tube); }
  // The same, with a weight from 1 to WatchWeights::kWeightMax. It counts while the client's
  // reserves go by weight; without one a watch keeps the weight that it has, which is 1 at first.
  // waiting, out_of_memory
  Outcome watch(Client& client, std::string_view tube, std::uint32_t weight);
  // Whether reserves of the client are shared out among its tubes by weight, or get the job with
  // the best priority of all. waiting
  Outcome set_weighted(Client& client, bool weighted);
  // done, only_watched
  Outcome ignore(Client& client, std::string_view tube) { return watching_.ignore(client, tube); }
  // JobRef::none if there is none.
  JobRef peek(JobId id) const { return flushes_.find(id); }
  // waiting
  Outcome kick(Client& client, std::uint32_t bound, Instant now);
  // Deletes the jobs that are in these states of the tube now, or when the flush of the tube has
  // ended that is under way (Backlog). waiting, not_found. No command finds them from there on;
  // they are counted until they are freed.
  Outcome flush(Client& client, std::string_view tube_name, JobStates states);
  // Long tasks that wait for the journal's disk go on: when its may_try_again() says so.
  void go_on_with_tasks(Instant now);
  // done, not_found, out_of_memory, journal_failed
  Outcome kick_job(JobId id, Instant now);
  // done, not_found. 0 seconds end a pause.
  Outcome pause(std::string_view tube_name, std::uint32_t seconds, Instant now);

  // For the journal -----------------------------------------------------------------------------

  // Brings its jobs back, before the first client is opened.
  Restoring& restoring() { return restoring_; }
  // Brings everything to another process, if no long task is under way.
  StateTransfer& transfer() { return transfer_; }
  bool is_at_rest() const { return backlog_.is_empty(); }
  // What it writes down of jobs that no command is about.
  JournaledJob journaled(JobRef ref) const { return flushes_.journaled(ref); }
  Tombstone tombstone(JobRef tombstone_ref) const { return keys_.tombstone(tombstone_ref); }
  // Whether it has neither tags nor a limit of tries.
  bool is_plain(JobRef ref) const { return !tries_.may_limit(state_.jobs[ref]); }
  // Whether the end of a try may bury the job: it has a limit, and is not buried.
  bool may_be_buried(JobRef ref) const {
    return tries_.is_limited(ref) && places_.of(ref) != Place::buried;
  }
  JobStore& jobs() { return state_.jobs; }
  JobId next_id() const { return state_.next_id; }

  // Looking in ---------------------------------------------------------------------------------

  Looks& looks() { return looks_; }
  const Looks& looks() const { return looks_; }
  const JobStore& jobs() const { return state_.jobs; }
  const TubeTable& tubes() const { return state_.tubes; }
  // The list of all tubes, which advance() goes on writing. Throws std::bad_alloc.
  TubeList& tube_list() { return state_.tubes.list(); }
  void write_list() { backlog_.write_list(); }  // Some at once. Requires: it was asked for.
  const EngineCounts& counts() const { return state_.counts; }
  const Tube* find_tube(std::string_view name) const { return state_.tubes.find(name); }
  // Null: no job lives in it.
  const Group* find_group(std::string_view name) const { return groups_.find(name); }
  std::uint32_t waiting_clients(const Tube& tube) { return watching_.waiting_clients(tube); }
  // Ends the program if anything does not fit together. Costs a walk over everything; for tests.
  void check_invariants() const;

 private:
  void mark_worker(Client& client);
  void begin_job(Tube& tube, const NewJob& put, JobRef ref, Group* after);
  [[gnu::noinline]] Outcome put_with_tags(Tube& tube, const NewJob& put, const ReadTags& read,
                                          NewBody&& body);
  Outcome wait_ends_at_once(const Client& client, Instant wait_end);
  Outcome put_again(Tube& tube, JobRef owner, std::uint32_t priority);
  [[gnu::cold, gnu::noinline]] Outcome delete_leaving_key(JobRef ref);
  JobRef held_by(const Client& client, JobId id) const;

  QueueState state_;
  Flushes flushes_;
  Tries tries_;
  LaneOrder lanes_;
  Keys keys_;
  Groups groups_;
  JobMemory memory_;
  Times times_;
  Looks looks_;
  Extras extras_;
  JobWaits job_waits_;
  Places places_;
  Restoring restoring_;
  Watching watching_;
  Serving serving_;
  Backlog backlog_;
  StateTransfer transfer_;
  DuplicatePut duplicate_;
  friend class Inspection;
};

}  // namespace haricot
