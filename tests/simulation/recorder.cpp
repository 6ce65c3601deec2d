#include "recorder.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "mismatch.hpp"

namespace haricot::simulation {

using binlog::is_same;
using binlog::KnownJob;

namespace {

KnownTombstone known_from(const Tombstone& tombstone, Duration wall_offset) {
  return {.tube = std::string(tombstone.tube_name),
          .key = std::string(tombstone.key),
          .seconds = tombstone.seconds,
          .end = tombstone.end + wall_offset};
}

std::string to_text(const KnownTombstone& tombstone) {
  return tombstone.key.substr(0, 10) + " of tube " + tombstone.tube.substr(0, 10) + ", kept for " +
         std::to_string(tombstone.seconds) + " s to " + std::to_string(tombstone.end.count());
}

}  // namespace

std::map<JobId, KnownTombstone> all_tombstones(const Engine& engine, Duration wall_offset) {
  std::map<JobId, KnownTombstone> found;
  JobId id = 0;
  for (;;) {
    const JobRef tombstone_ref = engine.jobs().first_tombstone_from(id);
    if (tombstone_ref == JobRef::none) return found;
    const Tombstone tombstone = engine.tombstone(tombstone_ref);
    found[tombstone.id] = known_from(tombstone, wall_offset);
    id = tombstone.id + 1;
  }
}

std::string to_text(const Event& event) {
  const char* const kinds[] = {
      "line",           "reserve_put",  "reserve_update", "reserve_burial", "reserve_hold_end",
      "reserve_delete", "reserve_note", "record_put",     "record_update",  "record_in_place",
      "record_note",    "record_kept",  "record_delete",  "numbers",        "file_of",
      "try_again",      "answered",     "client_shown"};
  std::string text = kinds[static_cast<int>(event.kind)];
  if (event.kind == Event::Kind::line) {
    return text + " of client " + std::to_string(event.client) + ": " + event.line.substr(0, 60);
  }
  if (event.kind == Event::Kind::answered) {
    return text + " to client " + std::to_string(event.client) + ": " + event.line.substr(0, 60);
  }
  if (event.id != 0) text += " of job " + std::to_string(event.id);
  if (event.status == JournalStatus::later) return text + " put off";
  if (event.status != JournalStatus::ok) text += " refused";
  return text;
}

Event Tape::take(Event::Kind kind) {
  require(!events_.empty(), "expected " + to_text(Event{.kind = kind}) + ", but nothing happened");
  Event event = std::move(events_.front());
  events_.pop_front();
  require(event.kind == kind,
          "expected " + to_text(Event{.kind = kind}) + ", but it was " + to_text(event));
  return event;
}

std::optional<Event> Tape::take_answer(const std::function<bool(const Event&)>& fits) {
  const auto is_other = [](const Event& event) { return event.kind != Event::Kind::answered; };
  const auto end = std::find_if(events_.begin(), events_.end(), is_other);
  const auto found = std::find_if(events_.begin(), end, fits);
  if (found == end) return std::nullopt;
  Event event = std::move(*found);
  events_.erase(found);
  return event;
}

// Ledger ------------------------------------------------------------------------------------------

void Ledger::note(std::uint64_t record, JobId id, std::optional<KnownJob> job) {
  const auto& changes = changes_[id];
  // A burial that is recorded late has its turn since the job was buried, which is unknown here.
  const bool is_late = !changes.empty() && changes.back().record == binlog::kUnrecorded &&
                       changes.back().job && changes.back().job->state == JobState::buried;
  const bool is_burial = job && job->state == JobState::buried && record != binlog::kUnrecorded;
  if (is_burial && !is_late) job->burial = ++burials_;
  add(record, id, std::move(job));
}

void Ledger::note_deletion(std::uint64_t record, JobId id,
                           std::optional<KnownTombstone> tombstone) {
  add(record, id, std::nullopt);
  changes_.at(id).back().tombstone = std::move(tombstone);
}

void Ledger::note_in_place(std::uint64_t record, JobId id, KnownJob job) {
  if (job.state == JobState::buried) job.burial = changes_.at(id).back().job->burial;
  add(record, id, std::move(job));
}

void Ledger::add(std::uint64_t record, JobId id, std::optional<KnownJob> job) {
  auto& changes = changes_[id];
  if (changes.empty()) changes.push_back({0, std::nullopt});
  changes.push_back({record, std::move(job)});
}

// Earlier changes must not reappear.
std::size_t Ledger::first_allowed(const std::vector<Change>& changes, std::uint64_t safe) {
  std::size_t first = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (changes[i].record <= safe) first = i;
  }
  return first;
}

