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
// is done a piece at a time: the rest is a backlog that advance() works off (engine_tasks.cpp).
// What a command costs beyond that is counted in steps, for who divides the time among clients.

#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "haricot/base/ref_table.hpp"
#include "haricot/base/sip_hash.hpp"
#include "haricot/base/time.hpp"
#include "haricot/base/timer_wheel.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/engine_results.hpp"
#include "haricot/queue/engine_tasks.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/job_store.hpp"
#include "haricot/queue/journal.hpp"
#include "haricot/queue/kept_keys.hpp"
#include "haricot/queue/lanes.hpp"
#include "haricot/queue/long_tasks.hpp"
#include "haricot/queue/spent_jobs.hpp"
#include "haricot/queue/tube.hpp"
#include "haricot/queue/tube_table.hpp"
#include "haricot/queue/unique_keys.hpp"

namespace haricot {

class Engine {
 public:
  // The least time that is left of a TTR while its holder may still wait for another job.
  static constexpr Duration kDeadlineMargin = Duration::seconds(1);
  // How many jobs one call moves at most, and how many all commands between two calls of advance()
  // move. At well under a microsecond each, others hardly notice.
  static constexpr std::uint32_t kJobsPerCall = 2000;
  // Work is counted in steps: about as many as things that were touched, each of which may be a
  // miss of the processor's cache. To move a job, or a tube among the offers of one client, takes
  // so many.
  static constexpr std::uint32_t kStepsPerJob = 8;
  // How many pages of a list of all tubes are written at most between two calls of advance(), and
  // by one.
  static constexpr std::uint32_t kPagesPerCall = 8;

  // The journal outlives the engine. Names of tubes are hashed with the key: who serves clients
  // takes one that they cannot guess.
  Engine(Instant now, Journal& journal, const HashKey& key = {});

  // From here on a put is refused (out_of_memory) that would make the jobs take more than so many
  // bytes; see job_memory_bytes(). Nothing else asks: what is there can be worked on, and what a
  // journal brings back is let in.
  void limit_job_memory(std::uint64_t bytes) { job_memory_bytes_max_ = bytes; }
  // From here on every job may be tried so often that has no limit of its own; 0: as often as it
  // takes. To be called before there is a job.
  void limit_tries(std::uint32_t tries) { tries_max_ = tries; }
  // How many records of burials may have to be written that nobody can refuse: one for each job
  // with a limit of tries that is not buried.
  std::uint64_t burials_to_come() const;
  // What the records of keys will take that outlive the jobs which are there now.
  const KeptRoom& keys_to_keep() const { return keys_to_keep_; }
  // Those that were buried because of it, for the log.
  SpentJobCounts& spent_jobs() { return spent_jobs_; }

  // Whether a put with a body and a text of tags of that size stays below the limit; if not, it is
  // counted as refused. put() asks itself, and for the lane as well. Who has to find memory for the
  // body first asks before.
  [[nodiscard]] bool admit_put(std::size_t body_bytes, std::size_t tag_bytes);
  // What the jobs take, and their lanes and keys; see JobStore::memory_bytes().
  std::uint64_t job_memory_bytes() const {
    return jobs_.memory_bytes() + lanes_.memory_bytes() + keys_.memory_bytes() +
           kept_.memory_bytes();
  }
  // Whether the jobs take so much that puts are refused: from a refused put on, until what was
  // refused fits and an eighth of the limit is free, or until another put leaves an eighth free.
  bool is_short_of_job_memory() const { return job_memory_bytes() > job_memory_short_above_; }
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Clients ------------------------------------------------------------------------------------

  // Takes a client in: it uses and watches the tube "default". False: no memory.
  [[nodiscard]] bool open(Client& client);
  // Lets a client go: the jobs it holds get ready again, now or, if they are many, soon. Nothing of
  // the engine refers to the client afterwards, and pending deliveries to it are dropped.
  void close(Client& client, Instant now);

  // Work ---------------------------------------------------------------------------------------

  // How many steps were done since the last time, beyond the few that every command does.
  std::uint64_t take_steps() { return std::exchange(steps_, 0); }
  // How many steps a reserve would do now: all that it has to look through. O(1).
  std::uint32_t reserve_steps(const Client& client) const;
  // How many steps it would do now to give a job of that tube to who waits there; the same of the
  // tube of a job. 0: nobody waits, or there is no such job. O(1).
  std::uint32_t offer_steps(const Tube& tube) const;
  std::uint32_t offer_steps(JobId id) const;
  // The same where the job is reserved no more, and another job of its lane may follow.
  std::uint32_t next_of_lane_steps(JobId id) const {
    return lanes_.size() == 0 ? 0 : offer_steps_of_lane(id);
  }

