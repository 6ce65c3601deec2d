// Some memory that is kept for the moment when there is none left.
//
// Producers may take the last byte of memory. Then workers, who would make room, cannot even get an
// answer. So a put is accepted only if the cushion is there, and the cushion is freed as soon as
// anything is refused because there is no memory.

#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>

namespace haricot {

class MemoryCushion {
 public:
  static constexpr std::size_t kBytes = std::size_t{256} * 1024;

  MemoryCushion() { (void)fill(); }

  // Whether the cushion is there. Allocates it again if it was freed and there is memory for it.
  [[nodiscard]] bool fill() {
    // In pieces, because memory that others have freed is seldom in one piece.
    while (allocated_ < pieces_.size()) {
      pieces_[allocated_].reset(new (std::nothrow) char[kPieceBytes]);
      if (!pieces_[allocated_]) return false;
      ++allocated_;
    }
    return true;
  }

  void give_up() {
    while (allocated_ > 0) pieces_[--allocated_].reset();
  }

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{16} * 1024;

  std::array<std::unique_ptr<char[]>, kBytes / kPieceBytes> pieces_;
  std::size_t allocated_ = 0;  // The first so many are there.
};

}  // namespace haricot
