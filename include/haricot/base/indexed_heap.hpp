// A binary heap that reports the index of each element to its owner, so that any element can be
// taken out in O(log n).
//
// The keys are in the slots: comparing two elements touches no memory but the heap's own. When a
// slot moves, the heap calls `indexes.moved(slot, index)`. The owner of the element remembers the
// index there, and gives it to remove().
//
//   Slot    a small value with operator<; the smallest is on top
//   Indexes anything with `void moved(const Slot&, std::uint32_t index)`; passed to each call, not
//   held

#pragma once

#include <cstdint>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/base/paged_array.hpp"

namespace haricot {

// What becomes of the room of elements that left: it may go back to the system, or it is kept, so
// that reserved room stays reserved.
enum class Room : std::uint8_t { given_back, kept };

template <typename Slot, Room room = Room::given_back>
class IndexedHeap {
 public:
  bool empty() const { return slots_.empty(); }
  std::uint32_t size() const { return slots_.size(); }

  // Requires: not empty. Valid until the heap changes.
  const Slot& top() const { return slots_[0]; }
  // Requires: index < size(). In heap order, not sorted.
  const Slot& at(std::uint32_t index) const { return slots_[index]; }

  // Makes sure that the next push cannot fail. False: no memory.
  [[nodiscard]] bool reserve_one() { return slots_.reserve_one(); }

  // Makes sure that the heap can hold so many elements at any time, if it keeps its room. False: no
  // memory.
  [[nodiscard]] bool reserve(std::uint32_t slots) { return slots_.reserve(slots); }

  // Gives the memory of an empty heap back; what reserve_one() promised is void.
  void trim_if_empty() { slots_.trim_if_empty(); }

  // Requires: reserve_one() returned true since the last push, or reserve() for so many.
  template <typename Indexes>
  void push(const Slot& slot, Indexes& indexes) {
    slots_.push_back(slot);
    sift_up(slots_.size() - 1, slot, indexes);
  }

  // Takes out the element at an index. Requires: index < size().
  template <typename Indexes>
  void remove(std::uint32_t index, Indexes& indexes) {
    CHECK(index < slots_.size());
    const Slot last = take_any();
    if (index == slots_.size()) return;
    // The last slot fills the gap and moves to where it belongs: up or down, never both.
    if (index > 0 && last < slots_[parent(index)]) {
      sift_up(index, last, indexes);
    } else {
      sift_down(index, last, indexes);
    }
  }

  // Puts another key in the place of the element at an index. Requires: index < size().
  template <typename Indexes>
  void replace(std::uint32_t index, const Slot& slot, Indexes& indexes) {
    CHECK(index < slots_.size());
    if (index > 0 && slot < slots_[parent(index)]) {
      sift_up(index, slot, indexes);
    } else {
      sift_down(index, slot, indexes);
    }
  }

  // Takes some element out, the one that costs least: O(1), no slot moves. Requires: not empty.
  Slot take_any() {
    const Slot last = slots_.back();
    if constexpr (room == Room::kept) {
      slots_.pop_back_keeping_room();
    } else {
      slots_.pop_back();
    }
    return last;
  }

 private:
  static std::uint32_t parent(std::uint32_t index) { return (index - 1) / 2; }

  template <typename Indexes>
  void put(std::uint32_t index, const Slot& slot, Indexes& indexes) {
    slots_[index] = slot;
    indexes.moved(slot, index);
  }

  template <typename Indexes>
  void sift_up(std::uint32_t hole, const Slot slot, Indexes& indexes) {
    while (hole > 0 && slot < slots_[parent(hole)]) {
      put(hole, slots_[parent(hole)], indexes);
      hole = parent(hole);
    }
    put(hole, slot, indexes);
  }

  template <typename Indexes>
  void sift_down(std::uint32_t hole, const Slot slot, Indexes& indexes) {
    const std::uint64_t size = slots_.size();
    for (;;) {
      std::uint64_t child = 2 * static_cast<std::uint64_t>(hole) + 1;
      if (child >= size) break;
      if (child + 1 < size && slots_[static_cast<std::uint32_t>(child + 1)] <
                                  slots_[static_cast<std::uint32_t>(child)]) {
        ++child;
      }
      const auto lesser = static_cast<std::uint32_t>(child);
      if (!(slots_[lesser] < slot)) break;
      put(hole, slots_[lesser], indexes);
      hole = lesser;
    }
    put(hole, slot, indexes);
  }

  PagedArray<Slot> slots_;
};

}  // namespace haricot