  // Time ---------------------------------------------------------------------------------------

  // Does what is due: ends TTRs, delays, pauses and waits, and works on the backlog; a bounded
  // amount.
  void advance(Instant now);
  // When advance() has to be called again; a time in the past if there is something left to do.
  Instant next_event() const;

  // Says what time it is to the calls that are not told: they happen at the last instant that was
  // named here or to another call.
  void set_now(Instant now) { now_ = now; }

  // Takes out what has come to waiting clients since the last time, in order. The jobs in it are
  // held by the clients. Valid until the next call of anything here that is not const.
  const std::vector<Delivery>& deliveries() const { return deliveries_; }
  void clear_deliveries() { deliveries_.clear(); }

  // Producers ----------------------------------------------------------------------------------

  // The next id. It is taken as soon as a put is announced and never given out again, whatever
  // becomes of the put.
  JobId take_id() { return next_id_++; }
  void mark_producer(Client& client);
  // done, buried, duplicate, out_of_memory, journal_failed, not_yet. What changes a job may end as
  // not_yet, too, where journal_failed is named below. `body` is taken only by a put that has made
  // a job.
  Outcome put(Client& client, const NewJob& job, NewBody&& body, Instant now);
  // The last put that was a duplicate. Valid until the next call of anything that is not const.
  const DuplicatePut& duplicate() const { return duplicate_; }
  // done, out_of_memory
  Outcome use(Client& client, std::string_view tube_name);

  // Workers ------------------------------------------------------------------------------------

  // done (with the job), waiting, timed_out, deadline_soon, out_of_memory. Waits at most until
  // `wait_end`; a time that is not after `now` means not at all. Requires: the client is not busy.
  ReserveResult reserve(Client& client, Instant wait_end, Instant now);
  // As reserve(), for up to `count` jobs, which are added to `taken`: the one that reserve() would
  // give, and others as long as they fit and the work for them is bounded. Throws std::bad_alloc
  // before anything has changed.
  Outcome reserve_batch(Client& client, std::uint32_t count, BatchBound bound, Instant wait_end,
                        Instant now, std::vector<JobRef>& taken);
  // A batch is not filled up with more work than this: a client that watches many tubes has to look
  // through them for each job.
  static constexpr std::uint32_t kStepsPerBatch = 16 * 1024;
  // done (with the job), not_found, out_of_memory, journal_failed
  ReserveResult reserve_job(Client& client, JobId id, Instant now);
  // A client that waits and closed its writing side gets timed_out as a delivery.
  void stop_waiting(Client& client);
  // done, not_found, out_of_memory (what would remain of the job finds no place), journal_failed
  Outcome delete_job(Client& client, JobId id);
  // done (with the numbers), out_of_memory, journal_failed; then none is deleted. Throws
  // std::bad_alloc before anything has changed.
  DeleteResult delete_batch(Client& client, std::span<const JobId> ids);
  // done, buried, not_found, journal_failed
  Outcome release(Client& client, JobId id, std::uint32_t priority, std::uint32_t delay_s,
                  Instant now);
  // done, not_found, journal_failed
  Outcome bury(Client& client, JobId id, std::uint32_t priority);
  // done, not_found
  Outcome touch(Client& client, JobId id, Instant now);
  // done, out_of_memory
  Outcome watch(Client& client, std::string_view tube_name);
  // The same, with a weight from 1 to WatchWeights::kWeightMax. It counts while the client's
  // reserves go by weight; without one a watch keeps the weight that it has, which is 1 at first.
  Outcome watch(Client& client, std::string_view tube_name, std::uint32_t weight);
  // Whether reserves of the client are shared out among its tubes by weight, or get the job with
  // the best priority of all. done, waiting, out_of_memory. Requires: the client is not busy.
  // Throws std::bad_alloc before anything has changed.
  Outcome set_weighted(Client& client, bool weighted);
  // done, only_watched
  Outcome ignore(Client& client, std::string_view tube_name);

  // Others -------------------------------------------------------------------------------------

