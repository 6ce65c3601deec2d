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

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "haricot/base/job_tags.hpp"
#include "haricot/base/sip_hash.hpp"
#include "haricot/queue/flushes.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/lanes.hpp"
#include "haricot/queue/queue_state.hpp"
#include "haricot/queue/tube.hpp"

namespace haricot {

class LaneOrder {
 public:
  // Requires: `state` and `flushes` outlive this object.
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
  void set_blocked(JobRef ref, bool is_blocked);

  QueueState& state_;
  const Flushes& flushes_;
  Lanes lanes_;
};

}  // namespace haricot
