#include "haricot/base/slabs.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

#include "haricot/base/check.hpp"

namespace haricot {
namespace {

// Head of a slab, in front of its first piece. It ends with the prefix of that piece.
constexpr std::size_t kHeadBytes = 64;
constexpr std::size_t kEvenBytes = 16;
constexpr std::size_t kEvenBytesMax = 512;
constexpr std::size_t kClassesPerDoubling = 8;
constexpr std::size_t kSmallestDoubling = 9;  // 2^9 is 512.
// Large enough that malloc maps every slab separately.
constexpr std::size_t kSlabBytes = std::size_t{256} * 1024;
constexpr std::size_t kLargeBytes = std::size_t{16} * 1024;
constexpr std::size_t kLargerBytes = std::size_t{32} * 1024;
constexpr std::uint32_t kManyPieces = 16;
constexpr std::uint32_t kFewPieces = 8;
constexpr std::size_t kCarvedBytes = std::size_t{16} * 1024;

void* next_free(const void* piece) {
  void* next = nullptr;
  std::memcpy(static_cast<void*>(&next), piece, sizeof next);
  return next;
}

void set_next_free(void* piece, void* next) {
  std::memcpy(piece, static_cast<const void*>(&next), sizeof next);
}

}  // namespace

Slabs::~Slabs() {
  bytes_to_go_ = empty_bytes_;
  give_back(empty_bytes_);
}

// Class 0 takes up to 16 bytes with the prefix, class 31 up to 512, class 32 up to 576.
std::size_t Slabs::class_of(std::size_t bytes) {
  CHECK(takes(bytes));
  const std::size_t below = bytes + kPrefixBytes - 1;
  if (below < kEvenBytesMax) return below / kEvenBytes;
  const auto doubling = static_cast<std::size_t>(std::bit_width(below)) - 1;
  const std::size_t eighth = (below >> (doubling - 3)) % kClassesPerDoubling;
  return kEvenClasses + (doubling - kSmallestDoubling) * kClassesPerDoubling + eighth;
}

std::size_t Slabs::bytes_of(std::size_t class_number) {
  if (class_number < kEvenClasses) return (class_number + 1) * kEvenBytes;
  const std::size_t above = class_number - kEvenClasses;
  const std::size_t doubling = kSmallestDoubling + above / kClassesPerDoubling;
  return (kClassesPerDoubling + 1 + above % kClassesPerDoubling) << (doubling - 3);
}

std::uint32_t Slabs::pieces_of(std::size_t class_number) {
  const std::size_t bytes = bytes_of(class_number);
  if (bytes > kLargerBytes) return kFewPieces;
  if (bytes > kLargeBytes) return kManyPieces;
  return static_cast<std::uint32_t>((kSlabBytes - kHeadBytes) / bytes);
}

void Slabs::push_front(List& list, Slab& slab) {
  slab.previous = nullptr;
  slab.next = list.first;
  (list.first != nullptr ? list.first->previous : list.last) = &slab;
  list.first = &slab;
}

void Slabs::remove(List& list, Slab& slab) {
  (slab.previous != nullptr ? slab.previous->next : list.first) = slab.next;
  (slab.next != nullptr ? slab.next->previous : list.last) = slab.previous;
}

// Returns a slab without pieces in use, new or empty; null without memory.
Slabs::Slab* Slabs::take_slab(std::size_t class_number) {
  Slab* slab = empty_[class_number].first;
  if (slab != nullptr) {
    remove(empty_[class_number], *slab);
    empty_bytes_ -= bytes_taken_by(*slab);
    least_empty_bytes_ = std::min(least_empty_bytes_, empty_bytes_);
    bytes_to_go_ = std::min(bytes_to_go_, empty_bytes_);
    return slab;
  }
  static_assert(sizeof(Slab) + kPrefixBytes <= kHeadBytes);
  const std::uint32_t pieces = pieces_of(class_number);
  void* const memory = std::malloc(kHeadBytes + pieces * bytes_of(class_number));
  if (memory == nullptr) return nullptr;
  return new (memory)
      Slab{nullptr, nullptr, nullptr, 0, 0, 0, pieces, static_cast<std::uint32_t>(class_number)};
}

bool Slabs::take_more(Slab& slab) {
  const std::size_t bytes = bytes_of(slab.class_number);
  const auto carved = static_cast<std::uint32_t>(std::max<std::size_t>(kCarvedBytes / bytes, 1));
  const std::uint32_t more = std::min(carved, slab.pieces - slab.taken);
  if (taken_bytes_max_ < taken_bytes_ || taken_bytes_max_ - taken_bytes_ < more * bytes) {
    return false;
  }
  slab.taken += more;
  taken_bytes_ += more * bytes;
  return true;
}

// Returns a piece that was never in use. Requires: there is one. Returns null beyond the limit.
void* Slabs::new_piece(Slab& slab) {
  if (slab.touched == slab.taken && !take_more(slab)) return nullptr;
  char* const piece =
      reinterpret_cast<char*>(&slab) + kHeadBytes + slab.touched * bytes_of(slab.class_number);
  ++slab.touched;
  new (static_cast<void*>(piece - kPrefixBytes)) Slab* {&slab};
  return piece;
}

// Returns the first piece of a slab without pieces in use; null without memory.
void* Slabs::first_piece(std::size_t class_number) {
  Slab* const slab = take_slab(class_number);
  if (slab == nullptr) return nullptr;
  void* piece = slab->free;
  if (piece != nullptr) {
    slab->free = next_free(piece);
  } else {
    piece = new_piece(*slab);
  }
  if (piece == nullptr) {  // The slab is new, and the limit allows none of its pieces.
    std::free(slab);
    return nullptr;
  }
  slab->used = 1;
  push_front(usable_[class_number], *slab);
  return piece;
}

void* Slabs::allocate(std::size_t bytes) {
  const std::size_t class_number = class_of(bytes);
  List& usable = usable_[class_number];
  Slab* const slab = usable.first;
  if (slab == nullptr) [[unlikely]]
    return first_piece(class_number);
  void* piece = slab->free;
  if (piece != nullptr) [[likely]] {
    slab->free = next_free(piece);
  } else {
    piece = new_piece(*slab);
    if (piece == nullptr) return nullptr;
  }
  ++slab->used;
  if (slab->used == slab->pieces) remove(usable, *slab);
  return piece;
}

void Slabs::free(void* piece) {
  Slab& slab = **std::launder(
      reinterpret_cast<Slab**>(static_cast<void*>(static_cast<char*>(piece) - kPrefixBytes)));
  const std::size_t class_number = slab.class_number;
  CHECK(slab.used > 0);
  if (slab.used == slab.pieces) push_front(usable_[class_number], slab);
  set_next_free(piece, slab.free);
  slab.free = piece;
  if (--slab.used > 0) return;
  remove(usable_[class_number], slab);
  push_front(empty_[class_number], slab);
  empty_bytes_ += bytes_taken_by(slab);
}

void Slabs::age() {
  bytes_to_go_ = least_empty_bytes_;
  least_empty_bytes_ = empty_bytes_;
}

// Frees the slabs that were used longest ago, first those of the large classes.
void Slabs::give_back(std::size_t bytes) {
  for (std::size_t number = kClasses; number > 0 && bytes_to_go_ > 0 && bytes > 0;) {
    List& empty = empty_[number - 1];
    Slab* const slab = empty.last;
    if (slab == nullptr) {
      --number;
      continue;
    }
    remove(empty, *slab);
    const std::size_t gone = bytes_taken_by(*slab);
    std::free(slab);
    taken_bytes_ -= gone;
    empty_bytes_ -= gone;
    least_empty_bytes_ = std::min(least_empty_bytes_, empty_bytes_);
    bytes_to_go_ -= std::min(bytes_to_go_, gone);
    bytes -= std::min(bytes, gone);
  }
}

}  // namespace haricot
