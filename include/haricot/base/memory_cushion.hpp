// A reserve of memory for the moment when there is none left.
//
// Producers may take the last byte of memory. Then workers, which would make room, could not even
// get an answer. So a put is accepted only if the cushion is allocated, and the cushion is freed as
// soon as anything is refused for lack of memory.

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

  // Returns true if the cushion is allocated. Allocates it again if it was freed and memory is
  // back.
  [[nodiscard]] bool fill() {
    // In pieces, because freed memory is seldom contiguous.
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
  std::size_t allocated_ = 0;  // Number of allocated pieces; these are the first ones.
};

}  // namespace haricot
