// Keys that outlive their jobs: `idp:<key>:<seconds>`.
//
// The deletion of a job that holds such a key leaves remains behind, which have the key from then
// on. They belong to the name of the tube, and keep no tube in existence. A put of the key adds no
// job while they are there. What a flush deletes leaves nothing behind.
//
// The remains are made before anything else of the deletion happens, as they need memory. Nobody
// looks for a key in between, so that it does no harm that the job still has the key as well.
//
// Remains whose time is over count for nothing. They go when a put finds them, or with the time.

#include <algorithm>
#include <span>
#include <vector>

#include "haricot/base/check.hpp"
#include "haricot/base/job_tags.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot {
namespace {

// So many are dropped in one call at most.
constexpr std::uint32_t kEndedKeysPerCall = 500;

}  // namespace

KeptKey Engine::kept(JobRef remains) const {
  const Job& job = jobs_[remains];
  return {.ref = remains,
          .id = job.id,
          .tube_name = jobs_.tube_name_of(remains),
          .key = jobs_.unique_key(remains),
          .seconds = jobs_.kept_seconds(remains),
          .end = KeptKeys::end_of(job)};
}

// Whatever has the key of a put in the tube; JobRef::none: nothing has it any more.
JobRef Engine::find_kept(const Tube& tube, std::string_view key, std::uint64_t key_hash) {
  const JobRef remains = kept_.find(tube.name, tube.hash, key, key_hash);
  if (remains == JobRef::none || KeptKeys::end_of(jobs_[remains]) > now_) return remains;
  drop_kept(remains);
  return JobRef::none;
}

// Making remains ----------------------------------------------------------------------------------

// JobRef::none: no memory, and nothing has changed. Requires: leaves_key().
JobRef Engine::make_remains(JobRef ref) {
  const Job& job = jobs_[ref];
  const std::uint32_t seconds = jobs_.kept_seconds(ref);
  const Instant end = now_ + Duration::seconds(seconds);
  const JobRef remains = restore_kept({.ref = JobRef::none,
                                       .id = job.id,
                                       .tube_name = tube_of(job).name,
                                       .key = jobs_.unique_key(ref),
                                       .seconds = seconds,
                                       .end = end});
  if (remains == JobRef::none || kept_.keep(remains, end)) return remains;
  jobs_.destroy_remains(remains);
  return JobRef::none;
}

// Of those jobs that leave a key behind, each in the place of its job; nothing at all if none does.
// False: no memory, and nothing has changed. Throws std::bad_alloc before anything has changed.
bool Engine::make_remains(std::span<const JobRef> refs, std::vector<JobRef>& remains) {
  if (std::none_of(refs.begin(), refs.end(), [&](JobRef ref) { return leaves_key(ref); })) {
    return true;
  }
  remains.reserve(refs.size());
  for (const JobRef ref : refs) {
    const bool leaves = leaves_key(ref);
    if (leaves) steps_ += kStepsPerJob;
    remains.push_back(leaves ? make_remains(ref) : JobRef::none);
    if (!leaves || remains.back() != JobRef::none) continue;
    unmake_remains(remains);
    return false;
  }
  return true;
}

// The journal has not been told of them.
void Engine::unmake_remains(std::span<const JobRef> remains) {
  for (const JobRef ref : remains) {
    if (ref == JobRef::none) continue;
    kept_.let_go(ref);
    jobs_.destroy_remains(ref);
  }
}

// By how much what remains of a job takes more than the job. Requires: its key outlives it.
std::uint64_t Engine::bytes_more_when_deleted(JobRef ref, std::size_t name_bytes) const {
  const std::size_t tag_bytes = JobStore::tag_bytes_of(jobs_.tags(ref));
  const std::uint64_t now =
      jobs_.memory_bytes_for(jobs_[ref].body_bytes, tag_bytes) + UniqueKeys::kBytesOfKey;
  const std::uint64_t then =
      kept_.memory_bytes_for(jobs_.unique_key(ref), jobs_.kept_seconds(ref), name_bytes);
  return then - std::min(then, now);
}

// Of a job that begins to be there, or that is about to be destroyed. It is counted whether it
// holds its key or not. Requires: it has tags, and its tube is set.
void Engine::count_key_to_keep(JobRef ref, bool entered) {
  if (!jobs_.has_kept_key(ref)) return;
  const std::string_view key = jobs_.unique_key(ref);
  const std::size_t name_bytes = tube_of(jobs_[ref]).name.size();
  const std::uint64_t more = bytes_more_when_deleted(ref, name_bytes);
  if (entered) {
    keys_to_keep_.add(key.size() + name_bytes);
    kept_.expect(more);
  } else {
    keys_to_keep_.remove(key.size() + name_bytes);
    kept_.expect_no_more(more);
  }
}

// Dropping remains --------------------------------------------------------------------------------

void Engine::drop_kept(JobRef remains) {
  journal_.forget_kept(remains);
  kept_.let_go(remains);
  jobs_.destroy_remains(remains);
}

void Engine::drop_ended_keys(std::uint32_t& budget) {
  std::uint32_t left = std::min(budget, kEndedKeysPerCall);
  budget -= left;
  for (; left > 0 && kept_.next_end() <= now_; --left) drop_kept(kept_.first());
  budget += left;
}

// Bringing back -----------------------------------------------------------------------------------

JobRef Engine::restore_kept(const KeptKey& kept) {
  TagText text;
  const JobTags tags = text.write_kept_key(kept.key, kept.seconds);
  const JobRef remains = jobs_.create_remains(kept.id, kept.tube_name, {text.view(), tags});
  if (remains != JobRef::none) jobs_[remains].created = kept.end;
  return remains;
}

PlacedKey Engine::place_kept(JobRef remains) {
  const std::string_view tube_name = jobs_.tube_name_of(remains);
  const std::string_view key = jobs_.unique_key(remains);
  const Instant end = KeptKeys::end_of(jobs_[remains]);
  const Tube* const tube = tubes_.find(tube_name);
  const bool is_held = tube != nullptr && keys_.find(tube->ref, key).holder != JobRef::none;
  if (is_held || end <= now_) return PlacedKey::over;
  if (kept_.find(tube_name, key) != JobRef::none) return PlacedKey::over;
  return kept_.keep(remains, end) ? PlacedKey::kept : PlacedKey::no_memory;
}

}  // namespace haricot
