// Two heaps from which any element can be removed in O(log n).

#pragma once

#include <cstdint>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/base/paged_array.hpp"

namespace haricot {

// Treatment of the memory of removed elements: released, or kept, so that room once allocated
// stays.
enum class Freed : std::uint8_t { given_back, kept };

// A binary heap that reports the index of each element to its owner, so that any element can be
// removed.
//
// The keys are in the entries: comparing two elements touches only memory of the heap. When an
// entry moves, the heap calls `indexes.moved(entry, index)`. The owner of the element stores the
// index, and passes it to remove().
//
//   Entry   a small value with operator<; the smallest is on top
//   Indexes anything with `void moved(const Entry&, std::uint32_t index)`; passed to each call, not
//           stored
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

// Links of an element; undefined while it is in no heap.
template <typename Ref>
struct HeapLinks {
  Ref above;
  Ref left;
  Ref right;
  std::uint32_t rank;  // Number of elements on the path to the right, this one included.
};

// A heap whose elements carry its links: it allocates no memory, so no operation can fail.
//
// It is a leftist tree: from each element, the path to the nearest gap is at least as long on the
// left as on the right. So a path on the right has at most log2(n + 1) elements, and a merge works
// on two such paths.
//
//   Ref       a small number of an element; Ref{} is none
//   Elements  `HeapLinks<Ref>& links(Ref)` and `bool precedes(Ref, Ref)`, an order that must not
//             change for elements in a heap; passed to each call, not stored
template <typename Ref>
class LinkedHeap {
 public:
  static constexpr Ref kNone{};

  bool empty() const { return top_ == kNone; }
  // Returns the first element; kNone: the heap is empty.
  Ref top() const { return top_; }

  // Removes all elements in O(1). They need not exist any more.
  void forget_all() { top_ = kNone; }

  // Requires: the element is in no heap.
  template <typename Elements>
  void push(Ref ref, Elements& elements) {
    elements.links(ref) = {kNone, kNone, kNone, 1};
    top_ = merged(top_, ref, elements);
  }

  // Requires: the element is in this heap.
  template <typename Elements>
  void remove(Ref ref, Elements& elements) {
    const HeapLinks<Ref> gone = elements.links(ref);
    const Ref below = merged(gone.left, gone.right, elements);
    if (below != kNone) elements.links(below).above = gone.above;
    if (gone.above == kNone) {
      top_ = below;
      return;
    }
    HeapLinks<Ref>& above = elements.links(gone.above);
    (above.left == ref ? above.left : above.right) = below;
    // Each rank that changes exceeds the rank below it by one, so O(log n) ranks change.
    for (Ref at = gone.above; at != kNone && settle(at, elements);) at = elements.links(at).above;
  }

 private:
  template <typename Elements>
  static std::uint32_t rank_of(Ref ref, Elements& elements) {
    return ref == kNone ? 0 : elements.links(ref).rank;
  }

  // Restores the order of an element whose children are in order. Returns true if its rank changed.
  template <typename Elements>
  static bool settle(Ref ref, Elements& elements) {
    HeapLinks<Ref>& links = elements.links(ref);
    if (rank_of(links.left, elements) < rank_of(links.right, elements)) {
      std::swap(links.left, links.right);
    }
    const std::uint32_t rank = rank_of(links.right, elements) + 1;
    return std::exchange(links.rank, rank) != rank;
  }

  // Merges two heaps and returns the top, with nothing above it.
  template <typename Elements>
  static Ref merged(Ref one, Ref other, Elements& elements) {
    Ref top = kNone;
    Ref last = kNone;  // Last element of the merged path.
    const auto append = [&](Ref ref) {
      if (last == kNone) {
        top = ref;
      } else {
        elements.links(last).right = ref;
      }
      if (ref != kNone) elements.links(ref).above = last;
    };
    while (one != kNone && other != kNone) {
      if (elements.precedes(other, one)) std::swap(one, other);
      append(one);
      last = one;
      one = elements.links(one).right;
    }
    append(one != kNone ? one : other);
    for (; last != kNone; last = elements.links(last).above) settle(last, elements);
    return top;
  }

  Ref top_ = kNone;
};

}  // namespace haricot
