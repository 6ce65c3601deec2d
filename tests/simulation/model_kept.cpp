#include <algorithm>
#include <string>
#include <utility>

#include "mismatch.hpp"
#include "model.hpp"

// Keys that outlive their jobs: what a deletion leaves of a job, and for how long.

namespace haricot::simulation {

// Whether a deletion of the job, which is none by a flush, leaves its key behind. A job that has a
// key need not hold it.
bool Model::leaves_key(JobId id) const {
  const ModelJob& job = jobs_.at(id);
  if (job.kept_s == 0) return false;
  const auto holder = keys_.find({job.tube, job.key});
  return holder != keys_.end() && holder->second == id;
}

// `ids`: the jobs that may leave their keys; none in a flush.
JournalStatus Model::take_room_to_delete(const std::set<JobId>& ids, Tape& tape) const {
  std::uint64_t keys = 0;
  for (const JobId id : ids) keys += leaves_key(id) ? 1U : 0U;
  const Event room = tape.take(Event::Kind::reserve_delete);
  require(room.keys == keys, "deletions leave " + std::to_string(keys) +
                                 " keys, and there is room for " + std::to_string(room.keys));
  return room.status;
}

void Model::record_deletion(JobId id, Tape& tape, Instant now) {
  const ModelJob& job = jobs_.at(id);
  const bool is_kept = leaves_key(id);
  const std::string what = "the key of job " + std::to_string(id);
  if (is_kept) {
    const Event record = tape.take(Event::Kind::record_kept);
    const KnownKept& kept = record.kept;
    require(record.id == id && kept.tube == job.tube && kept.key == job.key &&
                kept.seconds == job.kept_s,
            what + " is recorded as another one");
    require(kept.end == now + Duration::seconds(job.kept_s), what + " is kept for another time");
  }
  const Event record = tape.take(Event::Kind::record_delete);
  require(record.id == id, "the record is of another job");
  if (!is_kept) return;
  kept_[{job.tube, job.key}] = {.id = id,
                                .seconds = job.kept_s,
                                .end = now + Duration::seconds(job.kept_s),
                                .deletion = record.records};
}

Instant Model::next_end_of_key() const {
  Instant next = Instant::never();
  for (const auto& [name, kept] : kept_) next = std::min(next, kept.end);
  return next;
}

// The first to end goes first, which matters only where the budget does not suffice for all.
Model::Step Model::drop_ended_keys(const Budget& budget, Instant now) {
  while (!budget.is_used_up() && next_end_of_key() <= now) {
    const Instant end = next_end_of_key();
    std::erase_if(kept_, [&](const auto& entry) {
      if (entry.second.end != end || budget.is_used_up()) return false;
      steps_ += turn_limits::kStepsPerEndedKey;
      ++kept_ends_;
      return true;
    });
  }
  return next_end_of_key() <= now ? Step::goes_on : Step::waits;
}

// Null: there is none, or its time is over.
const ModelKept* Model::kept_key(const std::string& tube, const std::string& key,
                                 Instant now) const {
  const auto kept = kept_.find({tube, key});
  return kept == kept_.end() || kept->second.end <= now ? nullptr : &kept->second;
}

std::string Model::last_kept_key(int number) const {
  const std::string& tube = clients_.at(number).used;
  std::uint64_t last = 0;
  std::string key;
  for (const auto& [name, kept] : kept_) {
    if (name.first != tube || kept.deletion <= last) continue;
    last = kept.deletion;
    key = name.second;
  }
  return key;
}

// That which the put of the client would come upon if it ended now.
const ModelKept* Model::kept_key_of_put(int number, Instant now) const {
  if (!has_keyed_put(number)) return nullptr;
  const ModelClient& client = clients_.at(number);
  return kept_key(client.used, client.put.key, now);
}

// A job has the key from now on.
void Model::end_kept_key(const std::string& tube, const std::string& key) {
  kept_ends_ += kept_.erase({tube, key});
}

void Model::restore_kept(const Engine& engine) {
  kept_.clear();
  for (const auto& [id, kept] : all_kept(engine, Duration{})) {
    ++kept_back_;
    // A job that is there in spite of that was deleted before, and its deletion is lost.
    const auto holder = keys_.find({kept.tube, kept.key});
    if (holder != keys_.end() && holder->second < id) keys_.erase(holder);
    kept_[{kept.tube, kept.key}] = {
        .id = id, .seconds = kept.seconds, .end = kept.end, .deletion = 0};
  }
}

// The engine may have some whose time is over.
void Model::compare_kept(const Engine& engine, Instant now) const {
  std::uint64_t kept_now = 0;
  for (const auto& [name, kept] : kept_) {
    if (kept.end <= now) continue;
    ++kept_now;
    const std::string what = "the key that job " + std::to_string(kept.id) + " has left ";
    const JobRef ref = engine.jobs().find_remains(kept.id);
    require(ref != JobRef::none, what + "is not kept");
    const KeptKey found = engine.kept(ref);
    require(found.id == kept.id && found.tube_name == name.first && found.key == name.second &&
                found.seconds == kept.seconds && found.end == kept.end,
            what + "is kept as another one");
  }
  require(engine.jobs().remains() >= kept_now, "the number of kept keys is wrong");
}

}  // namespace haricot::simulation
