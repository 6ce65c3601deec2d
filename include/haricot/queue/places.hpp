// The place of each job: the ready heap, delayed heap or buried list of its tube, or the heap of
// its holder. Only this class moves jobs and maintains the counts of places.
//
// A move is one call. It removes the job from one place, inserts it into another, and then notifies
// Times, Extras (if the job has tags) and JobWaits (if the job has ended). It cannot fail, because
// the caller has allocated room in the heap.

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
  Places(QueueState& state, Times& times, Extras& extras, JobWaits& waits)
      : state_(state), times_(times), extras_(extras), waits_(waits) {}

  Place of(JobRef ref) const { return place_of(state_.jobs[ref].state()); }

  // Moves a job to the ready heap. `from`, here and below, is its current place, or `nowhere` for a
  // new job. If the holder of a reserved job was closed, the job has already left its heap.
  // Requires: room in the ready heap.
  void to_ready(JobRef ref, Place from);
  // Inserts a job that the journal restores into the ready heap. Journals do not record when a job
  // became ready, so it counts as ready since its put. Requires: `job` and `tube` belong to `ref`,
  // and room in the ready heap.
  void back_to_ready(JobRef ref, Job& job, Tube& tube);
  // Moves a job that has been ready since `since` to the ready heap. Requires: room there.
  void to_ready_since(JobRef ref, Place from, Instant since);
  // Requires: room in the tube's delayed heap.
  void to_delayed(JobRef ref, Place from, Instant deadline);
  // Changes the deadline of a delayed job. Needs no room.
  void set_deadline(JobRef ref, Instant deadline);
  // Moves a job to the end of the buried list.
  void to_buried(JobRef ref, Place from, BurialCause cause) {
    to_buried(ref, from, Burial{.since = state_.now, .cause = cause});
  }
  void to_buried(JobRef ref, Place from, const Burial& burial);
  // Counts a reserve. Requires: room in the holder's heap.
  void to_reserved(JobRef ref, Client& holder);
  // Gives a ready job back to the client that held it before the hand-over, without counting a
  // reserve. Requires: room in the holder's heap.
  void to_holder(JobRef ref, Client& holder, const DeadlineEntry& entry);
  // Removes a job that is about to be destroyed. `from` may be `flushed`.
  void to_nowhere(JobRef ref, Place from);

  // Allocates room in the ready heap for one more job, besides the ready and the reserved jobs.
  // Reserved jobs keep their room, because the end of a TTR and the close of a client cannot be
  // refused. Returns false if memory is short.
  [[nodiscard]] static bool allocate_ready(Tube& tube) {
    return tube.ready.allocate(tube.ready.size() + static_cast<std::uint32_t>(tube.reserved) + 1);
  }
  // Allocates room in the client's heap for one more job. Returns false if memory is short.
  [[nodiscard]] static bool allocate_reserved(Client& holder) {
    return holder.held().heap_.allocate_one();
  }

  // Changes the priority, and so the order of a ready job; the job stays in its place.
  void set_priority(JobRef ref, std::uint32_t priority);
  // Restarts the TTR. Requires: the client holds the job.
  void touch(Client& holder, JobRef ref);
  // Restarts the TTR of the job at this index of the holder's heap, as of `since`. The job keeps
  // its order among jobs whose TTRs end at the same time.
  void touch_in_turn(Client& holder, std::uint32_t index, Instant since);

 private:
  void leave(JobRef ref, Job& job, Tube& tube, Place from);
  void leave_holder(const Job& job, Tube& tube, Client* holder);
  void leave_ready(Job& job, Tube& tube);
  // Frees memory that the ready heap no longer needs. Called after a job has become neither ready
  // nor reserved.
  static void trim_ready(Tube& tube) { tube.ready.trim(static_cast<std::uint32_t>(tube.reserved)); }
  void enter_ready(JobRef ref, Job& job, Tube& tube);
  void count(Tube& tube, const Job& job, JobState state, bool entered);
  // Not inlined, because most jobs never leave these places.
  [[gnu::noinline]] void leave_buried(JobRef ref, const Job& job, Tube& tube);
  [[gnu::noinline]] void leave_flush(JobRef ref, const Job& job, Tube& tube);
  // Notifies Extras of a move if the job has tags.
  void notify_extras(JobRef ref, const Job& job, Place from, Place to) {
    if (job.has_tags != 0) [[unlikely]]
      extras_.moved(ref, from, to);
  }
  // Notifies JobWaits that the job has ended.
  void notify_end(const Job& job, Delivery::Kind how) {
    if (state_.counts.waiting_for_end > 0) [[unlikely]]
      waits_.end(job.id, how);
  }

  QueueState& state_;
  Times& times_;
  Extras& extras_;
  JobWaits& waits_;
};

}  // namespace haricot
