// Taken keys of `idp:`: those of jobs, and those that outlive a deleted job for some time.
//
// A job owns its key until it is destroyed. A flushed job remains an owner, so that keys do not
// slow down a flush; find() ignores it, and the next put takes its key over. A job may exist
// without owning its key: after a crash during a flush, two jobs with the same key may be restored.
//
// A key with a time outlives its job. The deletion of a job that owns such a key leaves a
// tombstone, which has the key from then on. It belongs to the name of the tube, and does not keep
// the tube in existence. Flushed jobs leave no tombstones. A tombstone is made before the rest of
// the deletion, because it needs memory. Until the deletion is complete, both the job and the
// tombstone have the key; no key is looked up meanwhile. A tombstone whose time is over has no
// effect. It is freed when a put finds it, or by drop_ended().

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
  // Owner of a key. If there is neither a job nor a tombstone, the next put may take the key.
  struct Found {
    UniqueKeys::Found place;
    JobRef owner = JobRef::none;      // An existing job.
    JobRef tombstone = JobRef::none;  // Tombstone of a deleted job.
  };

  // Requires: `state` and `flushes` outlive this object.
  Keys(QueueState& state, const Flushes& flushes, const HashKey& key)
      : state_(state), flushes_(flushes), owned_(state.jobs, key), tombstones_(state.jobs, key) {}

  Found find(const Tube& tube, std::string_view key);
  // Gives a new job its key, which find() has found free. Returns false if memory is short; nothing
  // has changed then.
  [[nodiscard]] bool take(JobRef ref, const Found& found);
  // Gives a restored job its key. Among several jobs with the same key, the one with the highest id
  // owns it; the others were flushed before its put. Returns false if memory is short.
  [[nodiscard]] bool restore(JobRef ref, const JobTags& tags);
  // Handles the creation and the destruction of a job with tags; ignores other moves.
  void moved(JobRef ref, Place from, Place to) {
    if (from == Place::nowhere || to == Place::nowhere) was_made_or_destroyed(ref, to);
  }
  void release(JobRef ref) { owned_.release(ref); }

  // Returns true if the job leaves a tombstone when it is deleted.
  bool outlives(JobRef ref) const {
    return state_.jobs[ref].has_tags != 0 && state_.jobs.leaves_tombstone(ref) && owned_.owns(ref);
  }
  // Makes the tombstones of those jobs whose keys outlive them. Appends to `tombstone_refs` an
  // element for each job, JobRef::none if it leaves no key; nothing if no job leaves one. Returns
  // false or throws std::bad_alloc if memory is short; nothing has changed then.
  [[nodiscard]] bool make_tombstones(std::span<const JobRef> refs,
                                     std::vector<JobRef>& tombstone_refs);
  // Makes a tombstone. Returns JobRef::none if memory is short; nothing has changed then. Requires:
  // outlives().
  [[nodiscard]] JobRef make_tombstone(JobRef ref);
  // Destroys tombstones of which the journal has no record.
  void unmake_tombstones(std::span<const JobRef> tombstone_refs);
  TombstoneRoom room_of(std::span<const JobRef> tombstone_refs) const {
    return tombstones_.room_of(tombstone_refs);
  }
  Tombstone tombstone(JobRef tombstone_ref) const;

  // Creates a tombstone that the journal restores. It gets its key from place_tombstone(); until
  // then, JobStore::destroy_tombstone() can free it. Returns JobRef::none if memory is short.
  // Requires: no tombstone has the id.
  [[nodiscard]] JobRef restore_tombstone(const Tombstone& tombstone);
  // Takes the key, unless its time is over, a later job of the tube has it, or another tombstone
  // has it. An earlier job loses the key, so the order of the records does not matter. Requires:
  // all jobs are in their places.
  [[nodiscard]] PlacedKey place_tombstone(JobRef tombstone_ref);

  // Frees the tombstones whose time is over.
  void drop_ended(const Budget& budget);
  // Returns the end of the tombstone that ends first.
  Instant next_event() const { return tombstones_.next_end(); }

  // Bytes of the keys, without the pieces of jobs and tombstones.
  std::uint64_t memory_bytes() const { return owned_.memory_bytes() + tombstones_.memory_bytes(); }
  // Returns the bytes of a job with these tags and its key, or those of its tombstone if that is
  // more. `bytes` is the size of the job's piece.
  std::uint64_t memory_bytes_for(const Tube& tube, const JobTags& tags, std::uint64_t bytes) const;

 private:
  friend class Inspection;

  void was_made_or_destroyed(JobRef ref, Place to);
  std::uint64_t bytes_more_when_deleted(JobRef ref, std::size_t name_bytes) const;
  void expect_memory(JobRef ref, bool entered);
  void drop(JobRef tombstone_ref);

  QueueState& state_;
  const Flushes& flushes_;
  UniqueKeys owned_;
  Tombstones tombstones_;
};

}  // namespace haricot
