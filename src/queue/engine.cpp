#include "haricot/queue/engine.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/base/job_tags.hpp"
#include "haricot/queue/counted_times.hpp"

// The commands. What they are made of is in engine_clients.cpp (tubes, watching, waiting),
// engine_places.cpp (where a job is), engine_keys.cpp, engine_kept.cpp and engine_lanes.cpp (what
// tags ask for), engine_time.cpp (timers), and engine_tasks.cpp (what is long, kick among it).

namespace haricot {
namespace {

// What becomes of a change for which the journal has no room now.
Outcome refused_change(JournalStatus status) {
  return status == JournalStatus::later ? Outcome::not_yet : Outcome::journal_failed;
}

Outcome refused_put(JournalStatus status) {
  return status == JournalStatus::full ? Outcome::out_of_memory : refused_change(status);
}

// Like reserve(), but growing by doubling however often it is called.
template <typename T>
void make_room(std::vector<T>& vector, std::size_t wanted) {
  if (vector.capacity() < wanted) vector.reserve(std::max(wanted, 2 * vector.capacity()));
}

}  // namespace

Engine::Engine(Instant now, Journal& journal, const HashKey& key)
    : journal_(journal),
      jobs_(journal.keeps_notes()),
      lanes_(jobs_, key),
      keys_(jobs_, key),
      kept_(jobs_, key),
      tubes_(key),
      wheel_(now),
      default_tube_(tubes_.create("default")),
      now_(now) {
  CHECK(default_tube_ != nullptr);
}

Engine::~Engine() {
  for (std::uint32_t i = 0; i < tubes_.size(); ++i) {
    wheel_.cancel(tubes_[tubes_.at(i).ref].timer);
  }
  while (const std::unique_ptr<LongTask> task = tasks_.take_first()) {
    auto* orphans = std::get_if<Orphans>(&task->work);
    for (std::uint32_t i = 0; orphans != nullptr && i < orphans->watches.size(); ++i) {
      orphans->watches[i]->tube->watchers.remove(*orphans->watches[i]);
      delete orphans->watches[i];
    }
  }
}

void Engine::make_room_for_delivery() {
  make_room(deliveries_, deliveries_.size() + counts_.waiting + tasks_.awaited() + 1);
}

// Producers -------------------------------------------------------------------------------------

void Engine::mark_producer(Client& client) {
  if (!client.producer_) ++counts_.producers;
  client.producer_ = true;
}

bool Engine::admit(std::uint64_t asked) {
  if (!is_job_memory_limited()) return true;
  const std::uint64_t wanted = job_memory_bytes() + asked;
  // Between the two bounds nothing changes: a client that takes one job out and puts one in does
  // not end the shortage.
  const std::uint64_t plenty = job_memory_bytes_max_ - job_memory_bytes_max_ / 8;
  if (wanted <= job_memory_bytes_max_) {
    const bool is_over = wanted <= plenty || !is_short_of_job_memory();
    if (is_over) job_memory_short_above_ = kNoShortage;
    return true;
  }
  ++counts_.refused_puts;
  if (!is_short_of_job_memory()) job_memory_short_above_ = plenty;
  // A body that never fits says nothing of how full the memory is.
  if (asked < job_memory_bytes_max_) {
    job_memory_short_above_ = std::min(job_memory_short_above_, job_memory_bytes_max_ - asked);
  }
  return false;
}

bool Engine::admit_put(std::size_t body_bytes, std::size_t tag_bytes) {
  return admit(jobs_.memory_bytes_for(body_bytes, tag_bytes));
}

Outcome Engine::put(Client& client, const NewJob& put, NewBody&& body, Instant now) {
  now_ = now;
  Tube& tube = *client.used_;
  if (!put.tags.empty()) [[unlikely]]
    return put.read_tags == nullptr
               ? put_with_tags(tube, put, {put.tags, tags_in(put.tags)}, std::move(body), now)
               : put_with_tags(tube, put, *put.read_tags, std::move(body), now);
  if (is_job_memory_limited() && !admit(jobs_.memory_bytes_for(body.size()))) {
    return Outcome::out_of_memory;
  }
  const JournalStatus room =
      journal_.reserve_put({tube.name.size(), body.size(), 0, tries_max_ > 0}, body.blob);
  if (room != JournalStatus::ok) return refused_put(room);
  const JobRef ref = jobs_.create(put.id, std::move(body));
  if (ref == JobRef::none) {
    journal_.release_room();
    return Outcome::out_of_memory;
  }
  const Outcome outcome = begin_job(tube, put, ref, now);
  offer(tube, now);
  return outcome;
}

Outcome Engine::put_with_tags(Tube& tube, const NewJob& put, const ReadTags& read, NewBody&& body,
                              Instant now) {
  const JobTags& tags = read.tags;
  if (!admit_with_tags(tube, read, body.size())) return Outcome::out_of_memory;
  UniqueKeys::Found key;
  if (!tags.unique_key.empty()) {
    key = keys_.find(tube.ref, tags.unique_key);
    const bool is_held = key.holder != JobRef::none && (flushes_ == 0 || !is_flushed(key.holder));
    if (is_held) return put_again(tube, key.holder, put.priority);
    if (kept_.size() > 0) [[unlikely]] {
      const JobRef remains = find_kept(tube, tags.unique_key, key.key_hash);
      if (remains != JobRef::none) {
        duplicate_ = {.job = remains, .is_deleted = true};
        return Outcome::duplicate;
      }
    }
  }
  const bool may_be_buried = tries_max_ > 0 || tags.tries > 0;
  const std::size_t kept_key_bytes = tags.kept_s > 0 ? tags.unique_key.size() : 0;
  const JournalStatus room = journal_.reserve_put(
      {tube.name.size(), body.size(), put.tags.size(), may_be_buried, kept_key_bytes}, body.blob);
  if (room != JournalStatus::ok) return refused_put(room);
  const JobRef ref = jobs_.create(put.id, std::move(body), read);
  if (ref == JobRef::none || !take_up_tags(tube, ref, tags, key)) {
    journal_.release_room();
    return Outcome::out_of_memory;
  }
  if (tags.kept_s > 0) [[unlikely]] {
    jobs_[ref].tube = tube.ref;
    count_key_to_keep(ref, true);
  }
  const Outcome outcome = begin_job(tube, put, ref, now);
  if (tags.lane.empty()) {
    offer(tube, now);
  } else {
    offer_many(tube, now);
  }
  return outcome;
}

// What a job that was just created becomes. Inlined, as a call would make each put dearer.
// Requires: room in the journal.
[[gnu::always_inline]] inline Outcome Engine::begin_job(Tube& tube, const NewJob& put, JobRef ref,
                                                        Instant now) {
  Job& job = jobs_[ref];
  job.created = now;
  job.priority = put.priority;
  job.delay_s = put.delay_s;
  job.ttr_s = std::max(put.ttr_s, std::uint32_t{1});
  job.tube = tube.ref;
  ++tube.total_jobs;
  ++counts_.total_jobs;

  const Outcome outcome = enter_after_delay(ref, now);
  journal_.record_put(journaled(ref, job, tube));
  return outcome;
}

Outcome Engine::use(Client& client, std::string_view tube_name) {
  Tube* tube = tubes_.find_or_create(tube_name);
  if (tube == nullptr) return Outcome::out_of_memory;
  ++tube->using_clients;
  --client.used_->using_clients;
  free_if_unreferenced(*std::exchange(client.used_, tube));
  return Outcome::done;
}

void Engine::mark_worker(Client& client) {
  if (!client.worker_) ++counts_.workers;
  client.worker_ = true;
}

// Workers ---------------------------------------------------------------------------------------

std::uint32_t Engine::reserve_steps(const Client& client) const {
  return client.has_many_watches() ? 1 : client.watches_.size();
}

// The tube with the first job of all that the client could get now; null if there is none.
Tube* Engine::best_tube(const Client& client) {
  if (client.has_many_watches()) {
    const Watch* watch = client.index_->best_offer();
    return watch == nullptr ? nullptr : watch->tube;
  }
  if (client.is_weighted()) [[unlikely]]
    return best_weighted(client);
  Tube* best = nullptr;
  const std::uint32_t watches = client.watches_.size();
  for (std::uint32_t i = 0; i < watches; ++i) {
    Tube& tube = *client.watches_[i]->tube;
    if (!tube.offers_job()) continue;
    if (best == nullptr || tube.ready.top() < best->ready.top()) best = &tube;
  }
  steps_ += watches;
  return best;
}

ReserveResult Engine::reserve(Client& client, Instant wait_end, Instant now) {
  now_ = now;
  CHECK(!client.is_busy());
  mark_worker(client);
  if (!client.reserved_.reserve_one()) return {Outcome::out_of_memory};

  if (Tube* best = best_tube(client); best != nullptr) {
    const JobRef ref = best->ready.top().job;
    count_queued(*best, jobs_[ref], now_);
    leave(ref);
    enter_reserved(client, ref, now);
    if (client.is_weighted()) [[unlikely]]
      charge(client, *best);
    announce_offer(*best);
    return {Outcome::done, ref};
  }
  if (is_deadline_soon(client, now)) return {Outcome::deadline_soon};
  if (wait_end <= now) return {Outcome::timed_out};
  make_room_for_delivery();
  start_waiting(client, wait_end);
  return {Outcome::waiting};
}

ReserveResult Engine::reserve_job(Client& client, JobId id, Instant now) {
  now_ = now;
  const JobRef ref = find(id);
  if (ref == JobRef::none || jobs_[ref].state() == JobState::reserved) return {Outcome::not_found};
  const bool has_memory = client.reserved_.reserve_one();
  // A restart makes reserved jobs ready. For a ready one that is so without a word; one that was
  // buried or delayed would be that again.
  const bool has_to_be_recorded = jobs_[ref].state() != JobState::ready;
  JournalStatus room = JournalStatus::ok;
  if (has_memory && has_to_be_recorded) room = reserve_unburial(ref);
  if (room == JournalStatus::later) return {Outcome::not_yet};
  mark_worker(client);
  if (!has_memory) return {Outcome::out_of_memory};
  if (room != JournalStatus::ok) return {refused_change(room)};
  if (!has_to_be_recorded) count_queued(tube_of(jobs_[ref]), jobs_[ref], now_);
  leave(ref);
  enter_reserved(client, ref, now);
  announce_offer(tube_of(jobs_[ref]));
  if (has_to_be_recorded) journal_.record_update(journaled(ref));
  return {Outcome::done, ref};
}

void Engine::stop_waiting(Client& client) {
  if (!client.waiting_) return;
  end_wait(client);
  deliver(client, Delivery::Kind::timed_out, JobRef::none, 0);
}

Outcome Engine::delete_job(Client& client, JobId id) {
  const JobRef ref = find(id);
  if (ref == JobRef::none) return Outcome::not_found;
  const bool is_reserved = jobs_[ref].state() == JobState::reserved;
  if (is_reserved && jobs_[ref].holder() != client.ref_) return Outcome::not_found;
  if (leaves_key(ref)) [[unlikely]]
    return delete_leaving_key(client, ref);
  const JournalStatus room = journal_.reserve_delete();
  if (room != JournalStatus::ok) return refused_change(room);
  delete_found(client, ref, true);
  return Outcome::done;
}

Outcome Engine::delete_leaving_key(Client& client, JobRef ref) {
  const JobRef remains = make_remains(ref);
  if (remains == JobRef::none) return Outcome::out_of_memory;
  const JournalStatus room = journal_.reserve_delete_kept(kept_.room_of({&remains, 1}));
  if (room != JournalStatus::ok) {
    unmake_remains({&remains, 1});
    return refused_change(room);
  }
  journal_.record_kept(kept(remains));
  delete_found(client, ref, true);
  return Outcome::done;
}

void Engine::delete_each(Client& client, std::span<const JobRef> refs,
                         std::span<const JobRef> remains) {
  for (std::size_t i = 0; i < refs.size(); ++i) {
    const bool leaves_key = !remains.empty() && remains[i] != JobRef::none;
    if (leaves_key) journal_.record_kept(kept(remains[i]));
    delete_found(client, refs[i], false);
  }
}

// Inlined, as a call would make each deletion dearer.
[[gnu::always_inline]] inline void Engine::delete_found(Client& client, JobRef ref,
                                                        bool offers_next) {
  const bool is_reserved = jobs_[ref].state() == JobState::reserved;
  Tube& tube = tube_of(jobs_[ref]);
  // Looked at before it leaves: the deadline of a delayed job stands in the heap that it leaves.
  const JournaledJob deleted = journaled(ref, jobs_[ref], tube);
  if (is_reserved) {
    const Job& job = jobs_[ref];
    count_worked(tube, client.reserved_.at(job.heap_index()).deadline, job.ttr_s, now_);
    leave_reserved(client, ref);
  } else {
    leave(ref);
  }
  journal_.record_delete(deleted);
  bool leaves_lane = false;
  if (deleted.job.has_tags != 0) [[unlikely]]
    leaves_lane = let_go_of_tags(ref);
  jobs_.destroy(ref);
  if (leaves_lane && offers_next) [[unlikely]] {
    offer(tube, now_);
  } else {
    announce_offer(tube);
  }
  ++tube.deletes;
  free_if_unreferenced(tube);
}

Outcome Engine::release(Client& client, JobId id, std::uint32_t priority, std::uint32_t delay_s,
                        Instant now) {
  now_ = now;
  const JobRef ref = held_by(client, id);
  if (ref == JobRef::none) return Outcome::not_found;
  const JournalStatus room = journal_.reserve_update();
  if (room != JournalStatus::ok) return refused_change(room);

  Job& job = jobs_[ref];
  Tube& tube = tube_of(job);
  leave_reserved(client, ref);
  job.priority = priority;
  job.delay_s = delay_s;
  jobs_.count(ref, JobEvent::release);
  Outcome outcome = Outcome::buried;
  if (may_have_tries(job) && is_spent(ref)) [[unlikely]] {
    bury_spent(ref);
  } else {
    outcome = enter_after_delay(ref, now);
  }
  journal_.record_update(journaled(ref));
  offer(tube, now);
  return outcome;
}

Outcome Engine::bury(Client& client, JobId id, std::uint32_t priority) {
  const JobRef ref = held_by(client, id);
  if (ref == JobRef::none) return Outcome::not_found;
  const JournalStatus room = journal_.reserve_update();
  if (room != JournalStatus::ok) return refused_change(room);
  leave_reserved(client, ref);
  jobs_[ref].priority = priority;
  jobs_.count(ref, JobEvent::bury);
  enter_buried(ref);
  journal_.record_update(journaled(ref));
  if (has_lane(ref)) offer(tube_of(jobs_[ref]), now_);
  return Outcome::done;
}

Outcome Engine::touch(Client& client, JobId id, Instant now) {
  now_ = now;
  const JobRef ref = held_by(client, id);
  if (ref == JobRef::none) return Outcome::not_found;
  const Job& job = jobs_[ref];
  client.reserved_.replace(
      job.heap_index(), DeadlineSlot{now + Duration::seconds(job.ttr_s), ++arrivals_, ref}, jobs_);
  return Outcome::done;
}

Outcome Engine::watch(Client& client, std::string_view tube_name) {
  Tube* tube = tubes_.find_or_create(tube_name);
  if (tube == nullptr) return Outcome::out_of_memory;
  if (find_watch(client, *tube) != nullptr) return Outcome::done;
  if (add_watch(client, *tube)) return Outcome::done;
  free_if_unreferenced(*tube);
  return Outcome::out_of_memory;
}

Outcome Engine::ignore(Client& client, std::string_view tube_name) {
  Tube* tube = tubes_.find(tube_name);
  Watch* watch = tube == nullptr ? nullptr : find_watch(client, *tube);
  if (watch == nullptr) return Outcome::done;
  if (client.watches_.size() == 1) return Outcome::only_watched;
  remove_watch(client, *watch);
  return Outcome::done;
}

// Others ----------------------------------------------------------------------------------------

JobRef Engine::peek_ready(const Client& client) const {
  return client.used_->ready.empty() ? JobRef::none : client.used_->ready.top().job;
}

JobRef Engine::peek_delayed(const Client& client) const {
  return client.used_->delayed.empty() ? JobRef::none : client.used_->delayed.top().job;
}

JobRef Engine::peek_buried(const Client& client) const {
  return client.used_->first_buried;
}

Outcome Engine::kick_job(JobId id, Instant now) {
  now_ = now;
  const JobRef ref = find(id);
  if (ref == JobRef::none) return Outcome::not_found;
  const JobState state = jobs_[ref].state();
  if (state != JobState::buried && state != JobState::delayed) return Outcome::not_found;
  Tube& tube = tube_of(jobs_[ref]);
  if (!tube.ready.reserve_one()) return Outcome::not_found;
  const JournalStatus room = reserve_unburial(ref);
  if (room != JournalStatus::ok) return refused_change(room);
  leave(ref);
  jobs_.count(ref, JobEvent::kick);
  enter_ready(ref);
  journal_.record_update(journaled(ref));
  offer(tube, now);
  return Outcome::done;
}

Outcome Engine::pause(std::string_view tube_name, std::uint32_t seconds, Instant now) {
  now_ = now;
  Tube* tube = tubes_.find(tube_name);
  if (tube == nullptr) return Outcome::not_found;
  ++tube->pauses;
  tube->paused = seconds > 0;
  tube->pause_s = seconds;
  tube->pause_end = now + Duration::seconds(seconds);
  if (seconds == 0) {
    end_pause(*tube, now, budget_);
  } else {
    announce_offer(*tube);
  }
  arm_tube(*tube);
  return Outcome::done;
}

// Looking in ------------------------------------------------------------------------------------

std::optional<JobReport> Engine::report(JobId id, Instant now) const {
  const JobRef ref = find(id);
  if (ref == JobRef::none) return std::nullopt;
  return report(ref, now);
}

JobReport Engine::report(JobRef ref, Instant now) const {
  const Job& job = jobs_[ref];
  const Tube& tube = tubes_[job.tube];
  Instant deadline = now;
  if (job.state() == JobState::delayed) deadline = tube.delayed.at(job.heap_index()).deadline;
  if (job.state() == JobState::reserved) deadline = reserved_until(job, now);
  return JobReport{.id = job.id,
                   .tube = &tube,
                   .state = job.state(),
                   .priority = job.priority,
                   .delay_s = job.delay_s,
                   .ttr_s = job.ttr_s,
                   .age_s = (now - job.created).whole_seconds(),
                   .time_left_s = (deadline - now).whole_seconds(),
                   .file = journal_.file_of(ref),
                   .body_bytes = job.body_bytes,
                   .reserves = jobs_.counted(ref, JobEvent::reserve),
                   .timeouts = jobs_.counted(ref, JobEvent::timeout),
                   .releases = jobs_.counted(ref, JobEvent::release),
                   .buries = jobs_.counted(ref, JobEvent::bury),
                   .kicks = jobs_.counted(ref, JobEvent::kick),
                   .tags = jobs_.tags(ref)};
}

}  // namespace haricot
