// A heap whose elements carry its links: it allocates no memory, so no operation can fail. Any
// element can be removed in O(log n).
//
// It is a leftist tree: from each element, the path to the nearest gap is at least as long on the
// left as on the right. So a path on the right has at most log2(n + 1) elements, and a merge works
// on two such paths.
//
//   Ref       a small number of an element; Ref{} is none
//   Elements  `HeapLinks<Ref>& links(Ref)` and `bool precedes(Ref, Ref)`, an order that must not
//             change for elements in a heap; passed to each call, not stored

#pragma once

#include <cstdint>
#include <utility>

namespace haricot {

// Links of an element; undefined while it is in no heap.
template <typename Ref>
struct HeapLinks {
  Ref above;
  Ref left;
  Ref right;
  std::uint32_t rank;  // Number of elements on the path to the right, this one included.
};

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
