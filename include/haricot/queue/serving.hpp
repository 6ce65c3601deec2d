// How jobs come to workers, and back to their tubes.
//
// An open tube never has a job to give and a worker that waits for it for longer than a call. So
// who has made a job ready, or has ended a reservation, serves the tube.

#pragma once

#include <cstdint>

#include "haricot/base/budget.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/engine_results.hpp"
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
  // All of them outlive this.
  Serving(QueueState& state, Tries& tries, Groups& groups, Places& places, Watching& watching)
      : state_(state), tries_(tries), groups_(groups), places_(places), watching_(watching) {}

  // Gives the first job of the tube to the client. Requires: there is one that is open, room in the
  // client's heap, and the client does not wait.
  JobRef give(Tube& tube, Client& client);
  // Hands out ready jobs until jobs or workers run out.
  void serve(Tube& tube) {
    if (has_watchers(tube)) serve_watchers(tube);
  }
  // Whether somebody waits for its jobs, or has to be told of them.
  static bool has_watchers(const Tube& tube) {
    return !tube.waiting.empty() || tube.many_watchers > 0;
  }
  // The same where many workers may have waited: after the end of a pause, or of a limit. While
  // those that the budget does not reach have yet to be served, the tube is behind, and its timer
  // goes on with them.
  void serve_waiting(Tube& tube, const Budget& budget);
  // The first job never waits for a budget, because that of another put does not either.
  void serve_first(Tube& tube, const Budget& budget);

  // Makes room for a put or a release with that delay in the heap that the job will enter. False:
  // no memory.
  [[nodiscard]] static bool allocate_after_delay(Tube& tube, std::uint32_t delay_s) {
    return delay_s > 0 ? tube.delayed.allocate_one() : Places::allocate_ready(tube);
  }
  // Moves a job into the delayed heap if it has a delay, else into the ready heap. Requires: room
  // there.
  void to_ready_after_delay(JobRef ref, Place from);
  // Moves a new job into the delayed heap, where it waits for the group. Requires: room there, and
  // its tag `aft` names the group.
  void to_held(JobRef ref, Group& group);
  // Ends the hold of a job, which becomes delayed or ready as its put has said. Requires: room in
  // the ready heap if it has no delay.
  void end_hold(JobRef ref);
  // Makes the first delayed job of the tube ready and serves the tube. If the ready heap cannot
  // grow, the job stays delayed for a moment.
  void end_delay(Tube& tube);
  // Buries a reserved job whose tries are used up. The record is the caller's.
  void bury_spent(JobRef ref);
  // A job whose worker did not end it goes back to its tube, and its record is made.
  void take_back(JobRef ref);

 private:
  void serve_watchers(Tube& tube);
  bool serve_one(Tube& tube);

  QueueState& state_;
  Tries& tries_;
  Groups& groups_;
  Places& places_;
  Watching& watching_;
};

}  // namespace haricot
