// What tags add to jobs that depends on where they are: a lane, a key, a group. A job without tags
// never comes here.
//
// Places tells moved() where a job with tags was and where it is now. That is all that a tag hears
// of its job's life: the first move is from `nowhere`, and the last one, before the job is
// destroyed, goes there. A new tag is a part with a moved(), and a line in each function below.

#pragma once

#include <cstdint>

#include "haricot/base/job_tags.hpp"
#include "haricot/queue/groups.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/keys.hpp"
#include "haricot/queue/lane_order.hpp"
#include "haricot/queue/tube.hpp"

namespace haricot {

class Extras {
 public:
  // All of them outlive this.
  Extras(QueueState& state, LaneOrder& lanes, Keys& keys, Groups& groups)
      : state_(state), lanes_(lanes), keys_(keys), groups_(groups) {}

  // What a job with these tags takes.
  std::uint64_t memory_bytes_for(const Tube& tube, const ReadTags& tags,
                                 std::size_t body_bytes) const;
  // What a job that was just made needs for its tags. False: no memory, and nothing has changed.
  // Requires: Keys::find() has found its key free.
  [[nodiscard]] bool take_up(const Tube& tube, JobRef ref, const JobTags& tags,
                             const Keys::Found& key);
  // The same for one that a journal brings back; no memory: what has changed stays.
  [[nodiscard]] bool restore(JobRef ref);

  // Requires: the job has tags.
  void moved(JobRef ref, Place from, Place to) {
    keys_.moved(ref, from, to);
    lanes_.moved(ref, from, to);
    groups_.moved(ref, from, to);
  }
  // A ready job gets that priority. Requires: the job has tags.
  void before_priority_changes(JobRef ref) { lanes_.take_out(ref); }
  void after_priority_changed(JobRef ref) { lanes_.put_in(ref); }

 private:
  QueueState& state_;
  LaneOrder& lanes_;
  Keys& keys_;
  Groups& groups_;
};

}  // namespace haricot
