// A heap whose elements carry its links themselves: it needs no memory of its own, so nothing about
// it can fail. Any element can be taken out in O(log n).
//
// It is a leftist tree: at each element the way down to the nearest gap is at least as long on the
// left as on the right. So the way down on the right has log2(n + 1) elements at most, and what is
// merged are two such ways.
//
//   Ref       a small number of an element; Ref{} is none
//   Elements  `HeapLinks<Ref>& links(Ref)` and `bool precedes(Ref, Ref)`, which orders the elements
//             and does not change for one that is in a heap; passed to each call, not held

#pragma once

#include <cstdint>
#include <utility>

namespace haricot {

// What an element keeps for the heap that it is in; of no meaning while it is in none.
template <typename Ref>
struct HeapLinks {
  Ref above;
  Ref left;
  Ref right;
  std::uint32_t rank;  // Of how many elements the way down on the right is, this one included.
};

template <typename Ref>
class LinkedHeap {
 public:
  static constexpr Ref kNone{};

  bool empty() const { return top_ == kNone; }
  // The first element; kNone: the heap is empty.
  Ref top() const { return top_; }

  // Forgets all elements, in O(1). They need not exist any more.
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
    // Each rank that changes is one more than the one below, so these are few.
    for (Ref at = gone.above; at != kNone && settle(at, elements);) at = elements.links(at).above;
  }

 private:
  template <typename Elements>
  static std::uint32_t rank_of(Ref ref, Elements& elements) {
    return ref == kNone ? 0 : elements.links(ref).rank;
  }

  // Makes an element right whose children are. Returns whether its rank has changed.
  template <typename Elements>
  static bool settle(Ref ref, Elements& elements) {
    HeapLinks<Ref>& links = elements.links(ref);
    if (rank_of(links.left, elements) < rank_of(links.right, elements)) {
      std::swap(links.left, links.right);
    }
    const std::uint32_t rank = rank_of(links.right, elements) + 1;
    return std::exchange(links.rank, rank) != rank;
  }

  // The top of one heap made of two, with nothing above it.
  template <typename Elements>
  static Ref merged(Ref one, Ref other, Elements& elements) {
    Ref top = kNone;
    Ref last = kNone;  // The last one of the way that is being made.
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
