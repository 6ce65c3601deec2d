#include "haricot/queue/keys.hpp"

#include <algorithm>

namespace haricot {

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
  const UniqueKeys::Found key = owned_.find(job.tube, tags.unique_key);
  if (key.owner == JobRef::none) return owned_.take(ref, key.hash);
  if (state_.jobs[key.owner].id > job.id) return true;
  owned_.release(key.owner);
  return owned_.take(ref, key.hash);
}

void Keys::was_made_or_destroyed(JobRef ref, Place to) {
  expect_memory(ref, to != Place::nowhere);
  if (to == Place::nowhere) owned_.release(ref);
}

// Tombstones --------------------------------------------------------------------------------------

Tombstone Keys::tombstone(JobRef tombstone_ref) const {
  const Job& job = state_.jobs[tombstone_ref];
  return {.ref = tombstone_ref,
          .id = job.id,
          .tube_name = state_.jobs.tube_name_of(tombstone_ref),
          .key = state_.jobs.unique_key(tombstone_ref),
          .seconds = state_.jobs.tombstone_seconds(tombstone_ref),
          .end = Tombstones::end_of(job)};
}

JobRef Keys::make_tombstone(JobRef ref) {
  const std::uint32_t seconds = state_.jobs.tombstone_seconds(ref);
  const Instant end = state_.now + Duration::seconds(seconds);
  const JobRef tombstone_ref = restore_tombstone({.ref = JobRef::none,
                                                  .id = state_.jobs[ref].id,
                                                  .tube_name = state_.tube_of(ref).name,
                                                  .key = state_.jobs.unique_key(ref),
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
  const std::string_view key = state_.jobs.unique_key(tombstone_ref);
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
  const std::uint64_t then =
      tombstones_.memory_bytes_for(jobs.unique_key(ref), jobs.tombstone_seconds(ref), name_bytes);
  return then - std::min(then, now);
}

// Counts the tombstone of the job, whether the job owns its key or not.
void Keys::expect_memory(JobRef ref, bool entered) {
  if (!state_.jobs.leaves_tombstone(ref)) return;
  const std::uint64_t more = bytes_more_when_deleted(ref, state_.tube_of(ref).name.size());
  if (entered) {
    tombstones_.expect(more);
  } else {
    tombstones_.expect_no_more(more);
  }
}

}  // namespace haricot
