#include "haricot/queue/keys.hpp"

#include <algorithm>

#include "haricot/base/check.hpp"

namespace haricot {

// OwnedKeys ---------------------------------------------------------------------------------------

template <Tag kTag>
FoundKey OwnedKeys<kTag>::find(TubeRef tube, std::string_view key) const {
  const std::uint64_t key_hash = hash_of(hash_key_, key);
  FoundKey found{.hash = hash_in(static_cast<std::uint64_t>(tube), key_hash), .key_hash = key_hash};
  const KeyNode* const node = nodes_.find(found.hash, [&](const KeyNode& other) {
    return jobs_[other.job].tube == tube && jobs_.template key<kTag>(other.job) == key;
  });
  if (node != nullptr) found.owner = node->job;
  return found;
}

template <Tag kTag>
bool OwnedKeys<kTag>::take(JobRef ref, std::uint64_t hash) {
  KeyNode& node = jobs_.template node<kTag>(ref);
  CHECK(node.job == JobRef::none);
  node.hash = hash;
  if (!nodes_.insert(node)) return false;
  node.job = ref;
  return true;
}

template <Tag kTag>
void OwnedKeys<kTag>::release(JobRef ref) {
  const StoredTags tags = jobs_.stored_tags(ref);
  if (tags.has(kTag)) release(tags.node<kTag>());
}

template <Tag kTag>
void OwnedKeys<kTag>::release(KeyNode& node) {
  if (node.job == JobRef::none) return;
  nodes_.erase(node);
  node.job = JobRef::none;
}

template class OwnedKeys<Tag::unique>;

// Tombstones -------------------------------------------------------------------------------------

JobRef Tombstones::find(std::string_view tube_name, std::string_view key) const {
  return find(tube_name, hash_of(hash_key_, tube_name), key, hash_of(hash_key_, key));
}

JobRef Tombstones::find(std::string_view tube_name, std::uint64_t name_hash, std::string_view key,
                        std::uint64_t key_hash) const {
  const std::uint64_t hash = hash_in(name_hash, key_hash);
  const KeyNode* const node = nodes_.find(hash, [&](const KeyNode& other) {
    return jobs_.key<Tag::unique>(other.job) == key && jobs_.tube_name_of(other.job) == tube_name;
  });
  return node == nullptr ? JobRef::none : node->job;
}

bool Tombstones::add(JobRef tombstone_ref, Instant end) {
  KeyNode& node = jobs_.node<Tag::unique>(tombstone_ref);
  CHECK(node.job == JobRef::none);
  if (!ends_.allocate_one()) return false;
  const std::uint64_t name_hash = hash_of(hash_key_, jobs_.tube_name_of(tombstone_ref));
  node.hash = hash_in(name_hash, hash_of(hash_key_, jobs_.key<Tag::unique>(tombstone_ref)));
  if (!nodes_.insert(node)) return false;
  node.job = tombstone_ref;
  jobs_[tombstone_ref].created = end;
  ends_.push({end, tombstone_ref}, jobs_);
  return true;
}

void Tombstones::release(JobRef tombstone_ref) {
  KeyNode& node = jobs_.node<Tag::unique>(tombstone_ref);
  CHECK(node.job == tombstone_ref);
  nodes_.erase(node);
  node.job = JobRef::none;
  ends_.remove(jobs_[tombstone_ref].links.first, jobs_);
}

std::uint64_t Tombstones::memory_bytes_for(std::string_view key, std::uint32_t seconds,
                                           std::size_t name_bytes) const {
  TagText text;
  const JobTags tags = text.write_tombstone_key(key, seconds);
  return jobs_.memory_bytes_for(name_bytes, JobStore::tag_bytes_of({text.view(), tags})) +
         sizeof(KeyNode*);
}

TombstoneRoom Tombstones::room_of(std::span<const JobRef> tombstone_refs) const {
  TombstoneRoom room;
  for (const JobRef ref : tombstone_refs) {
    if (ref != JobRef::none)
      room.add(jobs_.key<Tag::unique>(ref).size() + jobs_.tube_name_of(ref).size());
  }
  return room;
}

void Tombstones::check_invariants() const {
  CHECK(nodes_.size() == ends_.size());
  for (std::uint32_t i = 0; i < ends_.size(); ++i) {
    const EndEntry& entry = ends_.at(i);
    if (i > 0) CHECK(!(entry < ends_.at((i - 1) / 2)));
    const Job& tombstone = jobs_[entry.job];
    CHECK(tombstone.links.first == i);
    CHECK(end_of(tombstone) == entry.end);
    CHECK(jobs_.find_tombstone(tombstone.id) == entry.job);
    CHECK(jobs_.leaves_tombstone(entry.job) && jobs_.tombstone_seconds(entry.job) > 0);
    CHECK(find(jobs_.tube_name_of(entry.job), jobs_.key<Tag::unique>(entry.job)) == entry.job);
  }
}

// Keys -------------------------------------------------------------------------------------------

Keys::Found Keys::find(const Tube& tube, std::string_view key) {
  Found found{.place = owned_.find(tube.ref, key)};
  const JobRef owner = found.place.owner;
  if (owner != JobRef::none && !flushes_.have(owner)) {
    found.owner = owner;
    return found;
  }
  if (tombstones_.size() == 0) [[likely]]
    return found;
  const JobRef tombstone_ref = tombstones_.find(tube.name, tube.hash, key, found.place.key_hash);
  if (tombstone_ref == JobRef::none) return found;
  if (Tombstones::end_of(state_.jobs[tombstone_ref]) > state_.now) {
    found.tombstone = tombstone_ref;
  } else {
    drop(tombstone_ref);
  }
  return found;
}

bool Keys::take(JobRef ref, const Found& found) {
  if (!owned_.take(ref, found.place.hash)) return false;
  if (found.place.owner != JobRef::none) owned_.release(found.place.owner);
  return true;
}

bool Keys::restore(JobRef ref, const JobTags& tags) {
  const Job& job = state_.jobs[ref];
  const FoundKey key = owned_.find(job.tube, tags.unique_key);
  if (key.owner == JobRef::none) return owned_.take(ref, key.hash);
  if (state_.jobs[key.owner].id > job.id) return true;
  owned_.release(key.owner);
  return owned_.take(ref, key.hash);
}

void Keys::was_made_or_destroyed(JobRef ref, Place to) {
  const StoredTags tags = state_.jobs.stored_tags(ref);
  if (!tags.has(Tag::unique)) return;
  KeyNode& node = tags.node<Tag::unique>();
  if (node.outlives_job) expect_memory(ref, to != Place::nowhere);
  if (to == Place::nowhere) owned_.release(node);
}

// Tombstones --------------------------------------------------------------------------------------

Tombstone Keys::tombstone(JobRef tombstone_ref) const {
  const Job& job = state_.jobs[tombstone_ref];
  return {.ref = tombstone_ref,
          .id = job.id,
          .tube_name = state_.jobs.tube_name_of(tombstone_ref),
          .key = state_.jobs.key<Tag::unique>(tombstone_ref),
          .seconds = state_.jobs.tombstone_seconds(tombstone_ref),
          .end = Tombstones::end_of(job)};
}

JobRef Keys::make_tombstone(JobRef ref) {
  const std::uint32_t seconds = state_.jobs.tombstone_seconds(ref);
  const Instant end = state_.now + Duration::seconds(seconds);
  const JobRef tombstone_ref = restore_tombstone({.ref = JobRef::none,
                                                  .id = state_.jobs[ref].id,
                                                  .tube_name = state_.tube_of(ref).name,
                                                  .key = state_.jobs.key<Tag::unique>(ref),
                                                  .seconds = seconds,
                                                  .end = end});
  if (tombstone_ref == JobRef::none || tombstones_.add(tombstone_ref, end)) return tombstone_ref;
  state_.jobs.destroy_tombstone(tombstone_ref);
  return JobRef::none;
}

bool Keys::make_tombstones(std::span<const JobRef> refs, std::vector<JobRef>& tombstone_refs) {
  if (std::none_of(refs.begin(), refs.end(), [&](JobRef ref) { return outlives(ref); })) {
    return true;
  }
  tombstone_refs.reserve(refs.size());
  for (const JobRef ref : refs) {
    const bool leaves = outlives(ref);
    if (leaves) state_.steps += QueueState::kStepsPerJob;
    tombstone_refs.push_back(leaves ? make_tombstone(ref) : JobRef::none);
    if (!leaves || tombstone_refs.back() != JobRef::none) continue;
    unmake_tombstones(tombstone_refs);
    return false;
  }
  return true;
}

void Keys::unmake_tombstones(std::span<const JobRef> tombstone_refs) {
  for (const JobRef ref : tombstone_refs) {
    if (ref == JobRef::none) continue;
    tombstones_.release(ref);
    state_.jobs.destroy_tombstone(ref);
  }
}

void Keys::drop(JobRef tombstone_ref) {
  state_.journal.forget_tombstone(tombstone_ref);
  tombstones_.release(tombstone_ref);
  state_.jobs.destroy_tombstone(tombstone_ref);
}

void Keys::drop_ended(const Budget& budget) {
  while (!budget.is_used_up() && tombstones_.next_end() <= state_.now) {
    drop(tombstones_.first());
    state_.steps += turn_limits::kStepsPerEndedKey;
  }
}

JobRef Keys::restore_tombstone(const Tombstone& tombstone) {
  TagText text;
  const JobTags tags = text.write_tombstone_key(tombstone.key, tombstone.seconds);
  const JobRef tombstone_ref =
      state_.jobs.create_tombstone(tombstone.id, tombstone.tube_name, {text.view(), tags});
  if (tombstone_ref != JobRef::none) state_.jobs[tombstone_ref].created = tombstone.end;
  return tombstone_ref;
}

PlacedKey Keys::place_tombstone(JobRef tombstone_ref) {
  const std::string_view tube_name = state_.jobs.tube_name_of(tombstone_ref);
  const std::string_view key = state_.jobs.key<Tag::unique>(tombstone_ref);
  const Instant end = Tombstones::end_of(state_.jobs[tombstone_ref]);
  const Tube* const tube = state_.tubes.find(tube_name);
  const JobRef owner = tube == nullptr ? JobRef::none : owned_.find(tube->ref, key).owner;
  const bool is_later_held =
      owner != JobRef::none && state_.jobs[owner].id > state_.jobs[tombstone_ref].id;
  if (is_later_held || end <= state_.now) return PlacedKey::over;
  if (tombstones_.find(tube_name, key) != JobRef::none) return PlacedKey::over;
  if (!tombstones_.add(tombstone_ref, end)) return PlacedKey::no_memory;
  // The owner was deleted, but the record of that is lost: the key was free when the later job was
  // put.
  if (owner != JobRef::none) owned_.release(owner);
  return PlacedKey::taken;
}

// Memory -----------------------------------------------------------------------------------------

std::uint64_t Keys::memory_bytes_for(const Tube& tube, const JobTags& tags,
                                     std::uint64_t bytes) const {
  if (tags.unique_key.empty()) return bytes;
  bytes += UniqueKeys::kBytesOfKey;
  if (tags.tombstone_s == 0) return bytes;
  return std::max(
      bytes, tombstones_.memory_bytes_for(tags.unique_key, tags.tombstone_s, tube.name.size()));
}

// Returns the bytes by which the tombstone of a job exceeds the job. Requires: its key outlives it.
std::uint64_t Keys::bytes_more_when_deleted(JobRef ref, std::size_t name_bytes) const {
  const JobStore& jobs = state_.jobs;
  const std::size_t tag_bytes = JobStore::tag_bytes_of(jobs.tags(ref));
  const std::uint64_t now =
      jobs.memory_bytes_for(jobs[ref].body_bytes, tag_bytes) + UniqueKeys::kBytesOfKey;
  const std::uint64_t then = tombstones_.memory_bytes_for(jobs.key<Tag::unique>(ref),
                                                          jobs.tombstone_seconds(ref), name_bytes);
  return then - std::min(then, now);
}

// Counts the tombstone of the job, whether the job owns its key or not. Requires: its key outlives
// it.
void Keys::expect_memory(JobRef ref, bool entered) {
  const std::uint64_t more = bytes_more_when_deleted(ref, state_.tube_of(ref).name.size());
  if (entered) {
    tombstones_.expect(more);
  } else {
    tombstones_.expect_no_more(more);
  }
}

}  // namespace haricot
