#include "haricot/base/memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace haricot {

// Prefix of a piece outside of the slabs. `slab` is null; a piece of a slab has the slab's address
// there.
struct Memory::Prefix {
  std::size_t counted_bytes;
  void* slab;
};

constinit Slabs Memory::slabs_;
constinit KeptPieces Memory::kept_;
constinit bool Memory::uses_slabs_ = false;
constinit std::size_t Memory::mapped_bytes_ = 0;
constinit std::size_t Memory::limit_ = Memory::kNoLimit;
constinit std::size_t Memory::ceiling_ = Memory::kNoLimit;
constinit bool Memory::has_refused_ = false;
constinit bool Memory::was_short_ = false;

void Memory::Bounded::enter(std::size_t share_beyond) {
  ceiling_ = limit_ + kOwnBytes + (share_beyond > 0 ? limit_ / share_beyond : 0);
  limit_slabs();
}

void Memory::limit_slabs() {
  slabs_.limit(ceiling_ - std::min(ceiling_, mapped_bytes_));
}

void Memory::Bounded::leave() {
  ceiling_ = kNoLimit;
  slabs_.limit(kNoLimit);
}

// A sanitizer sees more if malloc serves each piece.
void Memory::use_slabs() {
#if !defined(__SANITIZE_ADDRESS__)
  uses_slabs_ = true;
#endif
}

std::size_t Memory::used_bytes() {
  if (limit_ == kNoLimit) return 0;
  const std::size_t all = slabs_.taken_bytes() + mapped_bytes_ - kept_.bytes();
  return all - std::min(all, kOwnBytes);
}

bool Memory::has_reached_limit() {
  return slabs_.taken_bytes() + mapped_bytes_ >= limit_ + kOwnBytes;
}

Memory::Prefix* Memory::prefix_of(void* piece) {
  return std::launder(
      reinterpret_cast<Prefix*>(static_cast<void*>(static_cast<char*>(piece) - sizeof(Prefix))));
}

void* Memory::allocate_by_itself(std::size_t bytes) {
  if (bytes > SIZE_MAX - sizeof(Prefix)) return nullptr;
  const std::size_t all = bytes + sizeof(Prefix);
  if (!Slabs::takes(bytes)) {
    const KeptPieces::Piece kept = kept_.take(all);
    if (kept.memory != nullptr) return new (kept.memory) Prefix{kept.bytes, nullptr} + 1;
  }
  if (ceiling_ != kNoLimit) [[unlikely]] {
    const std::size_t taken = slabs_.taken_bytes() + mapped_bytes_;
    if (taken > ceiling_ || ceiling_ - taken < all) return nullptr;
  }
  void* const memory = std::malloc(all);
  if (memory == nullptr) return nullptr;
  mapped_bytes_ += all;
  return new (memory) Prefix{all, nullptr} + 1;
}

void* Memory::try_to_allocate(std::size_t bytes) {
  return uses_slabs_ && Slabs::takes(bytes) ? slabs_.allocate(bytes) : allocate_by_itself(bytes);
}

void* Memory::allocate(std::size_t bytes) {
  void* const piece = try_to_allocate(bytes);
  return piece != nullptr ? piece : allocate_at_last(bytes);
}

void* Memory::allocate_at_last(std::size_t bytes) {
  void* piece = nullptr;
  if (kept_bytes() > 0) {
    give_all_back();
    if (ceiling_ != kNoLimit) limit_slabs();
    piece = try_to_allocate(bytes);
  }
  if (piece == nullptr) (ceiling_ != kNoLimit ? has_refused_ : was_short_) = true;
  return piece;
}

void Memory::free(void* piece) {
  if (piece == nullptr) return;
  Prefix* const prefix = prefix_of(piece);
  if (prefix->slab != nullptr) {
    slabs_.free(piece);
    return;
  }
  const std::size_t bytes = prefix->counted_bytes;
  if (bytes == 0) [[unlikely]]  // From another thread.
    return std::free(prefix);
  if (!Slabs::takes(bytes - sizeof(Prefix))) {
    kept_.keep(prefix, bytes);
    return;
  }
  mapped_bytes_ -= bytes;
  std::free(prefix);
}

void* Memory::allocate_uncounted(std::size_t bytes) {
  if (bytes > SIZE_MAX - sizeof(Prefix)) return nullptr;
  void* const memory = std::malloc(bytes + sizeof(Prefix));
  return memory == nullptr ? nullptr : new (memory) Prefix{0, nullptr} + 1;
}

bool Memory::is_uncounted(const void* piece) {
  const Prefix* const prefix = prefix_of(const_cast<void*>(piece));
  return prefix->slab == nullptr && prefix->counted_bytes == 0;
}

void Memory::free_uncounted(void* piece) {
  std::free(prefix_of(piece));
}

void Memory::age() {
  slabs_.age();
  kept_.age();
}

void Memory::give_back(std::size_t bytes_min, std::size_t share) {
  const std::size_t to_go = bytes_to_go();
  if (to_go == 0) return;
  const std::size_t bytes = std::max(bytes_min, to_go / share);
  const std::size_t gone = kept_.give_back(bytes);
  mapped_bytes_ -= gone;
  if (gone < bytes) slabs_.give_back(bytes - gone);
}

void Memory::give_all_back() {
  age();
  age();
  give_back(bytes_to_go(), 1);
}

}  // namespace haricot