  // JobRef::none if there is none.
  JobRef peek(JobId id) const { return find(id); }
  JobRef peek_ready(const Client& client) const;
  JobRef peek_delayed(const Client& client) const;
  JobRef peek_buried(const Client& client) const;
  // done (with the number), waiting, journal_failed. Requires: the client is not busy.
  ManyResult kick(Client& client, std::uint32_t bound, Instant now);
  // Deletes the jobs that are in these states of the tube now. done (with the number), waiting,
  // not_found, journal_failed. From here on no command finds them; they are counted until they are
  // freed. If the client goes, the flush goes on. Requires: the client is not busy. Throws
  // std::bad_alloc before anything has changed.
  ManyResult flush(Client& client, std::string_view tube_name, JobStates states);
  // Whether long tasks, or the ends of tries, wait for the journal's disk; and has them go on. To
  // be called when the journal's may_try_again() says so.
  bool tasks_wait() const { return tasks_.has_waiting() || answered_later_; }
  void go_on_with_tasks(Instant now);
  // done, not_found, journal_failed
  Outcome kick_job(JobId id, Instant now);
  // done, not_found. 0 seconds end a pause.
  Outcome pause(std::string_view tube_name, std::uint32_t seconds, Instant now);

  // Bringing back (for the journal, before the first client is opened) ----------------------------

  // Takes in a job that is in no place yet. Until it is in one, it may be changed and dropped, and
  // nothing else may be called that looks at jobs. JobRef::none: no memory. Requires: no job has
  // the id, which is not 0.
  [[nodiscard]] JobRef restore(const RestoredJob& job, std::string_view tube_name, NewBody body);
  // The id stays, and so do the tags.
  void change_restored(JobRef ref, const RestoredJob& change);
  void drop_restored(JobRef ref) { jobs_.destroy(ref); }
  // Puts it where its state says, after those that are there in the case of buried jobs. False: no
  // memory.
  [[nodiscard]] bool place_restored(JobRef ref, Instant deadline);
  // Takes in what remains of a job whose key outlives it. JobStore::destroy_remains() drops it
  // until place_kept() has kept it. JobRef::none: no memory. Requires: no remains have the id.
  [[nodiscard]] JobRef restore_kept(const KeptKey& kept);
  // Takes the key, if its time is not over and nobody else in the tube has it: no job, and no
  // remains that were placed before. Requires: all jobs are in their places.
  [[nodiscard]] PlacedKey place_kept(JobRef remains);
  // The last step: ids go on from there, and tubes that have come to hold nothing are freed.
  void end_restore(JobId next_id);

  // For the journal, which writes down jobs that no command is about.
  JournaledJob journaled(JobRef ref) const;
  KeptKey kept(JobRef remains) const;
  JobStore& jobs() { return jobs_; }
  JobId next_id() const { return next_id_; }

  // Looking in ---------------------------------------------------------------------------------

  const JobStore& jobs() const { return jobs_; }
  const TubeTable& tubes() const { return tubes_; }
  // The list of all tubes, which advance() goes on writing. Throws std::bad_alloc.
  TubeList& tube_list() { return tubes_.list(); }
  // Writes some of it at once, if nobody else had some written since advance().
  void write_list() { tubes_.list().work(pages_); }
  const EngineCounts& counts() const { return counts_; }
  const Tube* find_tube(std::string_view name) const { return tubes_.find(name); }
  // Adds jobs whose id is at least `from` to `found`, in the order of their ids: up to `count` that
  // are in the tube (null: any) and in the state (nullopt: any). Looks at kScanned jobs at most.
  ScanResult scan(JobId from, std::uint32_t count, const Tube* tube, std::optional<JobState> state,
                  std::vector<JobRef>& found);
  static constexpr std::uint32_t kScanned = 1000;
  // Adds the next `count` jobs of the tube that are in the state, in the order in which they will
  // be served. Requires: not reserved. Throws std::bad_alloc.
  void list(const Tube& tube, JobState state, std::uint32_t count, std::vector<JobRef>& found);
  // How many clients wait on a tube. O(clients with many watches that watch it), counted as steps.
  std::uint32_t waiting_clients(const Tube& tube);
  // How long jobs of a tube wait and are worked on (engine_detail.cpp). Does detail_steps().
  TubeDetail detail(const Tube& tube, Instant now);
  static std::uint32_t detail_steps(const Tube& tube);
  std::optional<JobReport> report(JobId id, Instant now) const;
  // Requires: the job exists.
  JobReport report(JobRef ref, Instant now) const;
  // Ends the program if anything does not fit together. Costs a walk over everything; for tests.
  void check_invariants() const;

