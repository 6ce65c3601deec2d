// Lanes: how a job that gets ready, is reserved or goes opens and blocks the others of its lane.
//
// Every change of a lane ends with open_next(), which makes the job open that is to be so. It gives
// another key to slots that the ready heap has already, so it needs no memory and cannot fail. Who
// ends a reservation has to offer the tube afterwards, because another job may be open then.
//
// A flush takes the ready heap of a tube away, and does not look at the lanes: all ready jobs of a
// lane are of one tube, so the flush has all or none of those in its heap. Whoever looks at the
// lane next sees by its first job that it has them, and forgets them all. The flush itself looks
// before it frees one.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "haricot/base/check.hpp"
#include "haricot/base/job_tags.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot {

// Of a job that was just created. False: no memory, and nothing has changed.
bool Engine::join_lane_of_put(const Tube& tube, JobRef ref, const JobTags& tags) {
  Lane* const lane = lanes_.find_or_create(tube.ref, tags.lane);
  if (lane == nullptr) return false;
  lane->limit = tags.lane_limit;
  lane->limit_from = jobs_[ref].id;
  join_lane(*lane, ref);
  return true;
}

// A job that a journal brings back. Of the limits that its lane has had, nobody knows which was the
// last; that of the job with the highest id is it, or close to it. False: no memory.
bool Engine::restore_lane(JobRef ref, const JobTags& tags) {
  const Job& job = jobs_[ref];
  Lane* const lane = lanes_.find_or_create(job.tube, tags.lane);
  if (lane == nullptr) return false;
  if (job.id >= lane->limit_from) {
    lane->limit = tags.lane_limit;
    lane->limit_from = job.id;
  }
  join_lane(*lane, ref);
  return true;
}

// Before the job is in a place.
void Engine::join_lane(Lane& lane, JobRef ref) {
  lanes_.join(lane, ref);
  open_next(lane_of(ref));
}

void Engine::forget_flushed(Lane& lane) {
  if (flushes_ == 0 || lane.ready.empty() || !is_flushed(lane.ready.top())) return;
  lane.ready.forget_all();
  lane.open = JobRef::none;
}

// The lane of a job, without the ready jobs that a flush has.
Lane& Engine::lane_of(JobRef ref) {
  Lane* const lane = lanes_.lane_of(ref);
  CHECK(lane != nullptr);
  forget_flushed(*lane);
  return *lane;
}

void Engine::set_blocked(JobRef ref, bool is_blocked) {
  const Job& job = jobs_[ref];
  tube_of(job).ready.replace(job.heap_index(), ReadySlot(job.id, job.priority, ref, is_blocked),
                             jobs_);
}

void Engine::open_next(Lane& lane) {
  const JobRef wanted = lane.wanted_open();
  if (wanted == lane.open) return;
  if (lane.open != JobRef::none) set_blocked(lane.open, true);
  lane.open = wanted;
  if (wanted != JobRef::none) set_blocked(wanted, false);
}

// Requires: the job is in the ready heap. There it is blocked until it is known which job of the
// lane is the open one.
void Engine::enter_ready_in_lane(JobRef ref) {
  Lane& lane = lane_of(ref);
  set_blocked(ref, true);
  lanes_.add_ready(lane, ref);
  open_next(lane);
}

// Requires: the job is still in the ready heap, which it is about to leave.
void Engine::leave_ready_in_lane(JobRef ref) {
  Lane& lane = lane_of(ref);
  lanes_.remove_ready(lane, ref);
  open_next(lane);
}

void Engine::begin_reserved_in_lane(JobRef ref) {
  Lane& lane = lane_of(ref);
  ++lane.reserved;
  open_next(lane);
}

void Engine::end_reserved_in_lane(JobRef ref) {
  Lane& lane = lane_of(ref);
  CHECK(lane.reserved > 0);
  --lane.reserved;
  open_next(lane);
}

// Requires: the job is in no place any more.
void Engine::leave_lane(JobRef ref) {
  lanes_.leave(lane_of(ref), ref);
}

