#include "support/job_history.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "haricot/base/job_tags.hpp"

namespace haricot::binlog {
namespace {

// Makes a delayed job whose delay is over a ready one.
KnownJob as_of(KnownJob job, std::int64_t wall_now) {
  if (job.state == JobState::delayed && job.deadline_at <= wall_now) {
    job.state = JobState::ready;
    job.deadline_at = 0;
  }
  return job;
}

KnownKey known_from(const Tombstone& tombstone, Duration wall_offset) {
  return {std::string(tombstone.tube_name), std::string(tombstone.key), tombstone.seconds,
          (tombstone.end + wall_offset).count()};
}

std::map<JobId, KnownKey> all_tombstones(const Engine& engine, Duration wall_offset) {
  const JobStore& jobs = engine.jobs();
  std::map<JobId, KnownKey> all;
  JobId id = 0;
  while (all.size() < jobs.tombstones()) {
    const Tombstone tombstone = engine.tombstone(jobs.first_tombstone_from(id + 1));
    id = tombstone.id;
    all[id] = known_from(tombstone, wall_offset);
  }
  return all;
}

// Returns the job that owns the key, by tube and key.
std::map<std::pair<std::string, std::string>, JobId> keys_of_jobs(const Engine& engine) {
  std::map<std::pair<std::string, std::string>, JobId> keys;
  for (const auto& [id, job] : all_jobs(engine, Duration{})) {
    const std::string key(tags_in(job.tags).unique_key);
    if (!key.empty()) keys[{job.tube, key}] = id;
  }
  return keys;
}

// Returns true if a job that was put later has left the same key.
bool is_tombstone_of_later(const std::map<JobId, KnownKey>& tombstone, JobId id,
                           const KnownKey& key) {
  return std::any_of(tombstone.upper_bound(id), tombstone.end(), [&](const auto& other) {
    return other.second.tube == key.tube && other.second.key == key.key;
  });
}

}  // namespace

std::string body_for(JobId id, std::size_t bytes) {
  std::string body = std::to_string(id) + ":";
  while (body.size() < bytes) body += static_cast<char>('a' + (body.size() * 7 + id) % 26);
  body.resize(bytes);
  return body;
}

KnownJob known_from(const Engine& engine, JobRef ref, Duration wall_offset) {
  const JournaledJob journaled = engine.journaled(ref);
  const Job& job = journaled.job;
  KnownJob known;
  known.tube = journaled.tube_name;
  known.body_bytes = job.body_bytes;
  known.priority = job.priority;
  known.delay_s = job.delay_s;
  known.ttr_s = job.ttr_s;
  known.tags = engine.jobs().tags(ref);
  known.note = engine.jobs().note(ref);
  known.created_at = (job.created + wall_offset).count();
  known.state = job.state() == JobState::reserved ? JobState::ready : job.state();
  if (known.state == JobState::delayed) {
    known.deadline_at = (journaled.deadline + wall_offset).count();
  }
  if (known.state == JobState::buried) known.burial_cause = engine.burial(ref).cause;
  for (std::size_t i = 0; i < kJobEvents; ++i) {
    known.counts[i] = engine.jobs().counted(ref, static_cast<JobEvent>(i));
  }
  // The try has not ended.
  if (job.state() == JobState::reserved && engine.jobs().has_facts(ref)) --known.counts[0];
  known.tries_before = engine.jobs().facts(ref).tries_before;
  return known;
}

std::string to_text(const std::optional<KnownJob>& job) {
  if (!job) return "no job";
  const char* const states[] = {"ready", "reserved", "delayed", "buried"};
  std::string text = states[static_cast<int>(job->state)];
  text += " in " + job->tube.substr(0, 10) + ", " + std::to_string(job->body_bytes) +
          " bytes, pri " + std::to_string(job->priority) + ", delay " +
          std::to_string(job->delay_s) + ", ttr " + std::to_string(job->ttr_s) + ", created " +
          std::to_string(job->created_at) + ", deadline " + std::to_string(job->deadline_at) +
          ", counts";
  for (const std::uint64_t count : job->counts) text += " " + std::to_string(count);
  if (!job->tags.empty()) text += ", tags " + job->tags;
  if (job->tries_before > 0) text += ", tries before " + std::to_string(job->tries_before);
  if (job->state == JobState::buried) {
    text += ", cause " + std::to_string(static_cast<unsigned>(job->burial_cause));
  }
  if (!job->note.empty()) text += ", note " + job->note.substr(0, 20);
  return text;
}

bool is_same(KnownJob known, const KnownJob& found, std::int64_t wall_now) {
  known = as_of(std::move(known), wall_now);
  const bool has_ended_a_try =
      found.counts[0] > known.counts[0] && tags_in(known.tags).backoff_s > 0;
  if (has_ended_a_try && known.state == JobState::ready && found.delay_s > 0) {
    known.state = found.state;
    known.delay_s = found.delay_s;
    known.deadline_at = found.deadline_at;
  }
  for (const JobEvent event : {JobEvent::reserve, JobEvent::timeout}) {
    const auto i = static_cast<std::size_t>(event);
    if (found.counts[i] < known.counts[i]) return false;
    known.counts[i] = found.counts[i];
  }
  known.burial = found.burial;
  known.note = found.note;
  return known == found;
}

std::map<JobId, KnownJob> all_jobs(const Engine& engine, Duration wall_offset) {
  std::map<JobId, KnownJob> jobs;
  // Millions of ids may be missing, but not many above the last job.
  for (JobId id = 1; jobs.size() < engine.jobs().size(); ++id) {
    const JobRef ref = engine.peek(id);
    if (ref != JobRef::none) jobs[id] = known_from(engine, ref, wall_offset);
  }
  std::uint64_t burials = 0;
  for (std::uint32_t i = 0; i < engine.tubes().size(); ++i) {
    for (JobRef ref = engine.tubes().at(i).first_buried; ref != JobRef::none;) {
      const Job& job = engine.jobs()[ref];
      jobs[job.id].burial = ++burials;
      ref = static_cast<JobRef>(job.links.second);
    }
  }
  return jobs;
}

void KnownNotes::begin(const Engine& engine) {
  notes_.clear();
  for (const auto& [id, job] : all_jobs(engine, Duration{})) set(0, id, job.note);
}

bool KnownNotes::may_be(JobId id, const std::string& note, std::uint64_t safe, bool exactly) const {
  std::vector<std::string> allowed{""};
  if (const auto known = notes_.find(id); known != notes_.end()) {
    for (const auto& [record, text] : known->second) {
      if (record <= safe) allowed.clear();
      if (record <= safe || !exactly) allowed.push_back(text);
    }
  }
  return std::find(allowed.begin(), allowed.end(), note) != allowed.end();
}

void JobHistory::begin(const Engine& engine, Duration wall_offset) {
  notes_.begin(engine);
  engine_ = &engine;
  wall_offset_ = wall_offset;
  for (auto& [id, job] : all_jobs(engine, wall_offset)) {
    burials_ = std::max(burials_, job.burial);
    changes_.push_back({0, id, job});
  }
  for (const auto& [id, key] : all_tombstones(engine, wall_offset)) {
    changes_.push_back({0, id, std::nullopt, key});
  }
}

JournalStatus JobHistory::take_promised_room(const Promised& promised) {
  const JournalStatus status = binlog_.take_promised_room(promised);
  if (status != JournalStatus::ok && promised.burial != nullptr) {
    const JournaledJob& job = *promised.burial;
    changes_.push_back({kUnrecorded, job.job.id, known_from(*engine_, job.ref, wall_offset_)});
  }
  return status;
}

// A buried job that does not move keeps its turn.
void JobHistory::record(JobChange change, const JournaledJob& job) {
  binlog_.record(change, job);
  KnownJob known = known_from(*engine_, job.ref, wall_offset_);
  if (change == JobChange::note) return notes_.set(binlog_.records(), job.job.id, known.note);
  if (known.state == JobState::buried && change == JobChange::in_place) {
    const auto before = std::find_if(changes_.rbegin(), changes_.rend(),
                                     [&](const Change& other) { return other.id == job.job.id; });
    known.burial = before->job->burial;
  } else if (known.state == JobState::buried) {
    known.burial = ++burials_;
  }
  changes_.push_back({binlog_.records(), job.job.id, std::move(known)});
}

void JobHistory::record_deletion(const JournaledJob& job, const Tombstone* left) {
  const JobId id = job.job.id;
  std::optional<KnownKey> tombstone;
  if (left != nullptr) tombstone = known_from(*left, wall_offset_);
  binlog_.record_deletion(job, left);
  changes_.push_back({binlog_.records(), id, std::nullopt, std::move(tombstone)});
}

// If a deletion was not safe yet, the records of its key may be lost without it.
std::string JobHistory::compare_keys(const Engine& restored, Duration wall_offset,
                                     std::int64_t wall_now, std::uint64_t safe,
                                     bool exactly) const {
  std::map<JobId, std::vector<std::optional<KnownKey>>> allowed;
  for (const Change& change : changes_) {
    auto& keys = allowed[change.id];
    if (change.record <= safe) {
      keys.assign(1, change.key);
    } else if (!exactly) {
      keys.push_back(std::nullopt);
      keys.push_back(change.key);
    }
  }
  const std::map<JobId, KnownKey> found = all_tombstones(restored, wall_offset);
  const auto held = keys_of_jobs(restored);
  // A later job has the key. For an earlier job the deletion is lost, and it continues without the
  // key.
  const auto is_held = [&held](JobId id, const KnownKey& key) {
    const auto job = held.find({key.tube, key.key});
    return job != held.end() && job->second > id;
  };
  for (const auto& [id, key] : found) {
    const auto& keys = allowed[id];
    const std::string name = "the key " + key.key + " of job " + std::to_string(id);
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) return name + " was never kept so";
    if (key.end_at <= wall_now) return name + " is over";
    if (restored.peek(id) != JobRef::none) return name + " is kept, and the job is there";
    if (is_held(id, key) || is_tombstone_of_later(found, id, key)) {
      return name + " is there twice";
    }
  }
  for (const auto& [id, keys] : allowed) {
    const bool may_be_gone =
        keys.empty() || std::find(keys.begin(), keys.end(), std::nullopt) != keys.end();
    if (may_be_gone || found.contains(id) || keys.front()->end_at <= wall_now) continue;
    const KnownKey& key = *keys.front();
    if (!is_held(id, key) && !is_tombstone_of_later(found, id, key)) {
      return "the key " + key.key + " of job " + std::to_string(id) + " is lost";
    }
  }
  return "";
}

