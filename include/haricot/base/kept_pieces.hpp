// Large pieces of memory that are free and kept for a while, because the next body may need one.
//
// The system takes and gives a page for 0.3 us: a body of 1 MB in a piece of its own costs three
// times what it costs in a piece whose pages are there. And to give 100 MB back at once takes some
// 10 ms, so pieces that nobody has needed from one age() to the one after the next go back a part
// at a time.
//
// Takes and frees what malloc has mapped each by itself. Not for threads.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace haricot {

class KeptPieces {
 public:
  // Each piece has room for what is noted in it.
  static constexpr std::size_t kBytesMin = 64;

  constexpr KeptPieces() = default;
  // Pieces are left to the process.
  ~KeptPieces() = default;
  KeptPieces(const KeptPieces&) = delete;
  KeptPieces& operator=(const KeptPieces&) = delete;

  struct Piece {
    void* memory = nullptr;  // Null: there is none.
    std::size_t bytes = 0;
  };
  // Takes out a piece of at least so many bytes, and at most an eighth more. Looks at a few, those
  // first that were kept last.
  Piece take(std::size_t bytes);
  // Keeps a piece that malloc gave. Requires: it has at least kBytesMin.
  void keep(void* memory, std::size_t bytes);

  // To be called about once a second, as long as bytes() is above 0.
  void age();
  // Frees so many bytes of those that are to go, or all if there are fewer. Returns how many. The
  // tombstone of a large piece stays by shrinking it, so that no call frees much more.
  std::size_t give_back(std::size_t bytes);
  std::size_t bytes() const { return since_age_[0] + since_age_[1] + bytes_to_go_; }
  std::size_t bytes_to_go() const { return bytes_to_go_; }

 private:
  struct Note;  // In the piece.

  std::size_t& counter_of(const Note& note);
  void remove(const Note& note);
  void push_back(void* memory, std::size_t bytes, std::uint64_t age);

  Note* newest_ = nullptr;
  Note* oldest_ = nullptr;
  std::uint64_t age_ = 0;
  std::array<std::size_t, 2> since_age_{};  // Bytes kept since the last age(), and the one before.
  std::size_t bytes_to_go_ = 0;
};

}  // namespace haricot
