// Memory for pieces of 16 to 192 KiB, such as the bodies of jobs, that goes back to the system.
//
// malloc cuts such pieces from one heap, and the heap gets smaller only at its end: a small piece
// at the end keeps all free memory before it from going back. Here pieces of about one size are cut
// from a slab of their own, which malloc maps. When the last piece is free, the slab is free.
//
//   slab    its head and 8 or 16 pieces of one size class; classes are an eighth apart
//   empty   a slab without pieces in use. It is kept, because the next puts may need it again
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
  static constexpr std::size_t kBytesMin = std::size_t{16} * 1024 + 1;
  static constexpr std::size_t kBytesMax = std::size_t{192} * 1024;
  static constexpr bool takes(std::size_t bytes) {
    return bytes >= kBytesMin && bytes <= kBytesMax;
  }

  constexpr Slabs() = default;
  // Slabs with pieces in use are left to the process.
  ~Slabs();
  Slabs(const Slabs&) = delete;
  Slabs& operator=(const Slabs&) = delete;

  // A piece, aligned to 16 bytes; null if there is no memory. Requires: takes(bytes).
  void* allocate(std::size_t bytes);
  // Requires: it comes from here.
  void free(void* piece);

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
  // 8 each from 16, 32 and 64 KiB on, 4 from 128 KiB on.
  static constexpr std::size_t kClasses = 28;
  // In front of each piece, so that its slab is found.
  static constexpr std::size_t kPrefixBytes = 16;

  struct Slab {
    Slab* previous;
    Slab* next;
    std::uint32_t free_pieces;  // A bit each.
    std::uint32_t class_number;
  };
  struct List {
    Slab* first = nullptr;
    Slab* last = nullptr;
  };

  static std::size_t class_of(std::size_t bytes);
  static std::size_t bytes_of(std::size_t class_number);
  static std::size_t pieces_of(std::size_t class_number);
  static std::size_t slab_bytes(std::size_t class_number);
  static std::uint32_t all_pieces(std::size_t class_number);
  static void push_front(List& list, Slab& slab);
  static void remove(List& list, Slab& slab);
  Slab* take_slab(std::size_t class_number);

  std::array<List, kClasses> usable_{};  // Slabs with pieces in use and pieces that are free.
  std::array<List, kClasses> empty_{};   // The one that was used last in front.
  std::size_t empty_bytes_ = 0;
  std::size_t least_empty_bytes_ = 0;  // Since the last age().
  std::size_t bytes_to_go_ = 0;
};

}  // namespace haricot
