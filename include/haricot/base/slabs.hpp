// Memory for pieces of up to 192 KiB that goes back to the system.
//
// malloc cuts such pieces from one heap, and the heap gets smaller only at its end: a small piece
// at the end keeps all free memory before it from going back. Here pieces of about one size are cut
// from a slab of their own, which malloc maps. When the last piece is free, the slab is free.
//
//   slab    its head and pieces of one size class. Classes are 16 bytes apart up to 512 bytes, and
//           an eighth from there on. A slab has 8 or 16 pieces of 16 KiB and more, and 256 KiB of
//           smaller ones
//   taken   the part of a slab that was ever in use, in steps of 16 KiB: what is behind it is
//           mapped, but takes no memory yet
//   empty   a slab without pieces in use. It is kept, because what comes next may need it again
//   to go   empty slabs that nobody has needed from one age() to the next
//
// Taking and giving a piece cost a few instructions, but for those that map a slab. Not for
// threads.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace haricot {

class Slabs {
 public:
  // In front of each piece, so that its slab is found.
  static constexpr std::size_t kPrefixBytes = 8;
  static constexpr std::size_t kBytesMax = std::size_t{192} * 1024 - kPrefixBytes;
  static constexpr bool takes(std::size_t bytes) { return bytes <= kBytesMax; }

  constexpr Slabs() = default;
  // Slabs with pieces in use are left to the process.
  ~Slabs();
  Slabs(const Slabs&) = delete;
  Slabs& operator=(const Slabs&) = delete;

  // A piece, aligned to 16 bytes; null if there is no memory. The 8 bytes in front of it are not
  // zero, and stay as they are. Requires: takes(bytes).
  void* allocate(std::size_t bytes);
  // Requires: it comes from here.
  void free(void* piece);

  // How many bytes may be taken at most, pieces in use and free ones together: allocate() fails
  // where it would take more. What is taken already stays.
  void limit(std::size_t bytes) { taken_bytes_max_ = bytes; }
  std::size_t taken_bytes() const { return taken_bytes_; }

  // Marks the empty slabs that nobody has needed since the last call: they are to go. To be called
  // about once a second, as long as there are empty slabs.
  void age();
  // Returns slabs that are to go to the system, until so many bytes are returned or no such slab is
  // left.
  void give_back(std::size_t bytes);
  std::size_t empty_bytes() const { return empty_bytes_; }
  std::size_t bytes_to_go() const { return bytes_to_go_; }

  // The bytes that a piece of that size takes. Requires: takes(bytes).
  static std::size_t piece_bytes(std::size_t bytes) { return bytes_of(class_of(bytes)); }

 private:
  static constexpr std::size_t kEvenClasses = 32;  // 16 to 512 bytes, with the prefix.
  static constexpr std::size_t kClasses = kEvenClasses + 8 * 8 + 4;

  struct Slab {
    Slab* previous;
    Slab* next;
    void* free;             // The first piece that is free again; each names the next.
    std::uint32_t touched;  // Pieces that were ever in use: the others are behind them.
    std::uint32_t taken;    // Pieces.
    std::uint32_t used;     // Pieces.
    std::uint32_t pieces;
    std::uint32_t class_number;
  };
  struct List {
    Slab* first = nullptr;
    Slab* last = nullptr;
  };

  static std::size_t class_of(std::size_t bytes);
  static std::size_t bytes_of(std::size_t class_number);
  static std::uint32_t pieces_of(std::size_t class_number);
  static std::size_t bytes_taken_by(const Slab& slab) {
    return slab.taken * bytes_of(slab.class_number);
  }
  static void push_front(List& list, Slab& slab);
  static void remove(List& list, Slab& slab);
  Slab* take_slab(std::size_t class_number);
  [[gnu::noinline]] void* first_piece(std::size_t class_number);
  void* new_piece(Slab& slab);
  bool take_more(Slab& slab);

  std::array<List, kClasses> usable_{};  // Slabs with pieces in use and pieces that are free.
  std::array<List, kClasses> empty_{};   // The one that was used last in front.
  std::size_t taken_bytes_ = 0;
  std::size_t taken_bytes_max_ = SIZE_MAX;
  std::size_t empty_bytes_ = 0;
  std::size_t least_empty_bytes_ = 0;  // Since the last age().
  std::size_t bytes_to_go_ = 0;
};

}  // namespace haricot
