// Which ready job of a lane is open: how a job that gets ready, is reserved or goes opens and
// blocks the others of its lane (Lanes).
//
// Every change of a lane ends with the opening of the job that is to be open. It gives another key
// to entries that the ready heap has already, so it needs no memory and cannot fail. Who ends a
// reservation has to offer the tube afterwards, because another job may be open then.
//
// A flush takes the ready heap of a tube away, and does not look at the lanes: all ready jobs of a
// lane are of one tube, so the flush has all or none of those in its heap. Whoever looks at the
// lane next sees by its first job that it has them, and forgets them all. The flush itself looks
// before it frees one.

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
  // The first two outlive this.
  LaneOrder(QueueState& state, const Flushes& flushes, const HashKey& key)
      : state_(state), flushes_(flushes), lanes_(state.jobs, key) {}

  const Lanes& lanes() const { return lanes_; }

  // The job of a put joins its lane, whose limit is the put's from here on. False: no memory, and
  // nothing has changed. Requires of both: the job is in no place yet.
  [[nodiscard]] bool join(const Tube& tube, JobRef ref, const JobTags& tags);
  // The same for a job that a journal brings back.
  [[nodiscard]] bool restore(JobRef ref, const JobTags& tags);
  // The lane of the job has had that limit from that job on. Nothing if it is in none.
  void set_limit(JobRef ref, std::uint32_t limit, JobId from);
  // A job with tags has moved. To `nowhere` it leaves its lane.
  void moved(JobRef ref, Place from, Place to) {
    if (has(ref)) moved_in_lane(ref, from, to);
  }
  // The priority of a ready job is about to change, or has changed.
  void take_out(JobRef ref);
  void put_in(JobRef ref);

  // How a list of the ready jobs of a tube goes on (Looks::list). Throws std::bad_alloc.
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
