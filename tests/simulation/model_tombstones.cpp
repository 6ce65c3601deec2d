#include <algorithm>
#include <string>
#include <utility>

#include "mismatch.hpp"
#include "model.hpp"

// Keys that outlive their jobs: which deletions leave a tombstone, and for how long.

namespace haricot::simulation {

// Returns true if a deletion, except by a flush, leaves the job's key. A job with a key need not
// own it.
bool Model::leaves_key(JobId id) const {
  const ModelJob& job = jobs_.at(id);
  if (job.tombstone_s == 0) return false;
  const auto holder = keys_.find({job.tube, job.key});
  return holder != keys_.end() && holder->second == id;
}

// `ids`: the jobs that may leave their keys; none in a flush.
JournalStatus Model::take_room_to_delete(const std::set<JobId>& ids, Tape& tape) const {
  std::uint64_t keys = 0;
  for (const JobId id : ids) keys += leaves_key(id) ? 1U : 0U;
  const Event room = tape.take(Event::Kind::take_room_for_delete);
  require(room.keys == keys, "deletions leave " + std::to_string(keys) +
                                 " keys, and there is room for " + std::to_string(room.keys));
  return room.status;
}

void Model::record_deletion(JobId id, Tape& tape, Instant now) {
  const ModelJob& job = jobs_.at(id);
  const bool is_kept = leaves_key(id);
  const std::string what = "the key of job " + std::to_string(id);
  if (is_kept) {
    const Event record = tape.take(Event::Kind::record_tombstone);
    const KnownTombstone& tombstone = record.tombstone;
    require(record.id == id && tombstone.tube == job.tube && tombstone.key == job.key &&
                tombstone.seconds == job.tombstone_s,
            what + " is recorded as another one");
    require(tombstone.end == now + Duration::seconds(job.tombstone_s),
            what + " is kept for another time");
  }
  const Event record = tape.take(Event::Kind::record_delete);
  require(record.id == id, "the record is of another job");
  if (!is_kept) return;
  tombstones_[{job.tube, job.key}] = {.id = id,
                                      .seconds = job.tombstone_s,
                                      .end = now + Duration::seconds(job.tombstone_s),
                                      .deletion = record.records};
}

Instant Model::next_end_of_key() const {
  Instant next = Instant::never();
  for (const auto& [name, tombstone] : tombstones_) next = std::min(next, tombstone.end);
  return next;
}

// In the order of their ends, which matters only if the budget does not suffice for all.
Model::Step Model::drop_ended_keys(const Budget& budget, Instant now) {
  while (!budget.is_used_up() && next_end_of_key() <= now) {
    const Instant end = next_end_of_key();
    std::erase_if(tombstones_, [&](const auto& entry) {
      if (entry.second.end != end || budget.is_used_up()) return false;
      steps_ += turn_limits::kStepsPerEndedKey;
      ++tombstone_ends_;
      return true;
    });
  }
  return next_end_of_key() <= now ? Step::continues : Step::waits;
}

// Returns null if there is none, or its time is over.
const ModelTombstone* Model::tombstone(const std::string& tube, const std::string& key,
                                       Instant now) const {
  const auto tombstone = tombstones_.find({tube, key});
  return tombstone == tombstones_.end() || tombstone->second.end <= now ? nullptr
                                                                        : &tombstone->second;
}

std::string Model::last_tombstone_key(int number) const {
  const std::string& tube = clients_.at(number).used;
  std::uint64_t last = 0;
  std::string key;
  for (const auto& [name, tombstone] : tombstones_) {
    if (name.first != tube || tombstone.deletion <= last) continue;
    last = tombstone.deletion;
    key = name.second;
  }
  return key;
}

// Returns the tombstone that the put of the client would find if it ended now.
const ModelTombstone* Model::tombstone_of_put(int number, Instant now) const {
  if (!has_keyed_put(number)) return nullptr;
  const ModelClient& client = clients_.at(number);
  return tombstone(client.used, client.put.key, now);
}

// A job owns the key from now on.
void Model::end_tombstone(const std::string& tube, const std::string& key) {
  tombstone_ends_ += tombstones_.erase({tube, key});
}

void Model::restore_tombstone(const Engine& engine) {
  tombstones_.clear();
  for (const auto& [id, tombstone] : all_tombstones(engine, Duration{})) {
    ++tombstones_back_;
    // A job that exists all the same was deleted before, and its deletion is lost.
    const auto holder = keys_.find({tombstone.tube, tombstone.key});
    if (holder != keys_.end() && holder->second < id) keys_.erase(holder);
    tombstones_[{tombstone.tube, tombstone.key}] = {
        .id = id, .seconds = tombstone.seconds, .end = tombstone.end, .deletion = 0};
  }
}

// The engine may have expired ones.
void Model::compare_tombstones(const Engine& engine, Instant now) const {
  std::uint64_t tombstones_now = 0;
  for (const auto& [name, tombstone] : tombstones_) {
    if (tombstone.end <= now) continue;
    ++tombstones_now;
    const std::string what = "the key that job " + std::to_string(tombstone.id) + " has left ";
    const JobRef ref = engine.jobs().find_tombstone(tombstone.id);
    require(ref != JobRef::none, what + "is not kept");
    const Tombstone found = engine.tombstone(ref);
    require(found.id == tombstone.id && found.tube_name == name.first && found.key == name.second &&
                found.seconds == tombstone.seconds && found.end == tombstone.end,
            what + "is kept as another one");
  }
  require(engine.jobs().tombstones() >= tombstones_now, "the number of kept keys is wrong");
}

}  // namespace haricot::simulation
