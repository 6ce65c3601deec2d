// Restores the jobs of a journal before the first client is opened. Jobs first enter the store,
// where later records may still change or drop them; at the end each one gets its place.
//
// From the first restore() to end(), no other function that uses jobs may be called.

#pragma once

#include <string_view>

#include "haricot/base/time.hpp"
#include "haricot/queue/engine_results.hpp"
#include "haricot/queue/extras.hpp"
#include "haricot/queue/groups.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/job_store.hpp"
#include "haricot/queue/journal.hpp"
#include "haricot/queue/keys.hpp"
#include "haricot/queue/places.hpp"
#include "haricot/queue/queue_state.hpp"
#include "haricot/queue/tube.hpp"

namespace haricot {

class Restoring {
 public:
  Restoring(QueueState& state, Keys& keys, Groups& groups, Extras& extras, Places& places)
      : state_(state), keys_(keys), groups_(groups), extras_(extras), places_(places) {}
  Restoring(const Restoring&) = delete;
  Restoring& operator=(const Restoring&) = delete;

  // Creates a job without a place. Returns JobRef::none if memory is short. Requires: no job has
  // the id, which is not 0.
  [[nodiscard]] JobRef restore(const RestoredJob& job, std::string_view tube_name, NewBody&& body);
  // Changes a job without a place; its id and tags remain. Its facts are those after the change.
  void change(JobRef ref, const RestoredJob& change);
  void drop(JobRef ref) { state_.jobs.destroy(ref); }
  // Adds a job without a place to its lane and group, and gives it its key. place() does this
  // itself. Returns false if memory is short.
  [[nodiscard]] bool take_up(JobRef ref) {
    return state_.jobs[ref].has_tags == 0 || extras_.restore(ref);
  }
  // Gives a job its place according to its state; a buried job becomes the last one, as if it were
  // buried now. Returns false if memory is short.
  [[nodiscard]] bool place(JobRef ref, Instant deadline);
  // Places a buried job, of which the journal has the time and the cause, as the last one. A time
  // in the future becomes now. Returns false if memory is short.
  [[nodiscard]] bool place_buried(JobRef ref, const Burial& burial);
  // Places a job as the last one that is held for its group. If no job of the group is restored,
  // the hold ends soon after the start. Returns false if memory is short. Requires: the job has a
  // tag `aft`, and is delayed.
  [[nodiscard]] bool place_held(JobRef ref) {
    return place(ref, Instant::never()) && groups_.hold_restored(ref);
  }
  // Restore a key that outlived its job: see Keys.
  [[nodiscard]] JobRef restore_tombstone(const Tombstone& tombstone) {
    return keys_.restore_tombstone(tombstone);
  }
  [[nodiscard]] PlacedKey place_tombstone(JobRef tombstone_ref) {
    return keys_.place_tombstone(tombstone_ref);
  }
  // Ends the restoring: ends groups without jobs, sets the next id, and frees tubes without jobs.
  void end(JobId next_id);

 private:
  static void set_fields(Job& job, const RestoredJob& restored);

  QueueState& state_;
  Keys& keys_;
  Groups& groups_;
  Extras& extras_;
  Places& places_;
  const Tube* tube_ = nullptr;  // Tube of the last restored job; null after end().
};

}  // namespace haricot
