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

#include "haricot/base/hash_table.hpp"
#include "haricot/base/heap.hpp"
#include "haricot/base/job_tags.hpp"
#include "haricot/base/sip_hash.hpp"
#include "haricot/base/time.hpp"
#include "haricot/queue/engine_results.hpp"
#include "haricot/queue/flushes.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/job_store.hpp"
#include "haricot/queue/journal.hpp"
#include "haricot/queue/queue_state.hpp"
#include "haricot/queue/tube.hpp"

namespace haricot {

// Result of a lookup of a key in a tube.
struct FoundKey {
  std::uint64_t hash = 0;      // Hash of the key and the tube.
  std::uint64_t key_hash = 0;  // Hash of the key alone.
  JobRef owner = JobRef::none;
};

// Keys of a tag that jobs own. In each tube, one of the jobs with the same key owns it.
//
// The data of a job for its key is in the job's own piece of memory (KeyNode). The table of owned
// keys needs memory only for its buckets, and still works if these are too few.
//
// The class Keys decides which job owns a key and for how long. A job with a key need not own it.
template <Tag kTag>
class OwnedKeys {
 public:
  OwnedKeys(JobStore& jobs, const HashKey& hash_key) : jobs_(jobs), hash_key_(hash_key) {}
  OwnedKeys(const OwnedKeys&) = delete;
  OwnedKeys& operator=(const OwnedKeys&) = delete;

  // Finds the owner of a key in a tube. O(1).
  FoundKey find(TubeRef tube, std::string_view key) const;

  // Makes the job the owner of its key. `hash` is from find(). If another job owns the key, that
  // job has to release it before the next find(). Returns false if memory is short; nothing has
  // changed then. Requires: the job has the tag and does not own its key, and its tube is set
  // before the next find().
  [[nodiscard]] bool take(JobRef ref, std::uint64_t hash);
  bool owns(JobRef ref) const { return owned_node(ref) != nullptr; }
  // Returns the node of the key that the job owns; null if it owns none.
  const KeyNode* owned_node(JobRef ref) const {
    if (!jobs_.has(ref, kTag)) return nullptr;
    const KeyNode& node = jobs_.template node<kTag>(ref);
    return node.job == JobRef::none ? nullptr : &node;
  }
  // Releases the key of the job, if it owns one. Requires: the job has tags.
  void release(JobRef ref);
  // Releases the key of a node, if its job owns it.
  void release(KeyNode& node);

  // Number of jobs that own their keys.
  std::uint32_t size() const { return nodes_.size(); }
  // Bytes of all keys, and of one, without the pieces of their jobs.
  std::uint64_t memory_bytes() const { return size() * kBytesOfKey; }
  static constexpr std::uint64_t kBytesOfKey = sizeof(KeyNode*);

 private:
  JobStore& jobs_;
  HashKey hash_key_;
  HashTable<KeyNode> nodes_;
};

using UniqueKeys = OwnedKeys<Tag::unique>;

// Keys that outlive their jobs. Such a key stays taken in the tube of its job until its time is
// over.
//
// The tombstone of a job is a piece of the job store. It stores the key's entry in the table
// (KeyNode), its index in the heap of ends (Links), and its end, in the field that a job uses for
// the time of its put. The tube is known by its name only, because it may be freed and created
// again meanwhile.
//
// Keys decides which jobs leave a key, and looks keys up.
class Tombstones {
 public:
  Tombstones(JobStore& jobs, const HashKey& hash_key) : jobs_(jobs), hash_key_(hash_key) {}
  Tombstones(const Tombstones&) = delete;
  Tombstones& operator=(const Tombstones&) = delete;

  // Returns the tombstone of the last job that had the key in the tube of that name, or
  // JobRef::none. Its time may be over. O(1). The hashes are those of the name and of the key.
  JobRef find(std::string_view tube_name, std::string_view key) const;
  JobRef find(std::string_view tube_name, std::uint64_t name_hash, std::string_view key,
              std::uint64_t key_hash) const;

  // Takes the key of the tombstone until `end`. Returns false if memory is short; nothing has
  // changed then. Requires: this tombstone does not have its key.
  [[nodiscard]] bool add(JobRef tombstone_ref, Instant end);
  // Frees the key. Requires: this tombstone has it.
  void release(JobRef tombstone_ref);

  static Instant end_of(const Job& tombstone) { return tombstone.created; }
  // Returns the first end; never() if there is no tombstone.
  Instant next_end() const { return ends_.empty() ? Instant::never() : ends_.top().end; }
  // Returns the tombstone that ends first. Requires: there is one.
  JobRef first() const { return ends_.top().job; }

  // Returns the room for the records of these tombstones; skips JobRef::none.
  TombstoneRoom room_of(std::span<const JobRef> tombstone_refs) const;

  std::uint32_t size() const { return ends_.size(); }
  // Bytes of the keys, without the pieces of their tombstones, plus bytes_to_come().
  std::uint64_t memory_bytes() const {
    return std::uint64_t{size()} * sizeof(KeyNode*) + bytes_to_come_;
  }
  // Returns the bytes of a tombstone with its key.
  std::uint64_t memory_bytes_for(std::string_view key, std::uint32_t seconds,
                                 std::size_t name_bytes) const;
  // Bytes by which the tombstones that existing jobs will leave exceed these jobs. They count as
  // used, so that a deletion never needs more memory than was admitted.
  std::uint64_t bytes_to_come() const { return bytes_to_come_; }
  void expect(std::uint64_t bytes) { bytes_to_come_ += bytes; }
  void expect_no_more(std::uint64_t bytes) { bytes_to_come_ -= bytes; }

  // Ends the program if an invariant is broken. Walks over all tombstones; for tests.
  void check_invariants() const;

 private:
  struct EndEntry {
    Instant end;
    JobRef job;

    friend bool operator<(const EndEntry& a, const EndEntry& b) { return a.end < b.end; }
  };

  JobStore& jobs_;
  HashKey hash_key_;
  HashTable<KeyNode> nodes_;
  IndexedHeap<EndEntry> ends_;
  std::uint64_t bytes_to_come_ = 0;
};

class Keys {
 public:
  // Owner of a key. If there is neither a job nor a tombstone, the next put may take the key.
  struct Found {
    FoundKey place;
    JobRef owner = JobRef::none;      // An existing job.
    JobRef tombstone = JobRef::none;  // Tombstone of a deleted job.
  };

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
    const KeyNode* const node = owned_.owned_node(ref);
    return node != nullptr && node->outlives_job;
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
