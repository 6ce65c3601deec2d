// Where jobs are: in the ready heap, the delayed heap or the buried list of their tube, or with the
// client that holds them. Only here a job changes its place, and all numbers that are kept about
// places are kept here.
//
// Each change is one call, which takes the job out of the one place and puts it into the other. At
// its end it tells the times, and of a job with tags Extras, what has happened; JobWaits hears of a
// job's end. None of it can fail: the caller has made room in the heap.

#pragma once

#include <cstdint>

#include "haricot/base/time.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/extras.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/job_waits.hpp"
#include "haricot/queue/queue_state.hpp"
#include "haricot/queue/times.hpp"
#include "haricot/queue/tube.hpp"

namespace haricot {

class Places {
 public:
  // All of them outlive this.
  Places(QueueState& state, Times& times, Extras& extras, JobWaits& waits)
      : state_(state), times_(times), extras_(extras), waits_(waits) {}

  Place of(JobRef ref) const { return place_of(state_.jobs[ref].state()); }

  // Each moves a job from where it is; `from` is that place, or `nowhere` if the job is in none
  // yet. A reserved job whose holder is gone was taken out of the holder's heap before. Requires:
  // room in the tube's heap.
  void to_ready(JobRef ref, Place from);
  // The same, for a job that a journal brings back: no journal says since when it was ready, so it
  // counts as ready since it was put. `job` and `tube` are its own.
  void back_to_ready(JobRef ref, Job& job, Tube& tube);
  // The same, for any job that has been ready since then.
  void to_ready_since(JobRef ref, Place from, Instant since);
  // Requires: room in the tube's heap.
  void to_delayed(JobRef ref, Place from, Instant deadline);
  // The same for one that is delayed already, which needs no room.
  void set_deadline(JobRef ref, Instant deadline);
  void to_buried(JobRef ref, Place from);
  // Counts a reserve. Requires: room in the holder's heap.
  void to_reserved(JobRef ref, Client& holder);
  // A ready job is with its holder again, from before: no reserve is counted. Requires: room in the
  // holder's heap.
  void to_holder(JobRef ref, Client& holder, const DeadlineEntry& entry);
  // The job is about to be destroyed; `from` may be `flushed`.
  void to_nowhere(JobRef ref, Place from);

  // Makes room in the ready heap for one more job, beside those that are ready and those that are
  // reserved: the end of a TTR and the close of a client cannot be refused, so a reserved job keeps
  // its room. False: no memory.
  [[nodiscard]] static bool allocate_ready(Tube& tube) {
    return tube.ready.allocate(tube.ready.size() + static_cast<std::uint32_t>(tube.reserved) + 1);
  }
  // Makes room in the heap of the client. False: no memory.
  [[nodiscard]] static bool allocate_reserved(Client& holder) {
    return holder.reserved_.allocate_one();
  }

  // The job stays where it is, but for its turn among ready jobs.
  void set_priority(JobRef ref, std::uint32_t priority);
  // Its TTR begins again. Requires: the client holds it.
  void touch(Client& holder, JobRef ref);
  // The same for the job at that index of the holder's heap: its TTR has begun at that instant, and
  // it keeps its turn among those whose TTRs end together.
  void touch_in_turn(Client& holder, std::uint32_t index, Instant since);

 private:
  void leave(JobRef ref, Job& job, Tube& tube, Place from);
  void leave_holder(const Job& job, Tube& tube, Client* holder);
  void leave_ready(Job& job, Tube& tube);
  // Gives back memory of the ready heap. To be called after a job has become neither ready nor
  // reserved.
  static void trim_ready(Tube& tube) { tube.ready.trim(static_cast<std::uint32_t>(tube.reserved)); }
  void enter_ready(JobRef ref, Job& job, Tube& tube);
  void count(Tube& tube, const Job& job, JobState state, bool entered);
  static void unlink_buried(JobStore& jobs, JobRef ref, const Job& job, Tube& tube);
  // The end of each change.
  void tell(JobRef ref, const Job& job, Place from, Place to) {
    if (job.has_tags != 0) [[unlikely]]
      extras_.moved(ref, from, to);
  }
  // The same, where those who wait for the end of the job wait no more.
  void tell_end(const Job& job, Delivery::Kind how) {
    if (state_.counts.waiting_for_end > 0) [[unlikely]]
      waits_.end(job.id, how);
  }

  QueueState& state_;
  Times& times_;
  Extras& extras_;
  JobWaits& waits_;
};

}  // namespace haricot
