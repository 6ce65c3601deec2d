#include "haricot/queue/lanes.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "haricot/base/check.hpp"

namespace haricot {

// Lanes ------------------------------------------------------------------------------------------

Lanes::~Lanes() {
  by_key_.clear([](Lane* lane) { delete lane; });
}

std::uint64_t Lanes::hash_of_lane(TubeRef tube, std::string_view key) const {
  return hash_in(static_cast<std::uint64_t>(tube), hash_of(hash_key_, key));
}

Lane* Lanes::find(TubeRef tube, std::string_view key, std::uint64_t hash) const {
  return by_key_.find(hash, [&](const Lane& lane) { return lane.tube == tube && lane.key == key; });
}

Lane* Lanes::find(TubeRef tube, std::string_view key) const {
  return find(tube, key, hash_of_lane(tube, key));
}

Lane* Lanes::find_or_create(TubeRef tube, std::string_view key) {
  const std::uint64_t hash = hash_of_lane(tube, key);
  if (Lane* const found = find(tube, key, hash); found != nullptr) return found;
  std::unique_ptr<Lane> lane(new (std::nothrow) Lane);
  if (lane == nullptr) return nullptr;
  try {
    lane->key = key;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  lane->tube = tube;
  lane->hash = hash;
  lane->ref = by_ref_.add(lane.get());
  if (lane->ref == LaneRef::none) return nullptr;
  if (!by_key_.insert(*lane)) {
    by_ref_.drop(lane->ref);
    return nullptr;
  }
  memory_bytes_ += memory_bytes_for(key);
  return lane.release();
}

void Lanes::drop_if_empty(Lane& lane) {
  if (lane.jobs > 0) return;
  CHECK(lane.reserved == 0 && lane.ready.empty() && lane.open == JobRef::none);
  memory_bytes_ -= memory_bytes_for(lane.key);
  by_key_.erase(lane);
  by_ref_.drop(lane.ref);
  delete &lane;
}

void Lanes::join(Lane& lane, JobRef ref) {
  jobs_.node<Tag::lane>(ref).lane = lane.ref;
  ++lane.jobs;
}

void Lanes::leave(Lane& lane, JobRef ref) {
  jobs_.node<Tag::lane>(ref).lane = LaneRef::none;
  --lane.jobs;
  drop_if_empty(lane);
}

// Includes the references in both tables, and the headers that malloc adds to two blocks.
std::uint64_t Lanes::memory_bytes_for(std::string_view key) {
  return sizeof(Lane) + key.size() + 2 * sizeof(Lane*) + 16;
}

// LaneOrder --------------------------------------------------------------------------------------

bool LaneOrder::join(const Tube& tube, JobRef ref, const JobTags& tags) {
  Lane* const lane = lanes_.find_or_create(tube.ref, tags.lane);
  if (lane == nullptr) return false;
  lane->limit = tags.lane_limit;
  lane->limit_from = state_.jobs[ref].id;
  lanes_.join(*lane, ref);
  open_next(lane_of(ref));
  return true;
}

// The last limit that the lane had is unknown. That of the job with the highest id is the last one,
// or close to it.
bool LaneOrder::restore(JobRef ref, const JobTags& tags) {
  const Job& job = state_.jobs[ref];
  Lane* const lane = lanes_.find_or_create(job.tube, tags.lane);
  if (lane == nullptr) return false;
  if (job.id >= lane->limit_from) {
    lane->limit = tags.lane_limit;
    lane->limit_from = job.id;
  }
  lanes_.join(*lane, ref);
  open_next(lane_of(ref));
  return true;
}

void LaneOrder::set_limit(JobRef ref, std::uint32_t limit, JobId from) {
  if (!has(ref)) return;
  Lane& lane = lane_of(ref);
  lane.limit = limit;
  lane.limit_from = from;
  open_next(lane);
}

// Returns the lane of a job, without ready jobs that a flush has.
Lane& LaneOrder::lane_of(JobRef ref) {
  Lane* const lane = lanes_.lane_of(ref);
  CHECK(lane != nullptr);
  if (!lane->ready.empty() && flushes_.have(lane->ready.top())) {
    lane->ready.forget_all();
    lane->ready_jobs = 0;
    lane->beyond_limit = 0;
    lane->open = JobRef::none;
  }
  return *lane;
}

void LaneOrder::set_blocked(JobRef ref, bool is_blocked) {
  const Job& job = state_.jobs[ref];
  state_.tubes[job.tube].ready.replace(
      job.heap_index(), ReadyEntry(job.id, job.priority, ref, is_blocked), state_.jobs);
}

void LaneOrder::count_beyond_limit(Lane& lane) {
  const std::uint32_t now = lane.ready_beyond_limit();
  // Correct in unsigned numbers also if the count falls.
  const std::uint32_t change = now - std::exchange(lane.beyond_limit, now);
  state_.tubes[lane.tube].beyond_limit += change;
  state_.counts.beyond_limit += change;
}

void LaneOrder::open_next(Lane& lane) {
  count_beyond_limit(lane);
  const JobRef wanted = lane.wanted_open();
  if (wanted == lane.open) return;
  if (lane.open != JobRef::none) set_blocked(lane.open, true);
  lane.open = wanted;
  if (wanted != JobRef::none) set_blocked(wanted, false);
}

void LaneOrder::moved_in_lane(JobRef ref, Place from, Place to) {
  Lane& lane = lane_of(ref);
  if (from == Place::ready) lanes_.remove_ready(lane, ref);
  if (from == Place::reserved) {
    CHECK(lane.reserved > 0);
    --lane.reserved;
  }
  if (to == Place::reserved) ++lane.reserved;
  if (to == Place::ready) {
    // Until open_next() decides which job of the lane is open.
    set_blocked(ref, true);
    lanes_.add_ready(lane, ref);
  }
  open_next(lane);
  if (to == Place::nowhere) lanes_.leave(lane, ref);
}

void LaneOrder::take_out(JobRef ref) {
  if (has(ref)) lanes_.remove_ready(lane_of(ref), ref);
}

void LaneOrder::put_in(JobRef ref) {
  if (has(ref)) moved(ref, Place::nowhere, Place::ready);
}

namespace {

// A job that may come next in a list: an entry of the ready heap, or a job of a lane whose limit
// allows more than the open one.
struct Candidate {
  ReadyEntry entry;
  std::uint32_t index;  // Index in the ready heap.
  Lane* lane;           // Null: from the ready heap.

  // Reversed, because heap functions put the greatest element on top.
  bool operator<(const Candidate& other) const { return other.entry < entry; }
};

}  // namespace

// Lists the jobs that would be served first if no reservation ended, in that order, and then the
// others. The ready heap has only the open job of a lane in front. The next ones come from the heap
// of the lane, and are skipped when the ready heap reaches them. So at most as many are skipped as
// were found.
void LaneOrder::list_ready(const Tube& tube, std::uint32_t count,
                           std::vector<JobRef>& found) const {
  std::vector<Candidate> next;
  std::unordered_map<const Lane*, std::uint64_t> left;  // Number of jobs that a lane may still add.
  std::unordered_set<JobRef> added;                     // Jobs added from lanes.
  const auto add = [&](const Candidate& candidate) {
    next.push_back(candidate);
    std::push_heap(next.begin(), next.end());
  };
  const auto add_entry = [&](std::uint64_t index) {
    if (index >= tube.ready.size()) return;
    const auto at = static_cast<std::uint32_t>(index);
    add({tube.ready.at(at), at, nullptr});
  };
  const auto add_from_lane = [&](Lane* lane, JobRef ref) {
    if (ref == JobRef::none) return;
    const Job& job = state_.jobs[ref];
    add({ReadyEntry(job.id, job.priority, ref), 0, lane});
  };
  const auto add_those_after = [&](Lane* lane, JobRef ref) {
    const HeapLinks<JobRef>& links = lanes_.links(ref);
    add_from_lane(lane, links.left);
    add_from_lane(lane, links.right);
  };
  add_entry(0);
  while (count > 0 && !next.empty()) {
    std::pop_heap(next.begin(), next.end());
    const Candidate first = next.back();
    next.pop_back();
    const JobRef ref = first.entry.job;
    if (first.lane != nullptr) {
      std::uint64_t& more = left[first.lane];
      if (more == 0) continue;
      --more;
      added.insert(ref);
      add_those_after(first.lane, ref);
    } else {
      add_entry(2 * std::uint64_t{first.index} + 1);
      add_entry(2 * std::uint64_t{first.index} + 2);
      if (first.entry.is_blocked() && added.contains(ref)) continue;
      if (!first.entry.is_blocked() && state_.jobs.has_lane(ref, state_.jobs[ref])) {
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
