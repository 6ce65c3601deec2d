// An allocator of pieces of up to 192 KiB that returns free memory to the system.
//
// malloc cuts such pieces from one heap, and the heap shrinks only at its end: a small piece at
// that end pins all free memory below it. Here pieces of about one size are cut from a slab of
// their own, which malloc maps. When its last piece is freed, the slab is free.
//
//   slab    a head and pieces of one size class. Classes are 16 bytes apart up to 512 bytes; above,
//           each power of two has eight. A slab of pieces above 16 KiB has 8 or 16 of them, any
//           other slab has 256 KiB
//   taken   the part of a slab that was ever in use, in steps of 16 KiB; the rest is mapped, but
//   has
//           no memory yet
//   empty   a slab without pieces in use; it is kept for later use
//   to go   empty slabs that were not needed between two calls of age()
//
// Taking or freeing a piece costs a few instructions, unless that maps a slab. Not thread-safe.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace haricot {

class Slabs {
 public:
  // Prefix of each piece, which leads to its slab.
  static constexpr std::size_t kPrefixBytes = 8;
  static constexpr std::size_t kBytesMax = std::size_t{192} * 1024 - kPrefixBytes;
  static constexpr bool takes(std::size_t bytes) { return bytes <= kBytesMax; }

  constexpr Slabs() = default;
  // Slabs with pieces in use stay allocated.
  ~Slabs();
  Slabs(const Slabs&) = delete;
  Slabs& operator=(const Slabs&) = delete;

  // Returns a piece aligned to 16 bytes; null without memory. The 8 bytes in front of it are not
  // zero and must not change. Requires: takes(bytes).
  void* allocate(std::size_t bytes);
  // Requires: the piece comes from here.
  void free(void* piece);

  // Limits the bytes of all pieces, in use and free: allocate() fails beyond it. Memory that is
  // taken already stays.
  void limit(std::size_t bytes) { taken_bytes_max_ = bytes; }
  std::size_t taken_bytes() const { return taken_bytes_; }

  // Marks empty slabs that were not needed since the last call, for give_back(). Call about once a
  // second while there are empty slabs.
  void age();
  // Returns marked slabs to the system until that many bytes are returned or none is left.
  void give_back(std::size_t bytes);
  std::size_t empty_bytes() const { return empty_bytes_; }
  std::size_t bytes_to_go() const { return bytes_to_go_; }

  // Returns the bytes that a piece of that size takes. Requires: takes(bytes).
  static std::size_t piece_bytes(std::size_t bytes) { return bytes_of(class_of(bytes)); }

 private:
  static constexpr std::size_t kEvenClasses = 32;  // 16 to 512 bytes, with the prefix.
  static constexpr std::size_t kClasses = kEvenClasses + 8 * 8 + 4;

  struct Slab {
    Slab* previous;
    Slab* next;
    void* free;             // First free piece; each links to the next.
    std::uint32_t touched;  // Number of pieces that were ever in use; the others follow them.
    std::uint32_t taken;    // Number of pieces in the taken part.
    std::uint32_t used;     // Number of pieces in use.
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

  std::array<List, kClasses> usable_{};  // Slabs with pieces in use and free pieces.
  std::array<List, kClasses> empty_{};   // The most recently used slab is in front.
  std::size_t taken_bytes_ = 0;
  std::size_t taken_bytes_max_ = SIZE_MAX;
  std::size_t empty_bytes_ = 0;
  std::size_t least_empty_bytes_ = 0;  // Since the last age().
  std::size_t bytes_to_go_ = 0;
};

}  // namespace haricot
