// Keys of `idp:` that jobs own. In each tube, one of the jobs with the same key owns it.
//
// The data of a job for its key is in the job's own piece of memory (KeyNode). The table of owned
// keys needs memory only for its buckets, and still works if these are too few.
//
// The class Keys decides which job owns a key and for how long. A job with a key need not own it.

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
  // Result of a lookup.
  struct Found {
    std::uint64_t hash = 0;      // Hash of the key and the tube.
    std::uint64_t key_hash = 0;  // Hash of the key alone.
    JobRef owner = JobRef::none;
  };

  // Keys are hashed with `hash_key`. Clients choose the keys, so the hash key must be unknown to
  // them. Requires: `jobs` outlives this object.
  UniqueKeys(JobStore& jobs, const HashKey& hash_key) : jobs_(jobs), hash_key_(hash_key) {}
  UniqueKeys(const UniqueKeys&) = delete;
  UniqueKeys& operator=(const UniqueKeys&) = delete;

  // Finds the owner of a key in a tube. O(1).
  Found find(TubeRef tube, std::string_view key) const;

  // Makes the job the owner of its key. `hash` is from find(). If another job owns the key, that
  // job has to release it before the next find(). Returns false if memory is short; nothing has
  // changed then. Requires: the job has a tag `idp` and does not own its key, and its tube is set
  // before the next find().
  [[nodiscard]] bool take(JobRef ref, std::uint64_t hash);
  bool owns(JobRef ref) const {
    return jobs_.has(ref, Tag::unique) && jobs_.node<Tag::unique>(ref).job != JobRef::none;
  }
  // Releases the key of the job, if it owns one. Requires: the job has tags.
  void release(JobRef ref);

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

}  // namespace haricot
