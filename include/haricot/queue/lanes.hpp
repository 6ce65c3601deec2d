// Lanes: the jobs of one tube that share a key of `con:`, of which so many are reserved at a time.
//
// A lane counts its jobs in all states, and how many of them are reserved. Its ready jobs are in a
// heap of their own as well as in the ready heap of their tube. There all of them but one are
// blocked, which puts them after all jobs that a worker may get. The one is the open job: the best
// of the lane, while fewer are reserved than the limit allows. So a reserve never looks at a job
// that it may not take, and a change opens one job and blocks one at most, however many there are.
// Who opens and blocks jobs is LaneOrder.
//
// What a job needs for its lane is in its own piece of memory (LaneNode). So only the first job of
// a lane needs memory beside it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "haricot/base/hash_table.hpp"
#include "haricot/base/linked_heap.hpp"
#include "haricot/base/ref_table.hpp"
#include "haricot/base/sip_hash.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/job_store.hpp"

namespace haricot {

struct Lane {
  LaneRef ref{};
  TubeRef tube{};
  std::string key;

  // Links of the table of lanes by tube and key.
  std::uint64_t hash = 0;
  Lane* next_in_bucket = nullptr;

  std::uint64_t jobs = 0;      // In all states.
  std::uint64_t reserved = 0;  // May be more than the limit: a reserve-job takes any job.
  std::uint32_t limit = 1;
  JobId limit_from = 0;  // The job whose put named the limit.
  LinkedHeap<JobRef> ready;
  // The one ready job that is not blocked; JobRef::none: there is none.
  JobRef open = JobRef::none;

  // Which job is to be the open one.
  JobRef wanted_open() const { return reserved < limit ? ready.top() : JobRef::none; }
};

class Lanes {
 public:
  // Clients choose the keys, so they must not know by what they are hashed. The jobs outlive this.
  Lanes(JobStore& jobs, const HashKey& hash_key) : jobs_(jobs), hash_key_(hash_key) {}
  ~Lanes();
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  // The lane of that key, which is made if there is none. Null: no memory. If no job joins it,
  // drop_if_empty() has to follow.
  [[nodiscard]] Lane* find_or_create(TubeRef tube, std::string_view key);
  // Null: there is none.
  Lane* find(TubeRef tube, std::string_view key) const;
  void drop_if_empty(Lane& lane);

  // The lane of a job; null: it is in none.
  Lane* lane_of(JobRef ref) const {
    return jobs_.has_lane(ref, jobs_[ref]) ? by_ref_[jobs_.lane_node(ref).lane] : nullptr;
  }
  // Requires: the job has a LaneNode, and is in no lane.
  void join(Lane& lane, JobRef ref);
  // The lane goes with its last job. Requires: the job is in the lane, and not among its ready
  // jobs.
  void leave(Lane& lane, JobRef ref);

  // To be called when the priority of the job is right, and until remove_ready() it stays.
  void add_ready(Lane& lane, JobRef ref) { lane.ready.push(ref, elements_); }
  void remove_ready(Lane& lane, JobRef ref) {
    if (lane.open == ref) lane.open = JobRef::none;
    lane.ready.remove(ref, elements_);
  }
  // Of a ready job: those of its lane that may come next after it. JobRef::none: no such job.
  const HeapLinks<JobRef>& links(JobRef ref) const { return jobs_.lane_node(ref).links; }

  std::uint32_t size() const { return by_key_.size(); }
  // What the lanes take beside the pieces of their jobs, and what one of a key takes.
  std::uint64_t memory_bytes() const { return memory_bytes_; }
  static std::uint64_t memory_bytes_for(std::string_view key);

 private:
  struct Elements {
    HeapLinks<JobRef>& links(JobRef ref) { return jobs.lane_node(ref).links; }
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

}  // namespace haricot
