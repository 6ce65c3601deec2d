#include "haricot/base/slabs.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

#include "haricot/base/check.hpp"

namespace haricot {
namespace {

constexpr std::size_t kHeadBytes = 64;  // A cache line; pieces keep their alignment after it.
constexpr std::size_t kClassesPerDoubling = 8;
constexpr std::size_t kSmallestDoubling = 14;  // 2^14 is 16 KiB.
// Every slab is large enough for malloc to map it.
constexpr std::size_t kManyPieces = 16;
constexpr std::size_t kFewPieces = 8;

}  // namespace

Slabs::~Slabs() {
  bytes_to_go_ = empty_bytes_;
  give_back(empty_bytes_);
}

// Class 0 takes up to 18 KiB, class 7 up to 32 KiB, class 8 up to 36 KiB.
std::size_t Slabs::class_of(std::size_t bytes) {
  CHECK(takes(bytes));
  const std::size_t below = bytes - 1;
  const auto doubling = static_cast<std::size_t>(std::bit_width(below)) - 1;
  const std::size_t eighth = (below >> (doubling - 3)) % kClassesPerDoubling;
  return (doubling - kSmallestDoubling) * kClassesPerDoubling + eighth;
}

std::size_t Slabs::bytes_of(std::size_t class_number) {
  const std::size_t doubling = kSmallestDoubling + class_number / kClassesPerDoubling;
  return (kClassesPerDoubling + 1 + class_number % kClassesPerDoubling) << (doubling - 3);
}

std::size_t Slabs::pieces_of(std::size_t class_number) {
  return class_number < kClassesPerDoubling ? kManyPieces : kFewPieces;
}

std::size_t Slabs::slab_bytes(std::size_t class_number) {
  return kHeadBytes + pieces_of(class_number) * (kPrefixBytes + bytes_of(class_number));
}

std::uint32_t Slabs::all_pieces(std::size_t class_number) {
  return (std::uint32_t{1} << pieces_of(class_number)) - 1;
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

// One with all its pieces free.
Slabs::Slab* Slabs::take_slab(std::size_t class_number) {
  Slab* slab = empty_[class_number].first;
  if (slab != nullptr) {
    remove(empty_[class_number], *slab);
    empty_bytes_ -= slab_bytes(class_number);
    least_empty_bytes_ = std::min(least_empty_bytes_, empty_bytes_);
    bytes_to_go_ = std::min(bytes_to_go_, empty_bytes_);
    return slab;
  }
  void* const memory = std::malloc(slab_bytes(class_number));
  if (memory == nullptr) return nullptr;
  return new (memory)
      Slab{nullptr, nullptr, all_pieces(class_number), static_cast<std::uint32_t>(class_number)};
}

void* Slabs::allocate(std::size_t bytes) {
  const std::size_t class_number = class_of(bytes);
  List& usable = usable_[class_number];
  Slab* slab = usable.first;
  if (slab == nullptr) {
    slab = take_slab(class_number);
    if (slab == nullptr) return nullptr;
    push_front(usable, *slab);
  }
  const auto number = static_cast<std::size_t>(std::countr_zero(slab->free_pieces));
  slab->free_pieces &= slab->free_pieces - 1;
  if (slab->free_pieces == 0) remove(usable, *slab);
  char* const prefix =
      reinterpret_cast<char*>(slab) + kHeadBytes + number * (kPrefixBytes + bytes_of(class_number));
  new (static_cast<void*>(prefix)) Slab* {slab};
  return prefix + kPrefixBytes;
}

void Slabs::free(void* piece) {
  char* const prefix = static_cast<char*>(piece) - kPrefixBytes;
  Slab& slab = **std::launder(reinterpret_cast<Slab**>(static_cast<void*>(prefix)));
  const std::size_t class_number = slab.class_number;
  const auto offset =
      static_cast<std::size_t>(prefix - reinterpret_cast<char*>(&slab)) - kHeadBytes;
  const std::uint32_t bit = std::uint32_t{1} << offset / (kPrefixBytes + bytes_of(class_number));
  CHECK((slab.free_pieces & bit) == 0);
  if (slab.free_pieces == 0) push_front(usable_[class_number], slab);
  slab.free_pieces |= bit;
  if (slab.free_pieces != all_pieces(class_number)) return;
  remove(usable_[class_number], slab);
  push_front(empty_[class_number], slab);
  empty_bytes_ += slab_bytes(class_number);
}

void Slabs::age() {
  bytes_to_go_ = least_empty_bytes_;
  least_empty_bytes_ = empty_bytes_;
}

// Those that were used longest ago, of the large classes first.
void Slabs::give_back(std::size_t bytes) {
  for (std::size_t number = kClasses; number > 0 && bytes_to_go_ > 0 && bytes > 0;) {
    List& empty = empty_[number - 1];
    Slab* const slab = empty.last;
    if (slab == nullptr) {
      --number;
      continue;
    }
    remove(empty, *slab);
    std::free(slab);
    const std::size_t gone = slab_bytes(number - 1);
    empty_bytes_ -= gone;
    least_empty_bytes_ = std::min(least_empty_bytes_, empty_bytes_);
    bytes_to_go_ -= std::min(bytes_to_go_, gone);
    bytes -= std::min(bytes, gone);
  }
}

}  // namespace haricot
