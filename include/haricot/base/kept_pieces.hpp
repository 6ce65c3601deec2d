// Large free pieces of memory that are kept for a while, for the next body of that size.
//
// Mapping or unmapping a page takes 0.3 us: a body of 1 MB in a new mapping costs three times as
// much as in a piece with resident pages. Returning 100 MB to the system at once takes some 10 ms,
// so pieces that were not taken between two calls of age() are returned gradually.
//
// The pieces come from malloc, each in a mapping of its own. Not thread-safe.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace haricot {

class KeptPieces {
 public:
  // Minimum size of a piece, which has to hold its own Note.
  static constexpr std::size_t kBytesMin = 64;

  constexpr KeptPieces() = default;
  // Does not free the pieces.
  ~KeptPieces() = default;
  KeptPieces(const KeptPieces&) = delete;
  KeptPieces& operator=(const KeptPieces&) = delete;

  struct Piece {
    void* memory = nullptr;  // Null: none.
    std::size_t bytes = 0;
  };
  // Takes out a piece of at least that many bytes, and at most an eighth more. Checks a few pieces,
  // the most recently kept first.
  Piece take(std::size_t bytes);
  // Keeps a piece that malloc returned. Requires: bytes >= kBytesMin.
  void keep(void* memory, std::size_t bytes);

  // Marks the pieces that were kept before the last call and not taken since, for give_back(). Call
  // about once a second while bytes() is above 0.
  void age();
  // Frees that many bytes of marked pieces, or all if there are fewer. Returns the number of freed
  // bytes. A large piece shrinks over several calls, so that no call frees much more.
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
  std::array<std::size_t, 2>
      since_age_{};  // Bytes kept since the last age(), and in the period before that.
  std::size_t bytes_to_go_ = 0;
};

}  // namespace haricot
