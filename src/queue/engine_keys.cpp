// What the tags of a put ask for: a lane, and a key that no other job of the tube holds.
//
// A put of a key that a job of the tube holds adds no job. It answers for that job, wherever the
// job is, and makes it as urgent as itself. A job holds its key until it is deleted. One that a
// flush has taken still stands among the holders, so that a flush takes no longer for keys; no put
// finds it, and the next put of the key takes the key over. What a flush that has failed puts back
// holds its key again if nobody has done so.
//
// A job may live without the key that it has: where a crash has cut off a flush, two jobs of one
// key come back.

#include <algorithm>

#include "haricot/base/check.hpp"
#include "haricot/base/job_tags.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot {

bool Engine::admit_with_tags(const Tube& tube, const ReadTags& tags, std::size_t body_bytes) {
  if (!is_job_memory_limited()) return true;
  std::uint64_t bytes = jobs_.memory_bytes_for(body_bytes, JobStore::tag_bytes_of(tags));
  if (!tags.tags.unique_key.empty()) bytes += UniqueKeys::kBytesOfKey;
  if (tags.tags.kept_s > 0) {
    bytes = std::max(
        bytes, kept_.memory_bytes_for(tags.tags.unique_key, tags.tags.kept_s, tube.name.size()));
  }
  const std::string_view lane = tags.tags.lane;
  if (!lane.empty() && lanes_.find(tube.ref, lane) == nullptr) {
    bytes += Lanes::memory_bytes_for(lane);
  }
  return admit(bytes);
}

// Of a job that was just created. `key` is what was found of its key: nobody, or a job that a flush
// has. False: no memory, and the job is gone.
bool Engine::take_up_tags(const Tube& tube, JobRef ref, const JobTags& tags,
                          const UniqueKeys::Found& key) {
  const bool has_key = !tags.unique_key.empty();
  if (has_key && !keys_.hold(ref, key.hash)) {
    jobs_.destroy(ref);
    return false;
  }
  if (!tags.lane.empty() && !join_lane_of_put(tube, ref, tags)) {
    if (has_key) keys_.let_go(ref);
    jobs_.destroy(ref);
    return false;
  }
  if (key.holder != JobRef::none) keys_.let_go(key.holder);
  return true;
}

Outcome Engine::put_again(Tube& tube, JobRef holder, std::uint32_t priority) {
  const bool is_raised = priority < jobs_[holder].priority;
  if (is_raised) {
    const JournalStatus room = journal_.reserve_update();
    if (room == JournalStatus::full) return Outcome::out_of_memory;
    if (room == JournalStatus::failed) return Outcome::journal_failed;
    if (room == JournalStatus::later) return Outcome::not_yet;
    raise_priority(tube, holder, priority);
    journal_.record_in_place(journaled(holder));
  }
  duplicate_ = {holder, is_raised};
  return Outcome::duplicate;
}

// The job stays where it is, but for its turn among ready jobs. As many are open as before, so
// there is nothing to offer to those who wait.
void Engine::raise_priority(Tube& tube, JobRef ref, std::uint32_t priority) {
  Job& job = jobs_[ref];
  if (job.state() != JobState::ready) {
    job.priority = priority;
    return;
  }
  const bool in_lane = has_lane(ref, job);
  if (in_lane) lanes_.remove_ready(lane_of(ref), ref);
  count_place(tube, job, false);
  job.priority = priority;
  count_place(tube, job, true);
  tube.ready.replace(job.heap_index(), ReadySlot(job.id, priority, ref), jobs_);
  if (in_lane) enter_ready_in_lane(ref);
  announce_offer(tube);
}

// Of a job that a journal brings back. Of several with one key the one with the highest id holds
// it: the others were flushed before its put. False: no memory.
bool Engine::restore_tags(JobRef ref) {
  const Job& job = jobs_[ref];
  const JobTags tags = tags_in(jobs_.tags(ref));
  if (!tags.lane.empty() && !restore_lane(ref, tags)) return false;
  if (tags.unique_key.empty()) return true;
  const UniqueKeys::Found key = keys_.find(job.tube, tags.unique_key);
  if (key.holder == JobRef::none) return keys_.hold(ref, key.hash);
  if (jobs_[key.holder].id > job.id) return true;
  keys_.let_go(key.holder);
  return keys_.hold(ref, key.hash);
}

// Returns whether it leaves a lane. Requires: the job is in no place any more.
bool Engine::let_go_of_tags(JobRef ref) {
  if (keys_to_keep_.keys > 0) count_key_to_keep(ref, false);
  keys_.let_go(ref);
  const bool leaves_lane = lanes_.size() > 0 && has_lane(ref);
  if (leaves_lane) leave_lane(ref);
  return leaves_lane;
}

}  // namespace haricot
