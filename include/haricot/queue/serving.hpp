// Gives jobs to clients, and returns jobs to their tubes.
//
// At the end of a call no tube has both an open job and a waiting client, unless it is paused or
// behind. So a caller that has made a job ready, or has ended a reservation, serves the tube.

#pragma once

#include <cstdint>

#include "haricot/base/turn_limits.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/flushes.hpp"
#include "haricot/queue/groups.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/places.hpp"
#include "haricot/queue/queue_state.hpp"
#include "haricot/queue/tries.hpp"
#include "haricot/queue/tube.hpp"
#include "haricot/queue/watching.hpp"

namespace haricot {

class Serving {
 public:
  Serving(QueueState& state, const Flushes& flushes, Tries& tries, Groups& groups, Places& places,
          Watching& watching)
      : state_(state),
        flushes_(flushes),
        tries_(tries),
        groups_(groups),
        places_(places),
        watching_(watching) {}

  // Gives the first job of the tube to the client. Requires: the job is open, there is room in the
  // client's heap, and the client does not wait.
  JobRef give(Tube& tube, Client& client);
  // Gives ready jobs to waiting clients until there are no more of either.
  void serve(Tube& tube) {
    if (has_watchers(tube)) serve_watchers(tube);
  }
  // Returns true if clients wait on the tube, or have to be notified of its offers.
  static bool has_watchers(const Tube& tube) {
    return !tube.waiting.empty() || tube.many_watchers > 0;
  }
  // Serves a tube that many clients may wait on, for example after a pause has ended. If the budget
  // is used up first, the tube is behind: its timer continues to serve it.
  void serve_waiting(Tube& tube, const Budget& budget);
  // Serves a tube like serve_waiting(), but gives its first job even if the budget is used up,
  // because every put may do that.
  void serve_first(Tube& tube, const Budget& budget);

  // Allocates room in the heap that a job of a put or release with this delay will enter. Returns
  // false if memory is short.
  [[nodiscard]] static bool allocate_after_delay(Tube& tube, std::uint32_t delay_s) {
    return delay_s > 0 ? tube.delayed.allocate_one() : Places::allocate_ready(tube);
  }
  // Moves a job into the delayed heap if it has a delay, otherwise into the ready heap. Requires:
  // room there.
  void to_ready_after_delay(JobRef ref, Place from);
  // Moves a new job into the delayed heap, where it is held for the group. Requires: room there,
  // and a tag `aft` that names the group.
  void to_held(JobRef ref, Group& group);
  // Ends the hold of a job, which becomes delayed or ready according to its put. Requires: room in
  // the ready heap if it has no delay.
  void end_hold(JobRef ref);
  // Makes the first delayed job of the tube ready, and serves the tube. If the ready heap cannot
  // grow, the job stays delayed for a moment.
  void end_delay(Tube& tube);
  // Makes a buried or delayed job ready by a kick, and records that. Requires: room in the ready
  // heap and, by Tries::take_room_for_unburial(), in the journal.
  void kick(JobRef ref, Place from);
  // Buries a reserved job at the end of a try. The caller records the burial.
  void bury_unfinished(JobRef ref, BurialCause cause);
  // Returns to its tube a reserved job that its holder has not finished, and records that. `cause`
  // is that of its burial if its tries are used up.
  void take_back(JobRef ref, BurialCause cause);

 private:
  void serve_watchers(Tube& tube);
  bool serve_one(Tube& tube);
  // Ends a try that may count, and records that.
  [[gnu::cold, gnu::noinline]] void end_counted_try(JobRef ref, BurialCause cause);

  QueueState& state_;
  const Flushes& flushes_;
  Tries& tries_;
  Groups& groups_;
  Places& places_;
  Watching& watching_;
};

}  // namespace haricot
