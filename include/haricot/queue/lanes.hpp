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

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "haricot/base/hash_table.hpp"
#include "haricot/base/heap.hpp"
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
  std::uint64_t reserved = 0;  // May exceed the limit: a reserve-job takes any job.
  std::uint32_t limit = 1;
  JobId limit_from = 0;  // The job whose put has set the limit.
  LinkedHeap<JobRef> ready;
  // The ready job that is not blocked, or JobRef::none.
  JobRef open = JobRef::none;

  // Returns the job that should be open.
  JobRef wanted_open() const { return reserved < limit ? ready.top() : JobRef::none; }
};

class Lanes {
 public:
  // Keys are hashed with `hash_key`. Clients choose the keys, so the hash key must be unknown to
  // them. Requires: `jobs` outlives this object.
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
  void add_ready(Lane& lane, JobRef ref) { lane.ready.push(ref, elements_); }
  void remove_ready(Lane& lane, JobRef ref) {
    if (lane.open == ref) lane.open = JobRef::none;
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

}  // namespace haricot
