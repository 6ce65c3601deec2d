// Finds a job by its id: a radix tree over the bits of the id.
//
// Ids are consecutive, so the tree is dense: about 4.3 bytes per job. Unlike a hash table it grows
// and shrinks one node at a time, and never moves an element. A leaf covers 64 ids (256 bytes of
// references), so a job that outlives its neighbours keeps one leaf. The leaf that became empty
// last stays, with the branches above it: if jobs come and go one by one, the next id probably
// belongs there.

#pragma once

#include <array>
#include <cstdint>

#include "haricot/base/check.hpp"
#include "haricot/queue/job.hpp"

namespace haricot {

class IdIndex {
 public:
  IdIndex() = default;
  ~IdIndex();
  IdIndex(const IdIndex&) = delete;
  IdIndex& operator=(const IdIndex&) = delete;

  // Returns JobRef::none if the id is not in the index.
  JobRef find(JobId id) const {
    const Leaf* const leaf = leaf_of(id);
    return leaf == nullptr ? JobRef::none : leaf->jobs[digit(id, 0)];
  }

  // Returns the job with the smallest id that is at least `from`, or JobRef::none.
  JobRef first_from(JobId from) const;

  // Returns false if memory is short; nothing has changed then. Requires: the id is not in the
  // index.
  [[nodiscard]] bool insert(JobId id, JobRef job) {
    CHECK(job != JobRef::none);
    Leaf* const leaf = leaf_of(id);
    if (leaf == nullptr) [[unlikely]]
      return insert_with_leaf(id, job);
    JobRef& place = leaf->jobs[digit(id, 0)];
    CHECK(place == JobRef::none);
    place = job;
    ++leaf->used;
    return true;
  }

  // Requires: the id is in the index.
  void erase(JobId id) {
    Leaf* const leaf = leaf_of(id);
    CHECK(leaf != nullptr);
    JobRef& place = leaf->jobs[digit(id, 0)];
    CHECK(place != JobRef::none);
    place = JobRef::none;
    if (--leaf->used == 0 && leaf != emptied_) keep_emptied(*leaf, id);
  }

 private:
  static constexpr unsigned kBits = 6;
  static constexpr unsigned kFanout = 1U << kBits;
  static constexpr unsigned kHeightMax = 11;  // 11 * 6 bits cover a 64-bit id.

  struct Leaf {
    std::uint32_t used = 0;
    std::array<JobRef, kFanout> jobs{};
  };
  struct Branch {
    std::uint32_t used = 0;
    std::array<void*, kFanout> children{};  // Branches; leaves at level 1.
  };

  static unsigned digit(JobId id, unsigned level) {
    return static_cast<unsigned>(id >> (level * kBits)) % kFanout;
  }
  bool covers(JobId id) const { return height_ * kBits >= 64 || (id >> (height_ * kBits)) == 0; }

  // Returns null if there is no leaf for the id.
  Leaf* leaf_of(JobId id) const {
    if (root_ == nullptr || !covers(id)) return nullptr;
    void* node = root_;
    for (unsigned level = height_ - 1; level > 0; --level) {
      node = static_cast<Branch*>(node)->children[digit(id, level)];
      if (node == nullptr) return nullptr;
    }
    return static_cast<Leaf*>(node);
  }
  [[gnu::noinline]] bool insert_with_leaf(JobId id, JobRef job);
  [[gnu::noinline]] void keep_emptied(Leaf& leaf, JobId id);
  void drop_leaf(JobId id);
  bool add_level();
  void drop_levels();
  static JobRef first_from(const void* node, unsigned level, JobId from);
  void free_node(void* node, unsigned level);

  // A tree of height h covers ids below 64^h. Its root is a leaf if h is 1. Height 0: empty.
  void* root_ = nullptr;
  unsigned height_ = 0;
  // The leaf that became empty last, and an id that it covers. It may be in use again.
  Leaf* emptied_ = nullptr;
  JobId emptied_id_ = 0;
};

}  // namespace haricot
