// Keys that outlive their jobs. Such a key stays taken in the tube of its job until its time is
// over.
//
// The tombstone of a job is a piece of the job store. It stores the key's entry in the table
// (KeyNode), its index in the heap of ends (Links), and its end, in the field that a job uses for
// the time of its put. The tube is known by its name only, because it may be freed and created
// again meanwhile.
//
// Keys decides which jobs leave a key, and looks keys up.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "haricot/base/hash_table.hpp"
#include "haricot/base/heap.hpp"
#include "haricot/base/sip_hash.hpp"
#include "haricot/base/time.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/job_store.hpp"
#include "haricot/queue/journal.hpp"

namespace haricot {

class Tombstones {
 public:
  // Requires: `jobs` and its tombstones outlive this object.
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

}  // namespace haricot
