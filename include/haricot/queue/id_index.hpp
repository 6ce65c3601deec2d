// Finds a job by its id: a radix tree over the bits of the id.
//
// Ids are handed out one after another, so the tree is dense: about 4.3 bytes a job. It grows and
// shrinks a node at a time and never moves what it holds, unlike a hash table. A leaf covers 64 ids
// (256 bytes of references); one job that outlives its neighbours keeps one leaf, not more. The
// leaf that fell empty last stays, with the branches above it: where jobs come and go one by one,
// the next id most likely belongs there.

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

  // JobRef::none if there is no such id.
  JobRef find(JobId id) const {
    const Leaf* const leaf = leaf_of(id);
    return leaf == nullptr ? JobRef::none : leaf->jobs[digit(id, 0)];
  }

  // Of the smallest id that is not below `from`; JobRef::none if there is none.
  JobRef first_from(JobId from) const;

  // False: no memory, and nothing has changed. Requires: the id is not in the index.
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
  static constexpr unsigned kHeightMax = 11;  // 11 * 6 bits cover an id of 64 bits.

  struct Leaf {
    std::uint32_t used = 0;
    std::array<JobRef, kFanout> jobs{};
  };
  struct Branch {
    std::uint32_t used = 0;
    std::array<void*, kFanout> children{};  // Branches, or leaves at the lowest level.
  };

  static unsigned digit(JobId id, unsigned level) {
    return static_cast<unsigned>(id >> (level * kBits)) % kFanout;
  }
  bool covers(JobId id) const { return height_ * kBits >= 64 || (id >> (height_ * kBits)) == 0; }

  // Null: nothing is there.
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

  // A tree of height h covers ids below 64^h; its root is a leaf if h is 1. Height 0: empty.
  void* root_ = nullptr;
  unsigned height_ = 0;
  // The leaf that fell empty last, which may have come to hold ids again; and an id that it covers.
  Leaf* emptied_ = nullptr;
  JobId emptied_id_ = 0;
};

}  // namespace haricot