 private:
  using Kick = engine_tasks::Kick;
  using Orphans = engine_tasks::Orphans;
  using Flush = engine_tasks::Flush;
  using ModeChange = engine_tasks::ModeChange;
  using Tasks = LongTasks<engine_tasks::Work>;
  using LongTask = Tasks::Task;

  class Inspection;  // engine_invariants.cpp

  // Tubes and clients (engine_clients.cpp)
  void free_if_unreferenced(Tube& tube);
  bool add_watch(Client& client, Tube& tube);
  bool add_to_index(Client& client, Watch& watch);
  void become_many(Client& client);
  void become_few(Client& client);
  void remove_watch(Client& client, Watch& watch);
  void drop_watch(Watch& watch, bool of_many);
  Watch* find_watch(const Client& client, Tube& tube);
  Client* first_waiting(Tube& tube);
  [[gnu::cold, gnu::noinline]] Client* first_of_many_waiting(Tube& tube, std::uint64_t before);
  void make_room_for_delivery();
  void mark_worker(Client& client);
  Tube* best_tube(const Client& client);
  [[gnu::cold, gnu::noinline]] Tube* best_weighted(const Client& client);
  bool make_weights(Client& client);
  Outcome change_some(ModeChange& change, Client& client, std::uint32_t& budget);
  void update_offer(Client& client, Watch& watch);
  [[gnu::cold, gnu::noinline]] void charge(Client& client, Tube& tube);
  void start_waiting(Client& client, Instant wait_end);
  void end_wait(Client& client);
  void deliver(Client& client, Delivery::Kind kind, JobRef job, std::uint64_t count);
  bool is_deadline_soon(const Client& client, Instant now) const;

  bool is_job_memory_limited() const { return job_memory_bytes_max_ != kNoShortage; }
  bool admit(std::uint64_t asked_bytes);
  Outcome begin_job(Tube& tube, const NewJob& put, JobRef ref, Instant now);
  [[gnu::noinline]] Outcome put_with_tags(Tube& tube, const NewJob& put, const ReadTags& read,
                                          NewBody&& body, Instant now);

  // Keys (engine_keys.cpp)
  bool admit_with_tags(const Tube& tube, const ReadTags& tags, std::size_t body_bytes);
  bool take_up_tags(const Tube& tube, JobRef ref, const JobTags& tags,
                    const UniqueKeys::Found& key);
  Outcome put_again(Tube& tube, JobRef holder, std::uint32_t priority);
  void raise_priority(Tube& tube, JobRef ref, std::uint32_t priority);
  bool restore_tags(JobRef ref);
  [[gnu::noinline]] bool let_go_of_tags(JobRef ref);

  // Keys that outlive their jobs (engine_kept.cpp)
  JobRef find_kept(const Tube& tube, std::string_view key, std::uint64_t key_hash);
  // Whether something remains of the job when it is deleted.
  bool leaves_key(JobRef ref) const {
    return keys_to_keep_.keys > 0 && jobs_[ref].has_tags != 0 && jobs_.has_kept_key(ref) &&
           keys_.holds(ref);
  }
  JobRef make_remains(JobRef ref);
  bool make_remains(std::span<const JobRef> refs, std::vector<JobRef>& remains);
  void unmake_remains(std::span<const JobRef> remains);
  [[gnu::cold, gnu::noinline]] Outcome delete_leaving_key(Client& client, JobRef ref);
  void drop_kept(JobRef remains);
  [[gnu::cold, gnu::noinline]] void drop_ended_keys(std::uint32_t& budget);
  [[gnu::noinline]] void count_key_to_keep(JobRef ref, bool entered);
  std::uint64_t bytes_more_when_deleted(JobRef ref, std::size_t name_bytes) const;

  // Lanes (engine_lanes.cpp). None but the first two can fail.
  bool join_lane_of_put(const Tube& tube, JobRef ref, const JobTags& tags);
  bool restore_lane(JobRef ref, const JobTags& tags);
  void join_lane(Lane& lane, JobRef ref);
  void forget_flushed(Lane& lane);
  Lane& lane_of(JobRef ref);
  void open_next(Lane& lane);
  void set_blocked(JobRef ref, bool is_blocked);
  bool has_lane(JobRef ref, const Job& job) const {
    return job.has_tags != 0 && lanes_.size() > 0 && jobs_.has_lane(ref, job);
  }
  bool has_lane(JobRef ref) const { return has_lane(ref, jobs_[ref]); }
  // Requires of all of them: has_lane().
  [[gnu::cold, gnu::noinline]] void enter_ready_in_lane(JobRef ref);
  [[gnu::cold, gnu::noinline]] void leave_ready_in_lane(JobRef ref);
  [[gnu::cold, gnu::noinline]] void begin_reserved_in_lane(JobRef ref);
  [[gnu::cold, gnu::noinline]] void end_reserved_in_lane(JobRef ref);
  [[gnu::cold, gnu::noinline]] void leave_lane(JobRef ref);
  [[gnu::cold, gnu::noinline]] std::uint32_t offer_steps_of_lane(JobId id) const;
  std::vector<Tube*> tubes_with_lanes(std::span<const JobRef> refs);
  [[gnu::cold, gnu::noinline]] void offer_many(Tube& tube, Instant now);
  void offer_each(std::span<Tube* const> tubes);
  void list_ready(const Tube& tube, std::uint32_t count, std::vector<JobRef>& found);

