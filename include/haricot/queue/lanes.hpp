// Lanes: the jobs of a tube with the same text in their tags `con:`. Only a limited number of them
// may be reserved at a time.
//
// A lane counts all its jobs and those that are reserved. Its ready jobs are in a heap of the lane,
// and in the ready heap of their tube. In the ready heap all of them except one are blocked: they
// are behind all jobs that may be reserved. The exception is the open job, the best job of the
// lane; there is none while the limit is reached. So a reserve never has to skip a job, and a
// change opens at most one job and blocks at most one, however many there are. LaneOrder opens and
// blocks jobs.
//
// The data of a job for its lane is in the job's own piece of memory (LaneNode). So only the first
// job of a lane needs additional memory.

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "haricot/base/hash_table.hpp"
#include "haricot/base/heap.hpp"
#include "haricot/base/job_tags.hpp"
#include "haricot/base/ref_table.hpp"
#include "haricot/base/sip_hash.hpp"
#include "haricot/queue/flushes.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/job_store.hpp"
#include "haricot/queue/queue_state.hpp"
#include "haricot/queue/tube.hpp"

namespace haricot {

struct Lane {
  LaneRef ref{};
  TubeRef tube{};
  std::string key;

  // Links of the table of lanes by tube and key.
  std::uint64_t hash = 0;
  Lane* next_in_bucket = nullptr;

  std::uint32_t jobs = 0;          // In all states.
  std::uint32_t ready_jobs = 0;    // In `ready`.
  std::uint32_t reserved = 0;      // May exceed the limit: a reserve-job takes any job.
  std::uint32_t beyond_limit = 0;  // ready_beyond_limit(), as counted in Tube::beyond_limit.
  std::uint32_t limit = 1;
  JobId limit_from = 0;  // The job whose put has set the limit.
  LinkedHeap<JobRef> ready;
  // The ready job that is not blocked, or JobRef::none.
  JobRef open = JobRef::none;

  // Returns the job that should be open.
  JobRef wanted_open() const { return reserved < limit ? ready.top() : JobRef::none; }
  // Returns the number of ready jobs that would remain if workers reserved all they could.
  std::uint32_t ready_beyond_limit() const {
    const std::uint32_t room = limit - std::min(limit, reserved);
    return ready_jobs - std::min(ready_jobs, room);
  }
};

class Lanes {
 public:
  Lanes(JobStore& jobs, const HashKey& hash_key) : jobs_(jobs), hash_key_(hash_key) {}
  ~Lanes();
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  // Returns the lane of the key, and creates it if necessary. Returns null if memory is short. If
  // no job joins the lane, drop_if_empty() has to follow.
  [[nodiscard]] Lane* find_or_create(TubeRef tube, std::string_view key);
  // Returns null if there is no such lane.
  Lane* find(TubeRef tube, std::string_view key) const;
  void drop_if_empty(Lane& lane);

  // Returns the lane of a job, or null.
  Lane* lane_of(JobRef ref) const {
    return jobs_.has_lane(ref, jobs_[ref]) ? by_ref_[jobs_.node<Tag::lane>(ref).lane] : nullptr;
  }
  // Requires: the job has a LaneNode, and is in no lane.
  void join(Lane& lane, JobRef ref);
  // Removes a job, and frees the lane after its last one. Requires: the job is in the lane, and not
  // among its ready jobs.
  void leave(Lane& lane, JobRef ref);

  // Adds a ready job. Its priority must not change until remove_ready().
  void add_ready(Lane& lane, JobRef ref) {
    ++lane.ready_jobs;
    lane.ready.push(ref, elements_);
  }
  void remove_ready(Lane& lane, JobRef ref) {
    if (lane.open == ref) lane.open = JobRef::none;
    --lane.ready_jobs;
    lane.ready.remove(ref, elements_);
  }
  // Returns the links of a ready job in the lane's heap, to list the heap in order: the children of
  // a job come after it.
  const HeapLinks<JobRef>& links(JobRef ref) const { return jobs_.node<Tag::lane>(ref).links; }

