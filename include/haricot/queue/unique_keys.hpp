// The keys of `idp:`: in each tube, of the jobs that are put with one key, one owns it.
//
// What a job needs for that is in its own piece of memory (KeyNode). The table of those that own
// their keys needs memory for its buckets alone, and works without more of them.
//
// Who owns a key and for how long is a matter of Keys. A job that has a key need not own it.

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
    JobRef owner = JobRef::none;
  };

  // Clients choose the keys, so they must not know by what they are hashed. The jobs outlive this.
  UniqueKeys(JobStore& jobs, const HashKey& hash_key) : jobs_(jobs), hash_key_(hash_key) {}
  UniqueKeys(const UniqueKeys&) = delete;
  UniqueKeys& operator=(const UniqueKeys&) = delete;

  // Who owns that key in the tube. O(1).
  Found find(TubeRef tube, std::string_view key) const;

  // The job owns its key from now on. `hash` is what find() has told of it. If another one owns it,
  // that has to let go before the next find(). False: no memory, and nothing has changed. Requires:
  // the job has a tag `idp` and does not own its key, and its tube is set before the next find().
  [[nodiscard]] bool take(JobRef ref, std::uint64_t hash);
  bool owns(JobRef ref) const {
    return jobs_.has_key(ref) && jobs_.key_node(ref).job != JobRef::none;
  }
  // Nothing happens if it does not own any. Requires: it has tags.
  void let_go(JobRef ref);

  // How many jobs own their keys.
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