  // Where jobs are (engine_places.cpp)
  void count_place(Tube& tube, const Job& job, bool entered);
  void count_place(Tube& tube, const Job& job, JobState state, bool entered);
  void enter_ready(JobRef ref);  // Requires: room in the heap.
  // The same, for a job that has been ready since its ready_since().
  void enter_ready_again(JobRef ref);
  void enter_ready_again(JobRef ref, Job& job);
  void enter_delayed(JobRef ref, Instant deadline);  // Requires: room in the heap.
  void enter_buried(JobRef ref);
  void enter_reserved(Client& client, JobRef ref, Instant now);  // Requires: room in the heap.
  Outcome enter_ready_or_buried(JobRef ref);
  // Requires: it was reserved until now, and is in no place.
  void take_back(JobRef ref, Tube& tube, Instant now);
  // Requires of both: room in the journal.
  // `offers_next`: the job of a lane that may be reserved instead is offered at once.
  void delete_found(Client& client, JobRef ref, bool offers_next);
  // `remains`: as make_remains() has made them.
  [[gnu::cold, gnu::noinline]] void delete_each(Client& client, std::span<const JobRef> refs,
                                                std::span<const JobRef> remains);
  Outcome enter_after_delay(JobRef ref, Instant now);
  void leave(JobRef ref);  // Of a job that is not reserved.
  void leave_reserved(Client& client, JobRef ref);
  // Inlined, where the tube of the job is at hand.
  JournaledJob journaled(JobRef ref, const Job& job, const Tube& tube) const {
    const bool is_delayed = job.state() == JobState::delayed;
    return {ref, job, tube.name, is_delayed ? delayed_deadline(ref, job, tube) : Instant{}};
  }
  Instant reserved_until(const Job& job, Instant otherwise) const;
  JobRef held_by(const Client& client, JobId id) const;
  // The job of that id, unless a flush has it.
  JobRef find(JobId id) const {
    const JobRef ref = jobs_.find(id);
    if (flushes_ == 0 || ref == JobRef::none) [[likely]]
      return ref;
    return is_flushed(ref) ? JobRef::none : ref;
  }
  Tube& tube_of(const Job& job) { return tubes_[job.tube]; }
  void announce_offer(Tube& tube) {
    if (tube.many_watchers > 0) [[unlikely]]
      announce_offer_to_many(tube);
  }
  [[gnu::cold, gnu::noinline]] void announce_offer_to_many(Tube& tube);
  bool offer_one(Tube& tube, Instant now);
  void offer(Tube& tube, Instant now);

  // What tubes know of times (engine_detail.cpp). None of it can fail, as in counted_times.hpp.
  // Of a job that has come to the ready heap, or is about to leave it, where they are many.
  [[gnu::noinline]] void count_ready(Tube& tube, const Job& job);
  [[gnu::noinline]] void count_less_ready(Tube& tube, const Job& job);
  void count_buried(Tube& tube, JobRef ref);
  void put_back_run(Flush& flush, Tube& tube, JobRef ref);

  // Limits of tries (engine_tries.cpp)
  // Whether it is worth asking more.
  bool may_have_tries(const Job& job) const { return tries_max_ > 0 || job.has_tags != 0; }
  std::uint32_t tries_of(JobRef ref) const;
  bool has_tries(JobRef ref) const { return tries_max_ > 0 || jobs_.has_tries(ref); }
  bool is_spent(JobRef ref) const;
  [[gnu::cold, gnu::noinline]] void count_buried_with_tags(const Job& job, bool entered);
  // Room for the record by which a job may come out of burial.
  JournalStatus reserve_unburial(JobRef ref);
  // Requires: it is in no place, and there is room for its record or it can wait for it.
  void bury_spent(JobRef ref);
  // done (it is ready), buried. Requires: it is in no place.
  [[gnu::cold, gnu::noinline]] Outcome end_try(JobRef ref);
  // Each takes one off the budget. With a budget of 0 the rest is due at once.
  void record_late_burials(std::uint32_t& budget);
  bool is_room(JournalStatus status);

