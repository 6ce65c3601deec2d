// The keys of `idp:`: in each tube, of the jobs that are put with one key, one holds it.
//
// What a job needs for that is in its own piece of memory (KeyNode). The table of those that hold
// their keys needs memory for its buckets alone, and works without more of them.
//
// Who holds a key and for how long is a matter of Keys. A job that has a key need not
// hold it.

#pragma once

#include <cstdint>
#include <string_view>

#include "haricot/base/hash_table.hpp"
#include "haricot/base/sip_hash.hpp"
#include "haricot/queue/job.hpp"
#include "haricot/queue/job_store.hpp"

namespace haricot {

class UniqueKeys {
 public:
  // What a look for a key has shown.
  struct Found {
    std::uint64_t hash = 0;      // Of the key and the tube.
    std::uint64_t key_hash = 0;  // Of the key alone.
    JobRef holder = JobRef::none;
  };

  // Clients choose the keys, so they must not know by what they are hashed. The jobs outlive this.
  UniqueKeys(JobStore& jobs, const HashKey& hash_key) : jobs_(jobs), hash_key_(hash_key) {}
  UniqueKeys(const UniqueKeys&) = delete;
  UniqueKeys& operator=(const UniqueKeys&) = delete;

  // Who holds that key in the tube. O(1).
  Found find(TubeRef tube, std::string_view key) const;

  // The job holds its key from now on. `hash` is what find() has told of it. If another one holds
  // it, that has to let go before the next find(). False: no memory, and nothing has changed.
  // Requires: the job has a tag `idp` and does not hold its key, and its tube is set before the
  // next find().
  [[nodiscard]] bool hold(JobRef ref, std::uint64_t hash);
  bool holds(JobRef ref) const {
    return jobs_.has_key(ref) && jobs_.key_node(ref).job != JobRef::none;
  }
  // Nothing happens if it does not hold any. Requires: it has tags.
  void let_go(JobRef ref);

  // How many jobs hold their keys.
  std::uint32_t size() const { return nodes_.size(); }
  // What the keys take beside the pieces of their jobs, and what one takes.
  std::uint64_t memory_bytes() const { return size() * kBytesOfKey; }
  static constexpr std::uint64_t kBytesOfKey = sizeof(KeyNode*);

 private:
  JobStore& jobs_;
  HashKey hash_key_;
  HashTable<KeyNode> nodes_;
};

}  // namespace haricot