  std::uint32_t size() const { return by_key_.size(); }
  // Bytes of all lanes, and of a lane with this key, without the pieces of their jobs.
  std::uint64_t memory_bytes() const { return memory_bytes_; }
  static std::uint64_t memory_bytes_for(std::string_view key);

 private:
  struct Elements {
    HeapLinks<JobRef>& links(JobRef ref) { return jobs.node<Tag::lane>(ref).links; }
    bool precedes(JobRef one, JobRef other) const {
      const Job& a = jobs[one];
      const Job& b = jobs[other];
      return a.priority != b.priority ? a.priority < b.priority : a.id < b.id;
    }
    JobStore& jobs;
  };

  std::uint64_t hash_of_lane(TubeRef tube, std::string_view key) const;
  Lane* find(TubeRef tube, std::string_view key, std::uint64_t hash) const;

  JobStore& jobs_;
  Elements elements_{jobs_};
  HashKey hash_key_;
  HashTable<Lane> by_key_;
  RefTable<Lane, LaneRef> by_ref_;
  std::uint64_t memory_bytes_ = 0;
};

// Opens and blocks the ready jobs of lanes (Lanes), as jobs become ready, are reserved or leave.
//
// Every change of a lane ends with opening the right job. This changes the keys of entries that are
// already in the ready heap, so it needs no memory and cannot fail. A caller that ends a
// reservation has to serve the tube afterwards, because another job may be open then.
//
// A flush takes the ready heap of a tube and ignores lanes. All ready jobs of a lane are in one
// tube, so the flush has either all or none of those in the lane's heap. The next access to the
// lane finds that its first job is flushed, and empties the heap. The flush itself makes such an
// access before it frees a job.
class LaneOrder {
 public:
  LaneOrder(QueueState& state, const Flushes& flushes, const HashKey& key)
      : state_(state), flushes_(flushes), lanes_(state.jobs, key) {}

  const Lanes& lanes() const { return lanes_; }

  // Adds the job of a put to its lane, and sets the lane's limit to that of the put. Returns false
  // if memory is short; nothing has changed then. Requires: the job has no place yet.
  [[nodiscard]] bool join(const Tube& tube, JobRef ref, const JobTags& tags);
  // Adds a restored job to its lane. Returns false if memory is short. Requires: the job has no
  // place yet.
  [[nodiscard]] bool restore(JobRef ref, const JobTags& tags);
  // Sets the limit of the job's lane, and the job whose put has set it. Does nothing if the job has
  // no lane.
  void set_limit(JobRef ref, std::uint32_t limit, JobId from);
  // Notifies the lane of a job with tags that the job has moved. A move to `nowhere` removes it
  // from its lane.
  void moved(JobRef ref, Place from, Place to) {
    if (has(ref)) moved_in_lane(ref, from, to);
  }
  // Called before and after the priority of a ready job changes.
  void take_out(JobRef ref);
  void put_in(JobRef ref);
  // Counts no job beyond a limit in a tube whose ready jobs a flush has just taken.
  void forget_ready(Tube& tube) {
    state_.counts.beyond_limit -= std::exchange(tube.beyond_limit, 0);
  }

  // Appends ready jobs of the tube, in the order of service, for Queries::list(). Throws
  // std::bad_alloc.
  void list_ready(const Tube& tube, std::uint32_t count, std::vector<JobRef>& found) const;
  bool has(JobRef ref) const {
    return lanes_.size() > 0 && state_.jobs.has_lane(ref, state_.jobs[ref]);
  }

 private:
  friend class Inspection;

  [[gnu::noinline]] void moved_in_lane(JobRef ref, Place from, Place to);
  Lane& lane_of(JobRef ref);
  void open_next(Lane& lane);
  void count_beyond_limit(Lane& lane);
  void set_blocked(JobRef ref, bool is_blocked);

  QueueState& state_;
  const Flushes& flushes_;
  Lanes lanes_;
};

}  // namespace haricot