void Ledger::check(const Engine& restored, Duration wall_offset, std::int64_t wall_now,
                   std::uint64_t safe, bool exactly) const {
  const std::map<JobId, KnownJob> found = binlog::all_jobs(restored, wall_offset);
  std::map<std::string, std::map<std::uint64_t, std::uint64_t>> burials;  // By place, the order.
  for (const auto& [id, changes] : changes_) {
    const std::size_t first = first_allowed(changes, safe);
    const auto job = found.find(id);
    const bool is_there = job != found.end();
    bool fits = false;
    const bool fits_note = !is_there || notes_.may_be(id, job->second.note, safe, exactly);
    std::string allowed;
    for (std::size_t i = first; i < changes.size(); ++i) {
      if (exactly && i > first && changes[i].record != binlog::kUnrecorded) continue;
      const auto& state = changes[i].job;
      const bool same = state ? is_there && is_same(*state, job->second, wall_now) : !is_there;
      if (same && state && state->burial > 0) {
        burials[job->second.tube][job->second.burial] = state->burial;
      }
      fits = fits || same;
      allowed += "\n  " + std::to_string(changes[i].record) + ": " + binlog::to_text(state);
    }
    require(fits && fits_note,
            "job " + std::to_string(id) + " came back as " +
                binlog::to_text(is_there ? std::optional(job->second) : std::nullopt) +
                "; safe are records up to " + std::to_string(safe) + "; it may be" + allowed);
    require(!changes[first].job || id < restored.next_id(), "an id would be given out again");
  }
  check_bodies(restored);
  check_tombstones(restored, wall_offset, wall_now, safe, exactly);
  for (const auto& [tube, order] : burials) {
    std::uint64_t before = 0;
    for (const auto& [place, burial] : order) {
      require(burial > before, "buried jobs of " + tube.substr(0, 10) + " are in another order");
      before = burial;
    }
  }
}

void Ledger::check_bodies(const Engine& restored) const {
  const std::map<JobId, KnownJob> found = binlog::all_jobs(restored, Duration{});
  require(found.size() == restored.jobs().size(), "there are jobs of ids not given out");
  for (const auto& [id, job] : found) {
    require(changes_.contains(id), "job " + std::to_string(id) + " was never put");
    require(restored.jobs().body(restored.peek(id)) == bodies_.at(id),
            "job " + std::to_string(id) + " has another body");
  }
}

// Returns true if another one has the key: an existing job, or a later one that has left the key,
// too.
bool Ledger::has_other(const Jobs& jobs, const Tombstones& kept_keys, JobId id,
                       const KnownTombstone& tombstone) {
  const bool is_held = std::any_of(jobs.begin(), jobs.end(), [&](const auto& job) {
    // The deletion of an earlier job is lost, and it continues without the key.
    return job.first > id && job.second.tube == tombstone.tube &&
           tags_in(job.second.tags).unique_key == tombstone.key;
  });
  return is_held || std::any_of(kept_keys.begin(), kept_keys.end(), [&](const auto& other) {
           return other.first > id && other.second.tube == tombstone.tube &&
                  other.second.key == tombstone.key;
         });
}

// The record of a tombstone precedes that of the deletion. Before both are safe, it may be lost
// alone.
void Ledger::check_tombstones(const Engine& restored, Duration wall_offset, std::int64_t wall_now,
                              std::uint64_t safe, bool exactly) const {
  const Jobs jobs = binlog::all_jobs(restored, wall_offset);
  const Tombstones found = all_tombstones(restored, wall_offset);
  for (const auto& [id, tombstone] : found) {
    require(changes_.contains(id), "a key is kept of a job that never was put");
    const auto& changes = changes_.at(id);
    const auto passed_over = passed_over_.find(id);
    bool fits = passed_over != passed_over_.end() && passed_over->second == tombstone;
    for (std::size_t i = first_allowed(changes, safe); i < changes.size(); ++i) {
      fits = fits || (changes[i].tombstone == tombstone && (!exactly || changes[i].record <= safe));
    }
    const std::string what =
        "job " + std::to_string(id) + " has left the key " + to_text(tombstone);
    require(fits, what + ", which no deletion has left");
    require(!jobs.contains(id), what + ", though it lives");
    require(!has_other(jobs, found, id, tombstone), what + ", which another one has");
    require(tombstone.end.count() > wall_now, what + ", whose time is over");
    require(id < restored.next_id(), what + ", and its id would be given out again");
  }
  for (const auto& [id, changes] : changes_) {
    const auto& tombstone = changes[first_allowed(changes, safe)].tombstone;
    if (!tombstone || tombstone->end.count() <= wall_now || found.contains(id)) continue;
    require(has_other(jobs, found, id, *tombstone),
            "the key that job " + std::to_string(id) + " has left is lost: " + to_text(*tombstone));
  }
}

void Ledger::begin_again(const Engine& restored, Duration wall_offset) {
  const Jobs found = binlog::all_jobs(restored, wall_offset);
  const Tombstones kept_keys = all_tombstones(restored, wall_offset);
  notes_.begin(restored);
  for (auto& [id, changes] : changes_) {
    for (const Change& change : changes) {
      const bool is_left = change.tombstone && !found.contains(id) && !kept_keys.contains(id);
      if (is_left && has_other(found, kept_keys, id, *change.tombstone))
        passed_over_[id] = *change.tombstone;
    }
    const auto job = found.find(id);
    const bool is_there = job != found.end();
    changes.assign(1, {0, is_there ? std::optional(job->second) : std::nullopt});
    if (is_there) burials_ = std::max(burials_, job->second.burial);
  }
  for (auto& [id, tombstone] : kept_keys) {
    passed_over_.erase(id);
    changes_.at(id).back().tombstone = tombstone;
  }
}

