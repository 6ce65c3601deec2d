// Small numbers that stand for things that live elsewhere. A number is half the size of a pointer,
// which counts where millions of jobs keep one. A number is used again after drop().

#pragma once

#include <cstdint>

#include "haricot/base/paged_array.hpp"

namespace haricot {

// Ref: an enum class with std::uint32_t below it. Number 0 is never given out.
template <typename T, typename Ref>
class RefTable {
 public:
  // A reference for the thing; Ref{0}: no memory.
  [[nodiscard]] Ref add(T* thing) {
    if (free_.empty()) {
      // Number 0 is taken by an entry that stays empty.
      if (things_.empty()) {
        if (!things_.allocate_one()) return Ref{};
        things_.push_back(nullptr);
      }
      if (!things_.allocate_one()) return Ref{};
      things_.push_back(thing);
      return static_cast<Ref>(things_.size() - 1);
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    things_[number] = thing;
    return static_cast<Ref>(number);
  }

  // Null for a reference that was emptied.
  T* operator[](Ref ref) const { return things_[static_cast<std::uint32_t>(ref)]; }

  // Calls `visit(thing)` for each. What it is given may be dropped by it.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::uint32_t i = 0; i < things_.size(); ++i) {
      if (things_[i] != nullptr) visit(*things_[i]);
    }
  }

  // All numbers that were given out are below.
  std::uint32_t end() const { return things_.size(); }

  // The thing is gone, but its reference stays taken until drop().
  void empty(Ref ref) { things_[static_cast<std::uint32_t>(ref)] = nullptr; }

  // When no number is taken any more, the memory of many goes back.
  void drop(Ref ref) {
    empty(ref);
    const bool are_all_free = free_.size() + 2 == things_.size();  // But number 0 and this one.
    if (are_all_free && things_.size() > PagedArray<T*>::kPageElements) {
      free_.clear();
      things_.clear();
      return;
    }
    // Where there is no memory to remember it, the number is not used again.
    if (free_.allocate_one()) free_.push_back(static_cast<std::uint32_t>(ref));
  }

 private:
  PagedArray<T*> things_;
  PagedArray<std::uint32_t> free_;
};

}  // namespace haricot