std::string JobHistory::compare(const Engine& restored, Duration wall_offset, std::int64_t wall_now,
                                std::uint64_t safe, bool exactly) const {
  std::map<JobId, std::vector<std::optional<KnownJob>>> allowed;
  JobId highest = 0;
  for (const Change& change : changes_) {
    auto& states = allowed[change.id];
    if (change.record <= safe) {
      states.assign(1, change.job);
      highest = std::max(highest, change.id);
    } else if (!exactly || change.record == kUnrecorded) {
      if (states.empty()) states.push_back(std::nullopt);
      states.push_back(change.job);
    }
  }
  if (restored.next_id() <= highest) {
    return "id " + std::to_string(restored.next_id()) + " would be given out again";
  }
  const std::map<JobId, KnownJob> found = all_jobs(restored, wall_offset);
  if (found.size() != restored.jobs().size())
    return "there are jobs of ids that were not given out";
  std::map<std::string, std::map<std::uint64_t, std::uint64_t>> burials;  // By place, the order.
  for (const auto& [id, job] : found) {
    const auto known = allowed.find(id);
    if (known == allowed.end()) return "job " + std::to_string(id) + " was never there";
    const std::optional<KnownJob>* match = nullptr;
    for (const auto& state : known->second) {
      if (!state || !is_same(*state, job, wall_now)) continue;
      // A late burial has its turn since the job was buried, which is unknown here.
      const bool has_no_turn =
          match != nullptr && (*match)->state == JobState::buried && (*match)->burial == 0;
      if (!has_no_turn) match = &state;
    }
    if (match == nullptr) {
      std::string text = "job " + std::to_string(id) + " is " + to_text(job) + "; it may be";
      for (const auto& state : known->second) text += "\n  " + to_text(state);
      return text;
    }
    const bool has_turn = (*match)->burial > 0;  // 0: the burial is not recorded.
    if (has_turn) burials[job.tube][job.burial] = (*match)->burial;
    const JobRef ref = restored.peek(id);
    const bool has_body = restored.jobs().body(ref) == body_for(id, job.body_bytes);
    if (!has_body || !notes_.may_be(id, job.note, safe, exactly)) {
      return "job " + std::to_string(id) + " has another body or note";
    }
  }
  for (const auto& [id, states] : allowed) {
    const bool may_be_gone = std::find(states.begin(), states.end(), std::nullopt) != states.end();
    if (!states.empty() && !may_be_gone && !found.contains(id)) {
      return "job " + std::to_string(id) + " is lost; it was " + to_text(states.front());
    }
  }
  for (const auto& [tube, order] : burials) {
    std::uint64_t before = 0;
    for (const auto& [place, burial] : order) {
      if (burial <= before) return "buried jobs of " + tube.substr(0, 10) + " are in another order";
      before = burial;
    }
  }
  return compare_keys(restored, wall_offset, wall_now, safe, exactly);
}

}  // namespace haricot::binlog
