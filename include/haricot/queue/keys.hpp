// Which keys of `idp:` are taken: by a job, or for a time after the deletion of one.
//
// A job owns its key until it is destroyed. One that a flush has taken still stands among the
// owners, so that a flush takes no longer for keys; find() does not find it, and who takes the key
// next takes it over. A job may live without the key that it has: where a crash has cut off a
// flush, two jobs of one key come back.
//
// A key with a time outlives its job. The deletion of a job that owns such a key leaves a tombstone
// behind, which has the key from then on. It belongs to the name of the tube, and keeps no tube in
// existence. What a flush deletes leaves nothing behind. The tombstone is made before anything else
// of the deletion happens, as it needs memory. Nobody looks for a key in between, so that it does
// no harm that the job still has the key as well. A tombstone whose time is over counts for
// nothing. It goes when a put finds it, or with the time.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "haricot/base/job_tags.hpp"
#include "haricot/base/sip_hash.hpp"
#include "haricot/base/time.hpp"
#include "haricot/queue/engine_results.hpp"
#include "haricot/queue/flushes.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/journal.hpp"
#include "haricot/queue/queue_state.hpp"
#include "haricot/queue/tombstones.hpp"
#include "haricot/queue/tube.hpp"
#include "haricot/queue/unique_keys.hpp"

namespace haricot {

class Keys {
 public:
  // What has a key. None of the two: the next put may take it.
  struct Found {
    UniqueKeys::Found place;
    JobRef owner = JobRef::none;      // A job that lives.
    JobRef tombstone = JobRef::none;  // The tombstone of one.
  };

  // The first two outlive this.
  Keys(QueueState& state, const Flushes& flushes, const HashKey& key)
      : state_(state), flushes_(flushes), owned_(state.jobs, key), tombstones_(state.jobs, key) {}

  Found find(const Tube& tube, std::string_view key);
  // A job that was just made takes the key that was found to be free. False: no memory, and nothing
  // has changed.
  [[nodiscard]] bool take(JobRef ref, const Found& found);
  // The same for one that a journal brings back. Of several with one key the one with the highest
  // id owns it: the others were flushed before its put.
  [[nodiscard]] bool restore(JobRef ref, const JobTags& tags);
  // A job with tags has moved: made, or about to be destroyed.
  void moved(JobRef ref, Place from, Place to) {
    if (from == Place::nowhere || to == Place::nowhere) came_or_goes(ref, to);
  }
  void let_go(JobRef ref) { owned_.let_go(ref); }

  // Whether the job leaves a tombstone when it is deleted.
  bool outlives(JobRef ref) const {
    return state_.jobs[ref].has_tags != 0 && state_.jobs.leaves_tombstone(ref) && owned_.owns(ref);
  }
  // Of those jobs that leave a key behind, each in the place of its job; nothing at all if none
  // does. False: no memory, and nothing has changed. Throws std::bad_alloc before that.
  [[nodiscard]] bool make_tombstones(std::span<const JobRef> refs,
                                     std::vector<JobRef>& tombstone_refs);
  // JobRef::none: no memory, and nothing has changed. Requires: outlives().
  [[nodiscard]] JobRef make_tombstone(JobRef ref);
  // The journal has not been told of them.
  void unmake_tombstones(std::span<const JobRef> tombstone_refs);
  TombstoneRoom room_of(std::span<const JobRef> tombstone_refs) const {
    return tombstones_.room_of(tombstone_refs);
  }
  Tombstone tombstone(JobRef tombstone_ref) const;

  // Takes in the tombstone of a job that a journal brings back. JobStore::destroy_tombstone() drops
  // it until place_tombstone() has placed it. JobRef::none: no memory. Requires: no tombstone has
  // the id.
  [[nodiscard]] JobRef restore_tombstone(const Tombstone& tombstone);
  // Takes the key, if its time is not over and no later job of the tube has it, and no tombstone
  // that was placed before. An earlier job goes on without. So it does not matter which of their
  // records go first. Requires: all jobs are in their places.
  [[nodiscard]] PlacedKey place_tombstone(JobRef tombstone_ref);

  // Drops those whose time is over.
  void drop_ended(const Budget& budget);
  // When the next one ends.
  Instant next_event() const { return tombstones_.next_end(); }

  // What the keys take beside the jobs and the tombstones, and a put with a key beside its job.
  std::uint64_t memory_bytes() const { return owned_.memory_bytes() + tombstones_.memory_bytes(); }
  // A job with these tags takes `bytes`; with its key, or with its tombstone, it takes that.
  std::uint64_t memory_bytes_for(const Tube& tube, const JobTags& tags, std::uint64_t bytes) const;

 private:
  friend class Inspection;

  void came_or_goes(JobRef ref, Place to);
  std::uint64_t bytes_more_when_deleted(JobRef ref, std::size_t name_bytes) const;
  void expect_memory(JobRef ref, bool entered);
  void drop(JobRef tombstone_ref);

  QueueState& state_;
  const Flushes& flushes_;
  UniqueKeys owned_;
  Tombstones tombstones_;
};

}  // namespace haricot
