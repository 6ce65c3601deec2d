// The keys that outlive their jobs: each is taken in the tube of its name until its time is over.
//
// The tombstone of a job is a piece of the job store, which has all that a key needs: its place in
// the table (KeyNode), its index in the heap of ends (Links), and its end, which is kept where a
// job has the time of its put. The tube itself may go and come back meanwhile.
//
// Who leaves a key behind and who finds it is a matter of Keys.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "haricot/base/hash_table.hpp"
#include "haricot/base/indexed_heap.hpp"
#include "haricot/base/sip_hash.hpp"
#include "haricot/base/time.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/job_store.hpp"
#include "haricot/queue/journal.hpp"

namespace haricot {

class Tombstones {
 public:
  // The tombstones in the store outlive this.
  Tombstones(JobStore& jobs, const HashKey& hash_key) : jobs_(jobs), hash_key_(hash_key) {}
  Tombstones(const Tombstones&) = delete;
  Tombstones& operator=(const Tombstones&) = delete;

  // The tombstone of the last job that had the key in the tube of that name; JobRef::none: nothing.
  // Its time may be over. O(1). The hashes are those of the key and of the name, for who has them.
  JobRef find(std::string_view tube_name, std::string_view key) const;
  JobRef find(std::string_view tube_name, std::uint64_t name_hash, std::string_view key,
              std::uint64_t key_hash) const;

  // From now on the key of this tombstone is taken until then. False: no memory, and nothing has
  // changed. Requires: it is not taken.
  [[nodiscard]] bool add(JobRef tombstone_ref, Instant end);
  // Requires: it is taken by this tombstone.
  void let_go(JobRef tombstone_ref);

  static Instant end_of(const Job& tombstone) { return tombstone.created; }
  // When the first of them ends; never() if there is none.
  Instant next_end() const { return ends_.empty() ? Instant::never() : ends_.top().end; }
  // Which one that is. Requires: there is one.
  JobRef first() const { return ends_.top().job; }

  // What the records of those tombstones take; JobRef::none among them takes nothing.
  TombstoneRoom room_of(std::span<const JobRef> tombstone_refs) const;

  std::uint32_t size() const { return ends_.size(); }
  // What the keys take beside their tombstones, with the part below.
  std::uint64_t memory_bytes() const {
    return std::uint64_t{size()} * sizeof(KeyNode*) + bytes_to_come_;
  }
  // What a key takes with its tombstone.
  std::uint64_t memory_bytes_for(std::string_view key, std::uint32_t seconds,
                                 std::size_t name_bytes) const;
  // By how much living jobs take less than the keys that they are to leave behind. It counts as
  // taken, so that no deletion needs memory that nobody has asked for.
  std::uint64_t bytes_to_come() const { return bytes_to_come_; }
  void expect(std::uint64_t bytes) { bytes_to_come_ += bytes; }
  void expect_no_more(std::uint64_t bytes) { bytes_to_come_ -= bytes; }

  // Ends the program if anything does not fit together. Costs a walk over all; for tests.
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
