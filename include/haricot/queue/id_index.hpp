// Finds a job by its id: a radix tree over the bits of the id.
//
// Ids are handed out one after another, so the tree is dense: about 4.3 bytes a job. It grows and
// shrinks a node at a time and never moves what it holds, unlike a hash table. A leaf covers 64 ids
// (256 bytes of references); one job that outlives its neighbours keeps one leaf, not more.

#pragma once

#include <array>
#include <cstdint>

#include "haricot/queue/job.hpp"

namespace haricot {

class IdIndex {
 public:
  IdIndex() = default;
  ~IdIndex();
  IdIndex(const IdIndex&) = delete;
  IdIndex& operator=(const IdIndex&) = delete;

  // JobRef::none if there is no such id.
  JobRef find(JobId id) const;

  // Of the smallest id that is not below `from`; JobRef::none if there is none.
  JobRef first_from(JobId from) const;

  // False: no memory, and nothing has changed. Requires: the id is not in the index.
  [[nodiscard]] bool insert(JobId id, JobRef job);

  // Requires: the id is in the index.
  void erase(JobId id);

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
  bool add_level();
  void drop_levels();
  static JobRef first_from(const void* node, unsigned level, JobId from);
  void free_node(void* node, unsigned level);

  // A tree of height h covers ids below 64^h; its root is a leaf if h is 1. Height 0: empty.
  void* root_ = nullptr;
  unsigned height_ = 0;
};

}  // namespace haricot