// Recorder ----------------------------------------------------------------------------------------

void Recorder::note_room(Event event, std::uint32_t changes) {
  require(changes_with_room_ == 0, "room is taken twice");
  if (event.status == JournalStatus::ok) changes_with_room_ = changes;
  if (event.status == JournalStatus::later) ++put_off_;
  tape_.add(std::move(event));
}

void Recorder::use_room() {
  require(changes_with_room_ > 0, "a change is recorded without room");
  --changes_with_room_;
}

void Recorder::end_turn(Instant now) {
  require(changes_with_room_ == 0, "room is neither used nor released at the end of a turn");
  binlog_.end_turn(now);
}

JournalStatus Recorder::take_room_for_put(const PutRoom& put, const BlobRef& body) {
  const JournalStatus status = binlog_.take_room_for_put(put, body);
  note_room({.kind = Event::Kind::take_room_for_put,
             .status = status,
             .body_bytes = put.body_bytes,
             .body = body ? std::string(body.view()) : std::string()});
  return status;
}

JournalStatus Recorder::take_room_for_update(Promise promise) {
  const JournalStatus status = binlog_.take_room_for_update(promise);
  note_room({.kind = Event::Kind::take_room_for_update, .status = status});
  return status;
}

JournalStatus Recorder::take_room_for_note(JobRef job, std::size_t note_bytes) {
  const JournalStatus status = binlog_.take_room_for_note(job, note_bytes);
  note_room(
      {.kind = Event::Kind::take_room_for_note, .status = status, .id = engine_->jobs()[job].id});
  return status;
}

JournalStatus Recorder::take_promised_room(const Promised& promised) {
  const JournalStatus status = binlog_.take_promised_room(promised);
  if (promised.burial == nullptr && promised.deletions == 0) {
    note_room({.kind = Event::Kind::take_room_for_hold_end, .status = status});
    return status;
  }
  if (promised.burial == nullptr) {
    note_room({.kind = Event::Kind::take_room_for_delete,
               .status = status,
               .keys = promised.tombstones.keys},
              promised.deletions);
    return status;
  }
  const JournaledJob& job = *promised.burial;
  note_room({.kind = Event::Kind::take_room_for_burial, .status = status, .id = job.job.id});
  if (status != JournalStatus::ok) {
    ledger_.note(binlog::kUnrecorded, job.job.id,
                 binlog::known_from(*engine_, job.ref, wall_offset_));
  }
  return status;
}

bool Recorder::may_try_again() {
  if (!binlog_.may_try_again()) return false;
  tape_.add({.kind = Event::Kind::try_again});
  return true;
}

void Recorder::record(JobChange change, const JournaledJob& job) {
  constexpr std::array kKinds = {Event::Kind::record_put, Event::Kind::record_update,
                                 Event::Kind::record_in_place, Event::Kind::record_note};
  use_room();
  binlog_.record(change, job);
  const JobId id = job.job.id;
  KnownJob known = binlog::known_from(*engine_, job.ref, wall_offset_);
  if (change == JobChange::put) ledger_.note_body(id, engine_->jobs().body(job.ref));
  if (change == JobChange::note) {
    ledger_.note_note(binlog_.records(), id, known.note);
  } else if (change == JobChange::in_place) {
    ledger_.note_in_place(binlog_.records(), id, known);
  } else {
    ledger_.note(binlog_.records(), id, known);
  }
  tape_.add(
      {.kind = kKinds.at(static_cast<std::size_t>(change)), .id = id, .job = std::move(known)});
}

void Recorder::record_deletion(const JournaledJob& job, const Tombstone* left) {
  use_room();
  const JobId id = job.job.id;
  std::optional<KnownTombstone> tombstone;
  if (left != nullptr) {
    require(left->id == id, "a key is recorded that the deletion does not leave");
    tombstone = known_from(*left, wall_offset_);
    tape_.add({.kind = Event::Kind::record_tombstone,
               .id = id,
               .tombstone = known_from(*left, Duration{})});
  }
  binlog_.record_deletion(job, left);
  ledger_.note_deletion(binlog_.records(), id, std::move(tombstone));
  tape_.add({.kind = Event::Kind::record_delete, .id = id, .records = binlog_.records()});
}

JournalNumbers Recorder::numbers() const {
  const JournalNumbers numbers = binlog_.numbers();
  tape_.add({.kind = Event::Kind::numbers, .journal = numbers});
  return numbers;
}

std::uint64_t Recorder::file_of(JobRef job) const {
  const std::uint64_t file = binlog_.file_of(job);
  tape_.add({.kind = Event::Kind::file_of, .file = file});
  return file;
}

}  // namespace haricot::simulation
