#include "haricot/queue/keys.hpp"

#include <algorithm>

namespace haricot {

Keys::Found Keys::find(const Tube& tube, std::string_view key) {
  Found found{.place = held_.find(tube.ref, key)};
  const JobRef holder = found.place.holder;
  if (holder != JobRef::none && !flushes_.have(holder)) {
    found.holder = holder;
    return found;
  }
  if (kept_.size() == 0) [[likely]]
    return found;
  const JobRef remains = kept_.find(tube.name, tube.hash, key, found.place.key_hash);
  if (remains == JobRef::none) return found;
  if (KeptKeys::end_of(state_.jobs[remains]) > state_.now) {
    found.remains = remains;
  } else {
    drop(remains);
  }
  return found;
}

bool Keys::take(JobRef ref, const Found& found) {
  if (!held_.hold(ref, found.place.hash)) return false;
  if (found.place.holder != JobRef::none) held_.let_go(found.place.holder);
  return true;
}

bool Keys::restore(JobRef ref, const JobTags& tags) {
  const Job& job = state_.jobs[ref];
  const UniqueKeys::Found key = held_.find(job.tube, tags.unique_key);
  if (key.holder == JobRef::none) return held_.hold(ref, key.hash);
  if (state_.jobs[key.holder].id > job.id) return true;
  held_.let_go(key.holder);
  return held_.hold(ref, key.hash);
}

void Keys::came_or_goes(JobRef ref, Place to) {
  expect_memory(ref, to != Place::nowhere);
  if (to == Place::nowhere) held_.let_go(ref);
}

// Remains ----------------------------------------------------------------------------------------

KeptKey Keys::kept(JobRef remains) const {
  const Job& job = state_.jobs[remains];
  return {.ref = remains,
          .id = job.id,
          .tube_name = state_.jobs.tube_name_of(remains),
          .key = state_.jobs.unique_key(remains),
          .seconds = state_.jobs.kept_seconds(remains),
          .end = KeptKeys::end_of(job)};
}

JobRef Keys::make_remains(JobRef ref) {
  const std::uint32_t seconds = state_.jobs.kept_seconds(ref);
  const Instant end = state_.now + Duration::seconds(seconds);
  const JobRef remains = restore_kept({.ref = JobRef::none,
                                       .id = state_.jobs[ref].id,
                                       .tube_name = state_.tube_of(ref).name,
                                       .key = state_.jobs.unique_key(ref),
                                       .seconds = seconds,
                                       .end = end});
  if (remains == JobRef::none || kept_.keep(remains, end)) return remains;
  state_.jobs.destroy_remains(remains);
  return JobRef::none;
}

bool Keys::make_remains(std::span<const JobRef> refs, std::vector<JobRef>& remains) {
  if (std::none_of(refs.begin(), refs.end(), [&](JobRef ref) { return outlives(ref); })) {
    return true;
  }
  remains.reserve(refs.size());
  for (const JobRef ref : refs) {
    const bool leaves = outlives(ref);
    if (leaves) state_.steps += QueueState::kStepsPerJob;
    remains.push_back(leaves ? make_remains(ref) : JobRef::none);
    if (!leaves || remains.back() != JobRef::none) continue;
    unmake_remains(remains);
    return false;
  }
  return true;
}

void Keys::unmake_remains(std::span<const JobRef> remains) {
  for (const JobRef ref : remains) {
    if (ref == JobRef::none) continue;
    kept_.let_go(ref);
    state_.jobs.destroy_remains(ref);
  }
}

void Keys::drop(JobRef remains) {
  state_.journal.forget_kept(remains);
  kept_.let_go(remains);
  state_.jobs.destroy_remains(remains);
}

void Keys::drop_ended(const Budget& budget) {
  while (!budget.is_used_up() && kept_.next_end() <= state_.now) {
    drop(kept_.first());
    state_.steps += turn_limits::kStepsPerEndedKey;
  }
}

JobRef Keys::restore_kept(const KeptKey& kept) {
  TagText text;
  const JobTags tags = text.write_kept_key(kept.key, kept.seconds);
  const JobRef remains = state_.jobs.create_remains(kept.id, kept.tube_name, {text.view(), tags});
  if (remains != JobRef::none) state_.jobs[remains].created = kept.end;
  return remains;
}

PlacedKey Keys::place_kept(JobRef remains) {
  const std::string_view tube_name = state_.jobs.tube_name_of(remains);
  const std::string_view key = state_.jobs.unique_key(remains);
  const Instant end = KeptKeys::end_of(state_.jobs[remains]);
  const Tube* const tube = state_.tubes.find(tube_name);
  const JobRef holder = tube == nullptr ? JobRef::none : held_.find(tube->ref, key).holder;
  const bool is_later_held =
      holder != JobRef::none && state_.jobs[holder].id > state_.jobs[remains].id;
  if (is_later_held || end <= state_.now) return PlacedKey::over;
  if (kept_.find(tube_name, key) != JobRef::none) return PlacedKey::over;
  if (!kept_.keep(remains, end)) return PlacedKey::no_memory;
  // The deletion of the holder is lost: the key was free when the later job was put.
  if (holder != JobRef::none) held_.let_go(holder);
  return PlacedKey::kept;
}

// Memory -----------------------------------------------------------------------------------------

std::uint64_t Keys::memory_bytes_for(const Tube& tube, const JobTags& tags,
                                     std::uint64_t bytes) const {
  if (tags.unique_key.empty()) return bytes;
  bytes += UniqueKeys::kBytesOfKey;
  if (tags.kept_s == 0) return bytes;
  return std::max(bytes, kept_.memory_bytes_for(tags.unique_key, tags.kept_s, tube.name.size()));
}

// By how much what remains of a job takes more than the job. Requires: its key outlives it.
std::uint64_t Keys::bytes_more_when_deleted(JobRef ref, std::size_t name_bytes) const {
  const JobStore& jobs = state_.jobs;
  const std::size_t tag_bytes = JobStore::tag_bytes_of(jobs.tags(ref));
  const std::uint64_t now =
      jobs.memory_bytes_for(jobs[ref].body_bytes, tag_bytes) + UniqueKeys::kBytesOfKey;
  const std::uint64_t then =
      kept_.memory_bytes_for(jobs.unique_key(ref), jobs.kept_seconds(ref), name_bytes);
  return then - std::min(then, now);
}

// Of what remains of the job, whether it holds its key or not.
void Keys::expect_memory(JobRef ref, bool entered) {
  if (!state_.jobs.has_kept_key(ref)) return;
  const std::uint64_t more = bytes_more_when_deleted(ref, state_.tube_of(ref).name.size());
  if (entered) {
    kept_.expect(more);
  } else {
    kept_.expect_no_more(more);
  }
}

}  // namespace haricot
