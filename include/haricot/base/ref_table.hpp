// Small numbers that refer to objects stored elsewhere. A number is half the size of a pointer,
// which matters if millions of jobs store one. A number is used again after drop().

#pragma once

#include <cstdint>

#include "haricot/base/paged_array.hpp"

namespace haricot {

// Ref: an enum class of std::uint32_t. Number 0 is never used.
template <typename T, typename Ref>
class RefTable {
 public:
  // Returns a reference to the object; Ref{0}: no memory.
  [[nodiscard]] Ref add(T* thing) {
    if (free_.empty()) {
      // Entry 0 stays empty.
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

  // Returns null after empty(ref).
  T* operator[](Ref ref) const { return things_[static_cast<std::uint32_t>(ref)]; }

  // Calls `visit(thing)` for each object. `visit` may drop that object.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::uint32_t i = 0; i < things_.size(); ++i) {
      if (things_[i] != nullptr) visit(*things_[i]);
    }
  }

  // Returns an upper bound of all numbers in use.
  std::uint32_t end() const { return things_.size(); }

  // Removes the object, and keeps its reference taken until drop().
  void empty(Ref ref) { things_[static_cast<std::uint32_t>(ref)] = nullptr; }

  // Frees the number. When all numbers are free, the memory of a large table is released.
  void drop(Ref ref) {
    empty(ref);
    const bool are_all_free = free_.size() + 2 == things_.size();  // Except number 0 and this one.
    if (are_all_free && things_.size() > PagedArray<T*>::kPageElements) {
      free_.clear();
      things_.clear();
      return;
    }
    // Without memory to store it, the number is not used again.
    if (free_.allocate_one()) free_.push_back(static_cast<std::uint32_t>(ref));
  }

 private:
  PagedArray<T*> things_;
  PagedArray<std::uint32_t> free_;
};

}  // namespace haricot
