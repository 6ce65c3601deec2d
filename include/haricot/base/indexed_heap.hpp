// A binary heap that reports the index of each element to its owner, so that any element can be
// removed in O(log n).
//
// The keys are in the entries: comparing two elements touches only memory of the heap. When an
// entry moves, the heap calls `indexes.moved(entry, index)`. The owner of the element stores the
// index, and passes it to remove().
//
//   Entry   a small value with operator<; the smallest is on top
//   Indexes anything with `void moved(const Entry&, std::uint32_t index)`; passed to each call, not
//           stored

#pragma once

#include <cstdint>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/base/paged_array.hpp"

namespace haricot {

// Treatment of the memory of removed elements: released, or kept, so that room once allocated
// stays.
enum class Freed : std::uint8_t { given_back, kept };

template <typename Entry, Freed freed = Freed::given_back>
class IndexedHeap {
 public:
  static constexpr std::uint32_t kPageElements = PagedArray<Entry>::kPageElements;

  bool empty() const { return entries_.empty(); }
  std::uint32_t size() const { return entries_.size(); }

  // Requires: not empty. Valid until the heap changes.
  const Entry& top() const { return entries_[0]; }
  // Requires: index < size(). In heap order, not sorted.
  const Entry& at(std::uint32_t index) const { return entries_[index]; }

  // Makes sure that the next push cannot fail. Returns false without memory.
  [[nodiscard]] bool allocate_one() { return entries_.allocate_one(); }

  // Allocates room for that many elements in all; the room stays if the heap keeps its memory.
  // Returns false without memory.
  [[nodiscard]] bool allocate(std::uint32_t entries) { return entries_.allocate(entries); }

  // Returns the number of elements that fit without more memory.
  std::uint32_t capacity() const { return entries_.capacity(); }

  // Releases memory that is not needed for the elements and `more` others. For a heap that keeps
  // its memory.
  void trim(std::uint32_t more) { entries_.trim(more); }

  // Releases the memory of an empty heap. Undoes allocate_one().
  void trim_if_empty() { entries_.trim_if_empty(); }

  // Requires: allocate_one() returned true since the last push, or allocate() has made room.
  template <typename Indexes>
  void push(const Entry& entry, Indexes& indexes) {
    entries_.push_back(entry);
    sift_up(entries_.size() - 1, entry, indexes);
  }

  // Removes the element at an index. Requires: index < size().
  template <typename Indexes>
  void remove(std::uint32_t index, Indexes& indexes) {
    CHECK(index < entries_.size());
    const Entry last = take_any();
    if (index == entries_.size()) return;
    // The last entry fills the gap and moves up or down, never both.
    if (index > 0 && last < entries_[parent(index)]) {
      sift_up(index, last, indexes);
    } else {
      sift_down(index, last, indexes);
    }
  }

  // Replaces the key of the element at an index. Requires: index < size().
  template <typename Indexes>
  void replace(std::uint32_t index, const Entry& entry, Indexes& indexes) {
    CHECK(index < entries_.size());
    if (index > 0 && entry < entries_[parent(index)]) {
      sift_up(index, entry, indexes);
    } else {
      sift_down(index, entry, indexes);
    }
  }

  // Removes an arbitrary element in O(1); no entry moves. Requires: not empty.
  Entry take_any() {
    const Entry last = entries_.back();
    if constexpr (freed == Freed::kept) {
      entries_.pop_back_keeping_memory();
    } else {
      entries_.pop_back();
    }
    return last;
  }

 private:
  static std::uint32_t parent(std::uint32_t index) { return (index - 1) / 2; }

  template <typename Indexes>
  void put(std::uint32_t index, const Entry& entry, Indexes& indexes) {
    entries_[index] = entry;
    indexes.moved(entry, index);
  }

  template <typename Indexes>
  void sift_up(std::uint32_t hole, const Entry entry, Indexes& indexes) {
    while (hole > 0 && entry < entries_[parent(hole)]) {
      put(hole, entries_[parent(hole)], indexes);
      hole = parent(hole);
    }
    put(hole, entry, indexes);
  }

  template <typename Indexes>
  void sift_down(std::uint32_t hole, const Entry entry, Indexes& indexes) {
    const std::uint64_t size = entries_.size();
    for (;;) {
      std::uint64_t child = 2 * static_cast<std::uint64_t>(hole) + 1;
      if (child >= size) break;
      if (child + 1 < size && entries_[static_cast<std::uint32_t>(child + 1)] <
                                  entries_[static_cast<std::uint32_t>(child)]) {
        ++child;
      }
      const auto lesser = static_cast<std::uint32_t>(child);
      if (!(entries_[lesser] < entry)) break;
      put(hole, entries_[lesser], indexes);
      hole = lesser;
    }
    put(hole, entry, indexes);
  }

  PagedArray<Entry> entries_;
};

}  // namespace haricot
