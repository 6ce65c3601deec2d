#include "haricot/queue/engine_serializer.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "haricot/base/job_tags.hpp"
#include "haricot/base/name_bytes.hpp"

namespace haricot {
namespace {

// Limit of QueueState::arrivals, which no server reaches.
constexpr std::uint64_t kArrivalsMax = std::uint64_t{1} << 63;

bool read_tube_fields(StateReader& from, state_format::Tube& tube, state_format::Times& times) {
  if (!from.begin(state_format::kTube)) return false;
  from.value(tube);
  if (tube.has_times) {
    from.value(times.period_end);
    times.queued.read(from);
    times.worked.read(from);
  }
  return from.is_good();
}

}  // namespace

// Writing ----------------------------------------------------------------------------------------

void EngineSerializer::write(StateWriter& to, Bodies bodies) const {
  const TubeTable& tubes = state_.tubes;
  const JobStore& jobs = state_.jobs;
  to.begin(state_format::kEngine);
  to.value(state_format::Engine{.next_id = state_.next_id,
                                .arrivals = state_.arrivals,
                                .timeouts = state_.counts.timeouts,
                                .total_jobs = state_.counts.total_jobs,
                                .refused_puts = state_.counts.refused_puts,
                                .tubes = tubes.size(),
                                .jobs = jobs.size(),
                                .tombstones = jobs.tombstones()});
  for (std::uint32_t i = 0; i < tubes.size(); ++i) write_tube(to, tubes.at(i));
  for (JobRef ref = jobs.first_from(0); ref != JobRef::none;
       ref = jobs.first_from(jobs[ref].id + 1)) {
    write_job(to, ref, bodies);
  }
  for (std::uint32_t i = 0; i < tubes.size(); ++i) write_burials(to, tubes.at(i));
  for (JobRef ref = jobs.first_tombstone_from(0); ref != JobRef::none;
       ref = jobs.first_tombstone_from(jobs[ref].id + 1)) {
    const Tombstone tombstone = keys_.tombstone(ref);
    to.begin(state_format::kTombstone);
    to.value(state_format::Tombstone{.id = tombstone.id,
                                     .tube_name = tombstone.tube_name,
                                     .key = tombstone.key,
                                     .seconds = tombstone.seconds,
                                     .end = tombstone.end});
  }
}

void EngineSerializer::write_tube(StateWriter& to, const Tube& tube) const {
  const TubeTimes* const times = tube.times.get();
  to.begin(state_format::kTube);
  to.value(state_format::Tube{.name = tube.name,
                              .paused = tube.paused,
                              .pause_end = tube.pause_end,
                              .pause_s = tube.pause_s,
                              .total_jobs = tube.total_jobs,
                              .deletes = tube.deletes,
                              .pauses = tube.pauses,
                              .buried_by_tries = state_.spent_jobs.total(tube.ref),
                              .has_times = times != nullptr});
  if (times == nullptr) return;
  to.value(times->period_end);
  times->queued.write(to);
  times->worked.write(to);
}

void EngineSerializer::write_job(StateWriter& to, JobRef ref, Bodies bodies) const {
  const JobStore& jobs = state_.jobs;
  const Job& job = jobs[ref];
  const Tube& tube = state_.tubes[job.tube];
  state_format::Job fields{.id = job.id,
                           .tube = tube.index,
                           .state = job.state(),
                           .created = job.created,
                           .ready_since = job.created,
                           .deadline = job.created,
                           .priority = job.priority,
                           .delay_s = job.delay_s,
                           .ttr_s = job.ttr_s,
                           .body_bytes = job.body_bytes,
                           .tags = jobs.tags(ref),
                           .facts = jobs.facts(ref),
                           .note = {},
                           .body = {}};
  if (fields.state == JobState::ready) fields.ready_since = job.ready_since();
  if (fields.state == JobState::delayed) {
    const DeadlineEntry& entry = tube.delayed.at(job.heap_index());
    fields.deadline = entry.deadline;
    fields.arrival = entry.arrival;
    fields.is_held = jobs.is_held(ref);
  }
  for (std::size_t i = 0; i < kJobEvents; ++i) {
    const std::uint64_t counted = jobs.counted(ref, static_cast<JobEvent>(i));
    constexpr std::uint64_t kMax = std::numeric_limits<std::uint32_t>::max();
    fields.counters[i] = static_cast<std::uint32_t>(std::min(counted, kMax));
  }
  if (bodies == Bodies::in_state) {
    fields.note = jobs.note(ref);
    fields.body = jobs.body(ref);
  }
  if (const Lane* const lane = lanes_.lanes().lane_of(ref); lane != nullptr) {
    fields.lane_limit = lane->limit;
    fields.lane_limit_from = lane->limit_from;
  }
  to.begin(state_format::kJob);
  to.value(fields);
}

void EngineSerializer::write_burials(StateWriter& to, const Tube& tube) const {
  if (tube.buried == 0) return;
  to.begin(state_format::kBurials);
  to.value(state_format::Burials{.tube = tube.index, .jobs = tube.buried});
  for (JobRef ref = tube.first_buried; ref != JobRef::none;
       ref = static_cast<JobRef>(state_.jobs[ref].links.second)) {
    const Burial burial = state_.jobs.burial(ref, state_.now);
    to.value(state_format::Burial{.id = state_.jobs[ref].id,
                                  .since = burial.since,
                                  .cause = static_cast<std::uint8_t>(burial.cause)});
  }
}

void EngineSerializer::write_client(StateWriter& to, const Client& client) const {
  to.begin(state_format::kClient);
  to.value(client.is_producer());
  to.value(client.is_worker());
  to.value(std::string_view(client.used().name));
  to.value(client.watched_tubes());
  for (std::uint32_t i = 0; i < client.watched_tubes(); ++i) {
    to.value(std::string_view(client.watched(i).name));
  }
  to.value(client.watches().weights() != nullptr);
  if (client.watches().weights() != nullptr) client.watches().weights()->write(to);
  to.value(client.held_jobs());
  for (std::uint32_t i = 0; i < client.held_jobs(); ++i) {
    const DeadlineEntry& entry = client.held().at(i);
    to.value(state_format::Hold{.id = state_.jobs[entry.job].id,
                                .deadline = entry.deadline,
                                .arrival = entry.arrival,
                                .reserved_at = entry.reserved_at});
  }
}

void EngineSerializer::write_waits(StateWriter& to, std::span<const Client* const> clients) const {
  // Number of the wait, index of the client.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> waits;
  for (std::uint32_t i = 0; i < clients.size(); ++i) {
    if (clients[i]->is_waiting()) waits.emplace_back(Watching::wait_number(*clients[i]), i);
  }
  std::sort(waits.begin(), waits.end());
  to.begin(state_format::kWaits);
  to.value(static_cast<std::uint32_t>(waits.size()));
  for (const auto& [number, index] : waits) {
    const Client& client = *clients[index];
    to.value(state_format::Wait{.client = index,
                                .end = client.activity().wait_end(),
                                .waits_for = client.activity().waits_for()});
  }
  if (state_.counts.waiting_for_end > 0) write_job_waits(to, clients);
}

void EngineSerializer::write_job_waits(StateWriter& to,
                                       std::span<const Client* const> clients) const {
  to.begin(state_format::kJobWaits);
  to.value(state_.counts.waiting_for_end);
  for (std::uint32_t i = 0; i < clients.size(); ++i) {
    const Client& client = *clients[i];
    if (!client.is_waiting_for_end()) continue;
    to.value(state_format::JobWait{
        .client = i, .id = job_waits_.job_of(client), .end = client.activity().wait_end()});
  }
}

// Reading ----------------------------------------------------------------------------------------

EngineSerializer::Read EngineSerializer::read(StateReader& from, Bodies bodies) {
  StateReader behind = from;
  JobId next_id = 0;
  bool has_same = false;
  if (!pass_over(behind, bodies, next_id, has_same)) return Read::broken;
  has_jobs_ = has_same;
  if (has_jobs_) return read_all(from, bodies) ? Read::good : Read::broken;
  // Clients must not mistake a new job for one that they know.
  state_.next_id = std::max(state_.next_id, next_id);
  from = behind;
  return Read::other_jobs;
}

bool EngineSerializer::read_all(StateReader& from, Bodies bodies) {
  state_format::Engine fields;
  if (!from.begin(state_format::kEngine)) return false;
  from.value(fields);
  std::vector<Tube*> tubes;
  for (std::uint32_t i = 0; i < fields.tubes && from.is_good(); ++i) {
    Tube* const tube = read_tube(from);
    if (tube == nullptr) return false;
    tubes.push_back(tube);
  }
  // Tubes of a journal were created in another order.
  if (!state_.tubes.arrange(tubes)) return false;
  for (std::uint64_t i = 0; i < fields.jobs && from.is_good(); ++i) {
    if (!read_job(from, tubes, bodies)) return false;
  }
  if (!hold_in_turn()) return false;
  groups_.end_restoring();
  // An engine at rest has none, and no task would release their held jobs.
  if (groups_.has_ended()) return false;
  while (from.begin(state_format::kBurials)) {
    if (!read_burials(from, tubes)) return false;
  }
  for (std::uint64_t i = 0; i < fields.tombstones && from.is_good(); ++i) {
    if (!read_tombstone(from, bodies)) return false;
  }
  state_.arrivals = fields.arrivals;
  state_.counts.timeouts = fields.timeouts;
  state_.counts.total_jobs = fields.total_jobs;
  state_.counts.refused_puts = fields.refused_puts;
  state_.next_id = std::max(state_.next_id, fields.next_id);
  return from.is_good();
}

// Returns true if the journal has restored this job; compares only the fields that do not change.
bool EngineSerializer::is_same(const state_format::Job& job, std::string_view tube_name,
                               Bodies bodies) const {
  const JobRef ref = state_.jobs.find(job.id);
  return ref != JobRef::none && state_.tube_of(ref).name == tube_name &&
         state_.jobs[ref].body_bytes == job.body_bytes &&
         state_.jobs[ref].priority == job.priority && state_.jobs.tags(ref) == job.tags &&
         (bodies == Bodies::in_journal || state_.jobs.body(ref) == job.body);
}

// Reads the engine's part of a state without changing jobs. `has_same` becomes true if every job
// that is needed exists. If the state has no bodies, the journal must have restored all its jobs,
// and no others. If it has bodies, the journal may have restored jobs and keys of the state only:
// none, or some that a failed start had recorded. Returns false if the state is invalid.
bool EngineSerializer::pass_over(StateReader& from, Bodies bodies, JobId& next_id, bool& has_same) {
  state_format::Engine fields;
  if (!from.begin(state_format::kEngine)) return false;
  from.value(fields);
  next_id = fields.next_id;
  // A server could not continue from higher numbers.
  if (next_id > kJobIdLast || fields.arrivals > kArrivalsMax) return false;
  jobs_ = fields.jobs;
  std::uint64_t same_jobs = 0;
  std::uint64_t same_keys = 0;
  std::vector<std::string_view> names;
  for (std::uint32_t i = 0; i < fields.tubes; ++i) {
    state_format::Tube tube;
    state_format::Times times;
    if (!read_tube_fields(from, tube, times)) return false;
    names.push_back(tube.name);
  }
  for (std::uint64_t i = 0; i < fields.jobs; ++i) {
    state_format::Job job;
    if (!from.begin(state_format::kJob)) return false;
    from.value(job);
    if (!from.is_good() || job.tube >= names.size() || job.id >= next_id) return false;
    if (job.arrival > fields.arrivals || job.lane_limit_from >= next_id) return false;
    if (is_same(job, names[job.tube], bodies)) ++same_jobs;
  }
  while (from.begin(state_format::kBurials)) {
    state_format::Burials burials;
    from.value(burials);
    for (std::uint64_t i = 0; i < burials.jobs && from.is_good(); ++i) {
      state_format::Burial burial;
      from.value(burial);
    }
  }
  for (std::uint64_t i = 0; i < fields.tombstones; ++i) {
    state_format::Tombstone key;
    if (!from.begin(state_format::kTombstone)) return false;
    from.value(key);
    if (key.id == 0 || key.id >= next_id || key.seconds == 0) return false;
    if (state_.jobs.find_tombstone(key.id) != JobRef::none) ++same_keys;
  }
  has_same = same_jobs == state_.jobs.size();
  if (bodies == Bodies::in_state) {
    has_same = has_same && same_keys == state_.jobs.tombstones();
  } else {
    has_same = has_same && same_jobs == fields.jobs && next_id >= state_.next_id &&
               state_.journal.has_job_fields();
  }
  return from.is_good();
}

Tube* EngineSerializer::read_tube(StateReader& from) {
  state_format::Tube fields;
  state_format::Times times;
  if (!read_tube_fields(from, fields, times) || !is_tube_name(fields.name)) return nullptr;
  if (!fields.paused && fields.pause_s > 0) return nullptr;
  Tube* const tube = state_.tubes.find_or_create(fields.name);
  if (tube == nullptr) return nullptr;
  tube->total_jobs = fields.total_jobs;
  tube->deletes = fields.deletes;
  tube->pauses = fields.pauses;
  tube->paused = fields.paused;
  tube->pause_end = fields.pause_end;
  tube->pause_s = fields.pause_s;
  if (tube->paused) state_.arm_tube(*tube);
  if (fields.buried_by_tries > 0) state_.spent_jobs.restore(tube->ref, fields.buried_by_tries);
  if (!fields.has_times) return tube;
  // Tubes with jobs of the journal have TubeTimes already, with the ages of their ready jobs.
  if (tube->times == nullptr) tube->times = std::make_unique<TubeTimes>(state_.now);
  tube->times->period_end = times.period_end;
  tube->times->queued = times.queued;
  tube->times->worked = times.worked;
  return tube;
}

bool EngineSerializer::read_job(StateReader& from, std::span<Tube* const> tubes, Bodies bodies) {
  state_format::Job fields;
  if (!from.begin(state_format::kJob)) return false;
  from.value(fields);
  if (!from.is_good() || fields.id == 0 || fields.tube >= tubes.size()) return false;
  if (bodies == Bodies::in_state &&
      (!is_tag_text(fields.tags) || fields.body.size() != fields.body_bytes ||
       fields.note.size() > JobStore::kNoteBytesMax)) {
    return false;
  }
  // A held job has an infinite delay.
  const bool is_endless = fields.state == JobState::delayed && fields.deadline == Instant::never();
  if (fields.is_held != is_endless) return false;
  const RestoredJob values{.id = fields.id,
                           .created = fields.created,
                           .priority = fields.priority,
                           .delay_s = fields.delay_s,
                           .ttr_s = fields.ttr_s,
                           .counters = fields.counters,
                           .tags = fields.tags,
                           .facts = fields.facts};
  JobRef ref = state_.jobs.find(fields.id);
  const bool is_known = ref != JobRef::none;
  if (bodies == Bodies::in_journal ? !is_known : is_known && !state_.journal.has_job_fields()) {
    return false;
  }
  const Place before = is_known ? places_.of(ref) : Place::nowhere;
  if (is_known) {
    // The other fields are those of the journal, which may lack the end of a try.
    state_.jobs[ref].delay_s = fields.delay_s;
    state_.jobs.set_counted(ref, fields.counters);
    state_.jobs.set_facts(ref, fields.facts);
  } else {
    NewBody body{.bytes = fields.body, .blob = {}};
    if (fields.body.size() > JobStore::kInlineBodyBytesMax) {
      body = {.bytes = {}, .blob = BlobRef::allocate(fields.body.size())};
      if (!body.blob) return false;
      std::memcpy(body.blob.data(), fields.body.data(), fields.body.size());
    }
    ref = restoring_.restore(values, tubes[fields.tube]->name, std::move(body));
    if (ref == JobRef::none || !restoring_.take_up(ref)) return false;
    if (!state_.jobs.set_note(ref, fields.note)) return false;
  }
  if (fields.is_held && !state_.jobs.may_be_held(ref)) return false;
  if (fields.lane_limit > 0) lanes_.set_limit(ref, fields.lane_limit, fields.lane_limit_from);
  return place(ref, before, fields);
}

// Places a job. A reserved job is ready until its holder takes it.
bool EngineSerializer::place(JobRef ref, Place before, const state_format::Job& fields) {
  Tube& tube = state_.tube_of(ref);
  switch (fields.state) {
    case JobState::ready:
    case JobState::reserved:
      if (!Places::allocate_ready(tube)) return false;
      places_.to_ready_since(ref, before, fields.ready_since);
      return true;
    case JobState::delayed:
      if (!tube.delayed.allocate_one()) return false;
      // to_delayed() assigns the next number, which is its old one.
      state_.arrivals = fields.arrival - 1;
      places_.to_delayed(ref, before, fields.deadline);
      if (fields.is_held) held_.emplace_back(fields.arrival, ref);
      return true;
    case JobState::buried:
      places_.to_buried(ref, before, BurialCause::unknown);  // Until read_burials().
      return true;
  }
  return false;
}

// Restores the order of held jobs. It is not that of their ids, because a job is held when its body
// is complete.
bool EngineSerializer::hold_in_turn() {
  std::sort(held_.begin(), held_.end());
  for (const auto& [arrival, ref] : std::exchange(held_, {})) {
    if (!groups_.hold_restored(ref)) return false;
  }
  return true;
}

bool EngineSerializer::read_burials(StateReader& from, std::span<Tube* const> tubes) {
  state_format::Burials fields;
  from.value(fields);
  if (!from.is_good() || fields.tube >= tubes.size()) return false;
  Tube& tube = *tubes[fields.tube];
  if (fields.jobs != tube.buried) return false;
  for (std::uint64_t i = 0; i < fields.jobs; ++i) {
    state_format::Burial burial;
    from.value(burial);
    const JobRef ref = from.is_good() ? state_.jobs.find(burial.id) : JobRef::none;
    if (ref == JobRef::none || state_.jobs[ref].tube != tube.ref) return false;
    if (places_.of(ref) != Place::buried) return false;
    // Moves it to the end.
    places_.to_buried(ref, Place::buried,
                      {.since = burial.since, .cause = burial_cause(burial.cause)});
  }
  return true;
}

bool EngineSerializer::read_tombstone(StateReader& from, Bodies bodies) {
  state_format::Tombstone fields;
  if (!from.begin(state_format::kTombstone)) return false;
  from.value(fields);
  if (!from.is_good() || !is_tube_name(fields.tube_name) || !is_tag_key(fields.key)) return false;
  if (bodies == Bodies::in_journal) return true;  // The journal has restored the key.
  if (state_.jobs.find_tombstone(fields.id) != JobRef::none) {
    return state_.journal.has_job_fields();
  }
  if (state_.jobs.find(fields.id) != JobRef::none) return false;
  const JobRef tombstone_ref = keys_.restore_tombstone({.ref = JobRef::none,
                                                        .id = fields.id,
                                                        .tube_name = fields.tube_name,
                                                        .key = fields.key,
                                                        .seconds = fields.seconds,
                                                        .end = fields.end});
  if (tombstone_ref == JobRef::none) return false;
  switch (keys_.place_tombstone(tombstone_ref)) {
    case PlacedKey::taken:
      return true;
    case PlacedKey::over:
      state_.jobs.destroy_tombstone(tombstone_ref);
      return true;
    case PlacedKey::no_memory:
      break;
  }
  return false;
}

bool EngineSerializer::read_client(StateReader& from, Client& client) {
  if (!from.begin(state_format::kClient)) return false;
  bool is_producer = false;
  bool is_worker = false;
  from.value(is_producer);
  from.value(is_worker);
  if (is_producer) state_.mark_producer(client);
  if (is_worker) state_.mark_worker(client);
  std::string_view used;
  from.value(used);
  return from.is_good() && is_tube_name(used) && watching_.use(client, used) == Outcome::done &&
         read_watches(from, client) && read_holds(from, client);
}

bool EngineSerializer::read_watches(StateReader& from, Client& client) {
  std::uint32_t watches = 0;
  from.value(watches);
  for (std::uint32_t i = 0; i < watches; ++i) {
    std::string_view name;
    from.value(name);
    if (!is_tube_name(name) || watching_.watch(client, name) != Outcome::done) return false;
    // A new client watches this tube first. If it comes later in the list, it is watched again
    // there.
    const std::string_view first = state_.default_tube->name;
    if (i == 0 && name != first && watching_.ignore(client, first) != Outcome::done) return false;
  }
  bool has_weights = false;
  from.value(has_weights);
  if (!from.is_good() || client.watched_tubes() != watches) return false;
  if (!has_weights) return true;
  auto weights = std::make_unique<WatchWeights>();
  if (!weights->read(from, watches)) return false;
  watching_.take_weights(client, std::move(weights));
  return true;
}

bool EngineSerializer::read_holds(StateReader& from, Client& client) {
  std::uint32_t holds = 0;
  from.value(holds);
  for (std::uint32_t i = 0; i < holds && from.is_good(); ++i) {
    state_format::Hold fields;
    from.value(fields);
    const JobRef ref = from.is_good() ? state_.jobs.find(fields.id) : JobRef::none;
    if (!has_jobs_) {
      ++holds_dropped_;
      continue;
    }
    if (fields.arrival > state_.arrivals) return false;
    if (ref == JobRef::none || places_.of(ref) != Place::ready) return false;
    if (!Places::allocate_reserved(client)) return false;
    places_.to_holder(ref, client, {fields.deadline, fields.arrival, ref, fields.reserved_at});
    watching_.announce(state_.tube_of(ref));
  }
  return from.is_good();
}

bool EngineSerializer::read_waits(StateReader& from, std::span<Client* const> clients) {
  std::uint32_t waits = 0;
  if (!from.begin(state_format::kWaits)) return false;
  from.value(waits);
  for (std::uint32_t i = 0; i < waits; ++i) {
    state_format::Wait fields;
    from.value(fields);
    if (!from.is_good() || fields.client >= clients.size()) return false;
    Client* const client = clients[fields.client];
    if (client == nullptr) continue;  // It could not be taken over.
    if (client->is_busy() || !Places::allocate_reserved(*client)) return false;
    watching_.allocate_deliveries(0);
    watching_.start_waiting(*client, fields.end, fields.waits_for);
  }
  if (from.begin(state_format::kJobWaits) && !read_job_waits(from, clients)) return false;
  for (std::uint32_t i = state_.tubes.size(); i > 0; --i) {
    Tube& tube = state_.tubes[state_.tubes.at(i - 1).ref];
    offers_.serve_waiting(tube, state_.budget(turn_limits::kStepsOfCalls));
    state_.free_if_unreferenced(tube);
  }
  return from.is_good();
}

// If the journal has other jobs, the awaited job may be gone or buried.
bool EngineSerializer::read_job_waits(StateReader& from, std::span<Client* const> clients) {
  std::uint32_t waits = 0;
  from.value(waits);
  for (std::uint32_t i = 0; i < waits && from.is_good(); ++i) {
    state_format::JobWait fields;
    from.value(fields);
    if (!from.is_good() || fields.client >= clients.size()) return false;
    Client* const client = clients[fields.client];
    if (client == nullptr) continue;  // It could not be taken over.
    if (client->is_busy()) return false;
    watching_.allocate_deliveries(0);
    const JobRef ref = state_.jobs.find(fields.id);
    if (ref == JobRef::none) {
      watching_.deliver({.client = client, .kind = Delivery::Kind::job_not_found});
      continue;
    }
    if (!job_waits_.begin(*client, fields.id, fields.end)) return false;
    if (places_.of(ref) == Place::buried) job_waits_.end(fields.id, Delivery::Kind::job_buried);
  }
  return from.is_good();
}

}  // namespace haricot
