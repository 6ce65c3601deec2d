// Some memory that is kept for the moment when there is none left.
//
// Who brings work may take the last byte of it, and then those who would make room, workers above
// all, find nothing for an answer. So whoever brings work has to find the cushion in its place, and
// it is given up as soon as anything is refused for want of memory.

#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>

namespace haricot {

class MemoryCushion {
 public:
  static constexpr std::size_t kBytes = std::size_t{256} * 1024;

  MemoryCushion() { (void)hold(); }

  // Whether it is there: takes it again if it was given up and there is memory for it.
  [[nodiscard]] bool hold() {
    // In pieces, because what others have freed is seldom free in one.
    while (held_ < pieces_.size()) {
      pieces_[held_].reset(new (std::nothrow) char[kPieceBytes]);
      if (!pieces_[held_]) return false;
      ++held_;
    }
    return true;
  }

  void give_up() {
    while (held_ > 0) pieces_[--held_].reset();
  }

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{16} * 1024;

  std::array<std::unique_ptr<char[]>, kBytes / kPieceBytes> pieces_;
  std::size_t held_ = 0;  // The first so many are there.
};

}  // namespace haricot
