// How jobs come back that a journal has kept, before the first client is opened: first into the
// store, where later records may still change or drop them, and at the end each into its place.
//
// From the first restore() to end() nothing else may be called that looks at jobs.

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
  // All of them outlive this.
  Restoring(QueueState& state, Keys& keys, Groups& groups, Extras& extras, Places& places)
      : state_(state), keys_(keys), groups_(groups), extras_(extras), places_(places) {}
  Restoring(const Restoring&) = delete;
  Restoring& operator=(const Restoring&) = delete;

  // Takes in a job that is in no place yet. JobRef::none: no memory. Requires: no job has the id,
  // which is not 0.
  [[nodiscard]] JobRef restore(const RestoredJob& job, std::string_view tube_name, NewBody&& body);
  // The id stays, and so do the tags.
  void change(JobRef ref, const RestoredJob& change);
  void drop(JobRef ref) { state_.jobs.destroy(ref); }
  // Takes up what the tags of a job say that is in no place yet. False: no memory. place() does so.
  [[nodiscard]] bool take_up(JobRef ref) {
    return state_.jobs[ref].has_tags == 0 || extras_.restore(ref);
  }
  // Puts it where its state says, after those that are there in the case of buried jobs. False: no
  // memory.
  [[nodiscard]] bool place(JobRef ref, Instant deadline);
  // Puts it back among those that wait for its group, behind those that are there: where no job of
  // the group comes back, its hold ends soon after the start. False: no memory. Requires: it has a
  // tag `aft`, and is delayed.
  [[nodiscard]] bool place_held(JobRef ref) {
    return place(ref, Instant::never()) && groups_.hold_restored(ref);
  }
  // Takes in the tombstone of a job whose key outlives it, and takes the key: see Keys.
  [[nodiscard]] JobRef restore_tombstone(const Tombstone& tombstone) {
    return keys_.restore_tombstone(tombstone);
  }
  [[nodiscard]] PlacedKey place_tombstone(JobRef tombstone_ref) {
    return keys_.place_tombstone(tombstone_ref);
  }
  // The last step: groups without a job end, ids go on from there, and tubes that have come to hold
  // nothing are freed.
  void end(JobId next_id);

 private:
  static void set_fields(Job& job, const RestoredJob& restored);

  QueueState& state_;
  Keys& keys_;
  Groups& groups_;
  Extras& extras_;
  Places& places_;
  const Tube* tube_ = nullptr;  // Of the last job that was restored, until the end.
};

}  // namespace haricot