  // Time and backlog (engine_time.cpp)
  void arm(Timer& timer, Instant deadline);
  void arm_tube(Tube& tube);
  void arm_client(Client& client);
  void end_pause(Tube& tube, Instant now, std::uint32_t& budget);
  void fire_tube(Tube& tube, Instant now, std::uint32_t& budget);
  void fire_client(Client& client, Instant now, std::uint32_t& budget);
  void time_out(Client& client, Instant now);
  void pay(std::uint32_t& budget, std::uint64_t steps_before) const;

  // Long tasks (engine_tasks.cpp)
  void work_on_tasks(Instant now, std::uint32_t budget);
  void end_task(std::unique_ptr<LongTask> task);
  void leave_task(Client& client);
  // Whether the task is done. Requires: the budget is not 0.
  TaskState step(LongTask& task, Kick& kick, Instant now, std::uint32_t& budget);
  TaskState step(LongTask& task, Orphans& orphans, Instant now, std::uint32_t& budget);
  TaskState step(LongTask& task, Flush& flush, Instant now, std::uint32_t& budget);
  TaskState step(LongTask& task, ModeChange& change, Instant now, std::uint32_t& budget);
  Outcome kick_some(Kick& kick, Tube& tube, Instant now, std::uint32_t& budget);

  // Flushes (engine_flush.cpp)
  [[gnu::cold, gnu::noinline]] bool is_flushed(JobRef ref) const;
  [[gnu::noinline]] Instant delayed_deadline(JobRef ref, const Job& job, const Tube& tube) const;
  std::optional<std::uint32_t> free_burials(const Tube& tube) const;
  void take_buried(Flush& flush, Tube& tube);
  TaskState free_some(Flush& flush, Tube& tube, std::uint32_t& budget);
  [[gnu::cold, gnu::noinline]] void free_flushed(Flush& flush, Tube& tube, JobRef ref,
                                                 Instant deadline);
  void put_back(Flush& flush, Tube& tube, Instant now, std::uint32_t& budget);
  void leave_behind(Orphans orphans, Instant now);
  JobRef take_orphan(Orphans& orphans);
  void give_back(Orphans& orphans, Instant now, std::uint32_t& budget);
  void drop_watches(Orphans& orphans, std::uint32_t& budget);

  Journal& journal_;
  JobStore jobs_;
  Lanes lanes_;
  UniqueKeys keys_;
  KeptKeys kept_;
  KeptRoom keys_to_keep_;
  DuplicatePut duplicate_;
  TubeTable tubes_;
  TimerWheel wheel_;
  RefTable<Client, ClientRef> clients_;
  Tube* default_tube_;
  JobId next_id_ = 1;
  Instant now_;                          // The last instant that was named.
  const Tube* restored_tube_ = nullptr;  // Of the last job that was restored, until the end of it.
  static constexpr std::uint64_t kNoShortage = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t job_memory_bytes_max_ = kNoShortage;
  std::uint64_t job_memory_short_above_ = kNoShortage;
  std::uint64_t arrivals_ = 0;  // Of jobs in heaps by deadline.
  EngineCounts counts_;
  // Has room for one delivery to every client that is busy, so that delivering cannot fail.
  std::vector<Delivery> deliveries_;
  std::uint32_t tries_max_ = 0;            // 0: no limit but those of tags.
  std::uint64_t buried_with_tries_ = 0;    // Buried jobs with a limit by their tag.
  std::vector<JobId> late_burials_;        // That are yet to be recorded,
  bool answered_later_ = false;            // The journal waits to be asked whether it is time.
  Instant late_again_ = Instant::never();  // and when the journal is asked again.
  SpentJobCounts spent_jobs_;
  Tasks tasks_;
  std::uint32_t flushes_ = 0;  // That are under way.
  std::uint32_t pages_ = kPagesPerCall;
  std::uint64_t steps_ = 0;
  std::uint64_t waits_ = 0;              // Numbers those who wait.
  std::uint32_t waiting_with_many_ = 0;  // Clients with many watches that wait.
  std::uint32_t budget_ = kJobsPerCall;  // Of jobs that commands may move until advance().
};

}  // namespace haricot