// A put that raises a limit opens as many jobs as workers may wait for, and so does a batch. What
// the budget of the turn does not reach is handed out in the next turns, as at the end of a pause.
// The first job never waits for that, because that of another put does not either.
void Engine::offer_many(Tube& tube, Instant now) {
  if (!offer_one(tube, now)) {
    announce_offer(tube);
    return;
  }
  tube.pause_end = now;
  end_pause(tube, now, budget_);
  arm_tube(tube);
}

// Of each of the jobs that is in a lane. Throws std::bad_alloc.
std::vector<Tube*> Engine::tubes_with_lanes(std::span<const JobRef> refs) {
  std::vector<Tube*> tubes;
  if (lanes_.size() == 0) return tubes;
  for (const JobRef ref : refs) {
    if (has_lane(ref)) tubes.push_back(&tube_of(jobs_[ref]));
  }
  return tubes;
}

// Each tube outlives as many tasks as it stands there.
void Engine::offer_each(std::span<Tube* const> tubes) {
  for (Tube* tube : tubes) offer_many(*tube, now_);
  for (Tube* tube : tubes) {
    --tube->tasks;
    free_if_unreferenced(*tube);
  }
}

std::uint32_t Engine::offer_steps_of_lane(JobId id) const {
  const JobRef ref = jobs_.find(id);
  if (ref == JobRef::none || !has_lane(ref)) return 0;
  return offer_steps(tubes_[jobs_[ref].tube]);
}

namespace {

// A job that may be the next of a list: a slot of the ready heap, or a job of a lane whose limit
// leaves room for more than the open one.
struct Candidate {
  ReadySlot slot;
  std::uint32_t index;  // In the ready heap.
  Lane* lane;           // Null: it comes from the ready heap.

  // For a heap with the first one on top.
  bool operator<(const Candidate& other) const { return other.slot < slot; }
};

}  // namespace

// The first jobs in the order in which they would be served if no job that is reserved now were
// ended, and then the others. In the ready heap a lane has one job in front. Those after it come
// from the heap of the lane, and are left out when the ready heap comes to them. So no more are
// left out than were found.
void Engine::list_ready(const Tube& tube, std::uint32_t count, std::vector<JobRef>& found) {
  std::vector<Candidate> next;
  std::unordered_map<const Lane*, std::uint64_t> left;  // How many more a lane may add.
  std::unordered_set<JobRef> added;                     // By lanes.
  const auto add = [&](const Candidate& candidate) {
    next.push_back(candidate);
    std::push_heap(next.begin(), next.end());
  };
  const auto add_slot = [&](std::uint64_t index) {
    if (index >= tube.ready.size()) return;
    const auto at = static_cast<std::uint32_t>(index);
    add({tube.ready.at(at), at, nullptr});
  };
  const auto add_from_lane = [&](Lane* lane, JobRef ref) {
    if (ref == JobRef::none) return;
    const Job& job = jobs_[ref];
    add({ReadySlot(job.id, job.priority, ref), 0, lane});
  };
  const auto add_those_after = [&](Lane* lane, JobRef ref) {
    const HeapLinks<JobRef>& links = lanes_.links(ref);
    add_from_lane(lane, links.left);
    add_from_lane(lane, links.right);
  };
  add_slot(0);
  while (count > 0 && !next.empty()) {
    std::pop_heap(next.begin(), next.end());
    const Candidate first = next.back();
    next.pop_back();
    const JobRef ref = first.slot.job;
    if (first.lane != nullptr) {
      std::uint64_t& more = left[first.lane];
      if (more == 0) continue;
      --more;
      added.insert(ref);
      add_those_after(first.lane, ref);
    } else {
      add_slot(2 * std::uint64_t{first.index} + 1);
      add_slot(2 * std::uint64_t{first.index} + 2);
      if (first.slot.is_blocked() && added.contains(ref)) continue;
      if (!first.slot.is_blocked() && has_lane(ref)) {
        Lane* const lane = lanes_.lane_of(ref);
        left[lane] = lane->limit - lane->reserved - 1;
        add_those_after(lane, ref);
      }
    }
    found.push_back(ref);
    --count;
  }
}

}  // namespace haricot
