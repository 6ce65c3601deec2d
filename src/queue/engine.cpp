// Commands of producers and workers. Long tasks for many jobs are in Backlog, read-only
// queries in Queries.

#include "haricot/queue/engine.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/base/job_tags.hpp"

namespace haricot {
namespace {

// Returns the outcome of a change for which the journal has no room now.
Outcome refused_change(JournalStatus status) {
  return status == JournalStatus::later ? Outcome::not_yet : Outcome::journal_failed;
}

Outcome refused_put(JournalStatus status) {
  return status == JournalStatus::full ? Outcome::out_of_memory : refused_change(status);
}

}  // namespace

Engine::Engine(Instant now, Journal& journal, const HashKey& key)
    : state_(now, journal, key),
      flushes_(state_),
      tries_(state_, flushes_),
      lanes_(state_, flushes_, key),
      keys_(state_, flushes_, key),
      groups_(state_.jobs, key),
      extras_(state_, lanes_, keys_, groups_),
      memory_(state_, extras_),
      times_(state_),
      rules_(state_),
      queries_(state_, flushes_, lanes_, times_, rules_),
      job_waits_(state_, key),
      places_(state_, times_, extras_, job_waits_),
      restoring_(state_, keys_, groups_, extras_, places_),
      watching_(state_),
      serving_(state_, flushes_, tries_, groups_, places_, watching_),
      backlog_(state_, flushes_, tries_, keys_, groups_, places_, watching_, serving_, lanes_,
               job_waits_),
      serializer_(state_, lanes_, keys_, groups_, places_, restoring_, watching_, serving_,
                  job_waits_) {}

void Engine::close(Client& client, Instant now) {
  state_.now = now;
  if (client.is_waiting()) watching_.end_wait(client);
  queries_.forget_search(client);
  backlog_.close(client);
}

// Time -------------------------------------------------------------------------------------------

void Engine::advance(Instant now) {
  state_.now = now;
  backlog_.advance();
}

void Engine::advance_tasks(Instant now) {
  state_.now = now;
  backlog_.advance_tasks();
}

void Engine::resume_tasks(Instant now) {
  state_.now = now;
  backlog_.resume();
}

// Producers --------------------------------------------------------------------------------------

// Returns the room for the record of a new job, and for the records that are promised to it.
PutRoom Engine::room_for(const Tube& tube, std::size_t body_bytes, const ReadTags& read,
                         bool is_held) const {
  const JobTags& tags = read.tags;
  return {.tube_name_bytes = tube.name.size(),
          .body_bytes = body_bytes,
          .tag_bytes = read.text.size(),
          .may_be_buried = tries_.limits_all() || tags.set.has_any(kTryTags),
          .is_held = is_held,
          .has_facts = tags.set.has_any(kTagsWithFacts),
          .tombstone_key_bytes = tags.tombstone_s > 0 ? tags.unique_key.size() : 0};
}

PutRoom Engine::room_of(JobRef ref) const {
  const std::string_view text = state_.jobs.tags(ref);
  PutRoom room = room_for(state_.tubes[state_.jobs[ref].tube], state_.jobs[ref].body_bytes,
                          {text, tags_in(text)}, state_.jobs.is_held(ref));
  room.may_be_buried = may_be_buried(ref);
  return room;
}

Outcome Engine::put(Client& client, const NewJob& put, NewBody&& body, Instant now) {
  state_.now = now;
  Tube& tube = state_.used_by(client);
  if (state_.put_checks != 0) [[unlikely]] {
    if (const std::optional<Outcome> end = put_checked(tube, put, body); end) return *end;
  } else if (!put.tags.empty()) [[unlikely]] {
    return put.read_tags == nullptr
               ? put_with_tags(tube, put, {put.tags, tags_in(put.tags)}, std::move(body))
               : put_with_tags(tube, put, *put.read_tags, std::move(body));
  }
  if (!Serving::allocate_after_delay(tube, put.delay_s)) return Outcome::out_of_memory;
  const JournalStatus room = state_.journal.take_room_for_put(
      {tube.name.size(), body.size(), 0, tries_.limits_all()}, body.blob);
  if (room != JournalStatus::ok) return refused_put(room);
  const JobRef ref = state_.jobs.create(put.id, std::move(body));
  if (ref == JobRef::none) {
    state_.journal.release_room();
    return Outcome::out_of_memory;
  }
  begin_job(tube, put, ref, nullptr);
  serving_.serve(tube);
  return Outcome::done;
}

// Checks a put by the limit of memory, and puts it if it has tags, with those of its rule. Returns
// nothing if it has none and is within the limit.
std::optional<Outcome> Engine::put_checked(Tube& tube, const NewJob& put, NewBody& body) {
  const TubeRule* const rule = rules_.of(tube);
  if (rule == nullptr && put.tags.empty()) {
    if (memory_.admit(state_.jobs.memory_bytes_for(body.size()))) return std::nullopt;
    return Outcome::out_of_memory;
  }
  ReadTags read;
  if (put.read_tags != nullptr) {
    read = *put.read_tags;
  } else {
    read = {put.tags, tags_in(put.tags)};
  }
  TagText text;
  if (rule != nullptr && read.text.empty()) {
    read = rule->read;
  } else if (rule != nullptr) {
    const JobTags all = with_missing(read.tags, rule->read.tags);
    if (all.set != read.tags.set) {
      const std::size_t bytes = read.text.size() + 1 + rule->text.view().size();
      if (bytes > kTagTextBytesMax) return Outcome::too_big;
      read.tags = text.write(all);
      read.text = text.view();
    }
  }
  if (!memory_.admit(extras_.memory_bytes_for(tube, read, body.size()))) {
    return Outcome::out_of_memory;
  }
  return put_with_tags(tube, put, read, std::move(body));
}

// Puts a job with tags. If its key is taken, no job is added: the answer names the job that has the
// key, and that job gets the priority of the put if it is more urgent. A put that sets the limit of
// a lane may open a job for many waiting clients.
Outcome Engine::put_with_tags(Tube& tube, const NewJob& put, const ReadTags& read, NewBody&& body) {
  const JobTags& tags = read.tags;
  Keys::Found key;
  if (!tags.unique_key.empty()) {
    key = keys_.find(tube, tags.unique_key);
    if (key.owner != JobRef::none) return put_again(tube, key.owner, put.priority);
    if (key.tombstone != JobRef::none) {
      duplicate_ = {.job = key.tombstone, .is_deleted = true};
      return Outcome::duplicate;
    }
  }
  Group* after = nullptr;
  if (!tags.after.empty() && !groups_.find_awaited(tags, after)) return Outcome::out_of_memory;
  const bool has_room = after != nullptr ? tube.delayed.allocate_one()
                                         : Serving::allocate_after_delay(tube, put.delay_s);
  if (!has_room) return Outcome::out_of_memory;
  const JournalStatus room = state_.journal.take_room_for_put(
      room_for(tube, body.size(), read, after != nullptr), body.blob);
  if (room != JournalStatus::ok) return refused_put(room);
  const JobRef ref = state_.jobs.create(put.id, std::move(body), read);
  const bool has_all = ref != JobRef::none && extras_.take_up(tube, ref, tags, key);
  if (!has_all) {
    if (ref != JobRef::none) state_.jobs.destroy(ref);
    state_.journal.release_room();
    return Outcome::out_of_memory;
  }
  begin_job(tube, put, ref, after);
  backlog_.serve_first(tube);
  return Outcome::done;
}

// Initializes a job that was just created. `after` is the group or shadow that it waits for, or
// null. Inlined, because each put would pay for the call. Requires: room in the journal and in the
// heap.
[[gnu::always_inline]] inline void Engine::begin_job(Tube& tube, const NewJob& put, JobRef ref,
                                                     Group* after) {
  Job& job = state_.jobs[ref];
  job.created = state_.now;
  job.priority = put.priority;
  job.delay_s = put.delay_s;
  job.ttr_s = std::max(put.ttr_s, std::uint32_t{1});
  job.tube = tube.ref;
  ++tube.total_jobs;
  ++state_.counts.total_jobs;

  if (after == nullptr) {
    serving_.to_ready_after_delay(ref, Place::nowhere);
  } else {
    serving_.to_held(ref, *after);
  }
  state_.journal.record(JobChange::put, flushes_.journaled(ref, job, tube));
}

Outcome Engine::put_again(Tube& tube, JobRef owner, std::uint32_t priority) {
  const bool is_raised = priority < state_.jobs[owner].priority;
  if (is_raised) {
    const JournalStatus room = state_.journal.take_room_for_update(Promise::nothing);
    if (room != JournalStatus::ok) return refused_put(room);
    places_.set_priority(owner, priority);
    // The number of open jobs is the same, so no waiting client can be served.
    watching_.announce(tube);
    state_.journal.record(JobChange::in_place, flushes_.journaled(owner));
  }
  duplicate_ = {owner, is_raised};
  return Outcome::duplicate;
}

// Workers ----------------------------------------------------------------------------------------

std::uint32_t Engine::offer_steps(JobId id) const {
  const JobRef ref = state_.jobs.find(id);
  return ref == JobRef::none ? 0 : watching_.offer_steps(state_.tube_of(ref));
}

std::uint32_t Engine::next_of_lane_steps(JobId id) const {
  const JobRef ref = state_.jobs.find(id);
  if (ref == JobRef::none) return 0;
  const Tube& tube = state_.tube_of(ref);
  return lanes_.has(ref) ? watching_.offer_steps(tube) : tube.many_watchers * kStepsPerJob;
}

// Returns `waiting` if a reserve that found no job has to wait; otherwise its answer.
Outcome Engine::wait_ends_at_once(const Client& client, Instant wait_end) {
  const bool is_soon = watching_.is_deadline_soon(client);
  if (!is_soon && wait_end > state_.now) return Outcome::waiting;
  if (watching_.tube_behind(client) != nullptr) return Outcome::waiting;
  return is_soon ? Outcome::deadline_soon : Outcome::timed_out;
}

ReserveResult Engine::reserve(Client& client, Instant wait_end, Instant now, WaitFor waits_for) {
  state_.now = now;
  CHECK(!client.is_busy());
  state_.mark_worker(client);
  if (!Places::allocate_reserved(client)) return {Outcome::out_of_memory};
  if (Tube* best = watching_.best_tube(client); best != nullptr) {
    return {Outcome::done, serving_.give(*best, client)};
  }
  const Outcome end = wait_ends_at_once(client, wait_end);
  if (end != Outcome::waiting) return {end};
  backlog_.allocate_delivery();
  watching_.start_waiting(client, wait_end, waits_for);
  return {Outcome::waiting};
}

ReserveResult Engine::reserve_job(Client& client, JobId id, Instant now) {
  state_.now = now;
  const JobRef ref = flushes_.find(id);
  if (ref == JobRef::none || places_.of(ref) == Place::reserved) return {Outcome::not_found};
  // A restart makes reserved jobs ready. For a ready job this needs no record; a buried or delayed
  // one would be restored as such.
  const bool has_to_be_recorded = places_.of(ref) != Place::ready;
  const bool has_room = !has_to_be_recorded || Places::allocate_ready(state_.tube_of(ref));
  const bool has_memory = has_room && Places::allocate_reserved(client);
  JournalStatus room = JournalStatus::ok;
  if (has_memory && has_to_be_recorded) room = tries_.take_room_for_unburial(ref);
  if (room == JournalStatus::later) return {Outcome::not_yet};
  state_.mark_worker(client);
  if (!has_memory) return {Outcome::out_of_memory};
  if (room != JournalStatus::ok) return {refused_change(room)};
  places_.to_reserved(ref, client);
  watching_.announce(state_.tube_of(ref));
  if (has_to_be_recorded) state_.journal.record(JobChange::update, flushes_.journaled(ref));
  return {Outcome::done, ref};
}

void Engine::stop_waiting(Client& client, Delivery::Kind why) {
  const bool may_get_job = client.is_waiting() && why == Delivery::Kind::timed_out &&
                           watching_.tube_behind(client) != nullptr;
  if (may_get_job) {
    watching_.end_wait_by(client, state_.now);
  } else if (client.is_waiting()) {
    watching_.end_wait_without_job(client, why);
  }
  if (client.is_waiting_for_end()) backlog_.stop_wait_for_end(client);
}

// Inlined, because each deletion would pay for the call.
[[gnu::always_inline]] inline JobRef Engine::not_held_by_others(const Client& client,
                                                                JobId id) const {
  const JobRef ref = flushes_.find(id);
  if (ref == JobRef::none) return ref;
  const Job& job = state_.jobs[ref];
  const bool is_held = job.state() == JobState::reserved && job.holder() != client.ref();
  return is_held ? JobRef::none : ref;
}

Outcome Engine::delete_job(Client& client, JobId id) {
  const JobRef ref = not_held_by_others(client, id);
  if (ref == JobRef::none) return Outcome::not_found;
  const bool has_tags = state_.jobs[ref].has_tags != 0;
  if (has_tags && keys_.outlives(ref)) [[unlikely]]
    return delete_leaving_key(ref);
  const JournalStatus room = state_.journal.take_promised_room({.deletions = 1});
  if (room != JournalStatus::ok) return refused_change(room);
  backlog_.delete_now(ref, nullptr);
  if (has_tags) [[unlikely]]
    backlog_.end_holds();
  return Outcome::done;
}

Outcome Engine::delete_leaving_key(JobRef ref) {
  const JobRef tombstone_ref = keys_.make_tombstone(ref);
  if (tombstone_ref == JobRef::none) return Outcome::out_of_memory;
  const JournalStatus room = state_.journal.take_promised_room(
      {.deletions = 1, .tombstones = keys_.room_of({&tombstone_ref, 1})});
  if (room != JournalStatus::ok) {
    keys_.unmake_tombstones({&tombstone_ref, 1});
    return refused_change(room);
  }
  const Tombstone left = keys_.tombstone(tombstone_ref);
  backlog_.delete_now(ref, &left);
  backlog_.end_holds();
  return Outcome::done;
}

JobRef Engine::held_by(const Client& client, JobId id) const {
  const JobRef ref = state_.jobs.find(id);
  if (ref == JobRef::none) return ref;
  const Job& job = state_.jobs[ref];
  const bool held = job.state() == JobState::reserved && job.holder() == client.ref();
  return held ? ref : JobRef::none;
}

Outcome Engine::release(Client& client, JobId id, std::uint32_t priority, std::uint32_t delay_s,
                        Instant now) {
  state_.now = now;
  const JobRef ref = held_by(client, id);
  if (ref == JobRef::none) return Outcome::not_found;
  const TryEnd end = tries_.end_of_try(ref, delay_s);
  const bool is_to_be_delayed = !end.is_spent && end.delay_s > 0;
  if (is_to_be_delayed && !state_.tube_of(ref).delayed.allocate_one()) {
    return Outcome::out_of_memory;
  }
  const JournalStatus room = state_.journal.take_room_for_update(Promise::nothing);
  if (room != JournalStatus::ok) return refused_change(room);

  Job& job = state_.jobs[ref];
  job.priority = priority;
  job.delay_s = end.delay_s;
  state_.jobs.count(ref, JobEvent::release);
  Outcome outcome = Outcome::done;
  if (end.is_spent) [[unlikely]] {
    serving_.bury_unfinished(ref, BurialCause::released);
    // Clients that did not set a limit do not expect BURIED, and many fail on it.
    if (tries_.expects_burial(ref)) outcome = Outcome::buried;
  } else {
    serving_.to_ready_after_delay(ref, Place::reserved);
  }
  state_.journal.record(JobChange::update, flushes_.journaled(ref));
  serving_.serve(state_.tubes[job.tube]);
  return outcome;
}

Outcome Engine::bury(Client& client, JobId id, std::uint32_t priority) {
  const JobRef ref = held_by(client, id);
  if (ref == JobRef::none) return Outcome::not_found;
  const JournalStatus room = state_.journal.take_room_for_update(Promise::nothing);
  if (room != JournalStatus::ok) return refused_change(room);
  state_.jobs[ref].priority = priority;
  state_.jobs.count(ref, JobEvent::bury);
  places_.to_buried(ref, Place::reserved, BurialCause::client);
  state_.journal.record(JobChange::update, flushes_.journaled(ref));
  serving_.serve(state_.tube_of(ref));
  return Outcome::done;
}

Outcome Engine::touch(Client& client, JobId id, Instant now) {
  state_.now = now;
  const JobRef ref = held_by(client, id);
  if (ref == JobRef::none) return Outcome::not_found;
  places_.touch(client, ref);
  return Outcome::done;
}

Outcome Engine::set_note(const Client& client, JobId id, std::string_view note) {
  JobStore& jobs = state_.jobs;
  const JobRef ref = not_held_by_others(client, id);
  if (ref == JobRef::none) return Outcome::not_found;
  if (note.empty() && !jobs.has_had_note(ref)) return Outcome::done;
  state_.steps += turn_limits::kStepsPerNote;
  if (!note.empty() && !memory_.has_room_for(JobStore::memory_bytes_for_note(note.size()))) {
    return Outcome::out_of_memory;
  }
  const JournalStatus room = state_.journal.take_room_for_note(ref, note.size());
  if (room != JournalStatus::ok) return refused_put(room);
  if (!jobs.set_note(ref, note)) {
    state_.journal.release_room();
    return Outcome::out_of_memory;
  }
  state_.journal.record(JobChange::note, flushes_.journaled(ref));
  return Outcome::done;
}

Outcome Engine::wait_job(Client& client, JobId id, Instant wait_end, Instant now) {
  state_.now = now;
  CHECK(!client.is_busy());
  const JobRef ref = flushes_.find(id);
  if (ref == JobRef::none) return Outcome::not_found;
  if (places_.of(ref) == Place::buried) return Outcome::buried;
  if (wait_end <= now) return Outcome::timed_out;
  return backlog_.wait_for_end(client, id, wait_end);
}

// Others -----------------------------------------------------------------------------------------

Outcome Engine::kick_job(JobId id, Instant now) {
  state_.now = now;
  const JobRef ref = flushes_.find(id);
  if (ref == JobRef::none) return Outcome::not_found;
  const Place from = places_.of(ref);
  if (from != Place::buried && from != Place::delayed) return Outcome::not_found;
  if (!Places::allocate_ready(state_.tube_of(ref))) return Outcome::out_of_memory;
  const JournalStatus room = tries_.take_room_for_unburial(ref);
  if (room != JournalStatus::ok) return refused_change(room);
  serving_.kick(ref, from);
  return Outcome::done;
}

Outcome Engine::pause(std::string_view tube_name, std::uint32_t seconds, Instant now) {
  state_.now = now;
  Tube* tube = state_.tubes.find(tube_name);
  if (tube == nullptr) return Outcome::not_found;
  ++tube->pauses;
  if (seconds == 0) {
    backlog_.end_pause(*tube);
    return Outcome::done;
  }
  tube->paused = true;
  tube->pause_s = seconds;
  tube->pause_end = now + Duration::seconds(seconds);
  watching_.announce(*tube);
  state_.arm_tube(*tube);
  return Outcome::done;
}

Outcome Engine::reserve_batch(Client& client, std::uint32_t count, BatchBound bound,
                              Instant wait_end, Instant now, std::vector<JobRef>& taken) {
  state_.now = now;
  CHECK(!client.is_busy());
  taken.reserve(taken.size() + count);
  backlog_.allocate_delivery();
  state_.mark_worker(client);
  const std::uint64_t before = state_.steps;
  bool is_empty = true;
  for (; count > 0 && state_.steps - before < kStepsPerBatch; --count) {
    if (!Places::allocate_reserved(client)) {
      if (is_empty) return Outcome::out_of_memory;
      break;
    }
    Tube* best = watching_.best_tube(client);
    if (best == nullptr) break;
    const bool fits = bound.fits(bound.context, state_.jobs[best->ready.top().job].body_bytes);
    if (!is_empty && !fits) break;
    taken.push_back(serving_.give(*best, client));
    state_.steps += kStepsPerJob;
    is_empty = false;
  }
  if (!is_empty) return Outcome::done;
  const Outcome end = wait_ends_at_once(client, wait_end);
  if (end != Outcome::waiting) return end;
  watching_.start_waiting(client, wait_end, WaitFor::batch);
  return Outcome::waiting;
}

Outcome Engine::delete_batch(Client& client, std::span<const JobId> ids) {
  CHECK(!client.is_busy());
  return backlog_.delete_batch(client, ids);
}

Outcome Engine::kick(Client& client, std::uint32_t bound, Instant now) {
  state_.now = now;
  CHECK(!client.is_busy());
  return backlog_.kick(client, bound);
}

Outcome Engine::flush(Client& client, std::string_view tube_name, JobStates states) {
  CHECK(!client.is_busy());
  Tube* const tube = state_.tubes.find(tube_name);
  if (tube == nullptr) return Outcome::not_found;
  return backlog_.flush(client, *tube, states);
}

Outcome Engine::watch(Client& client, std::string_view tube, std::uint32_t weight) {
  CHECK(!client.is_busy());
  return backlog_.watch(client, tube, weight);
}

Outcome Engine::touch_all(Client& client, Instant now) {
  state_.now = now;
  CHECK(!client.is_busy());
  return backlog_.touch_all(client);
}

Outcome Engine::set_weighted(Client& client, bool weighted) {
  CHECK(!client.is_busy());
  return backlog_.set_weighted(client, weighted);
}

}  // namespace haricot
