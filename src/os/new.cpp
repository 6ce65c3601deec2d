// The operator new and delete of haricotd: all memory of the main thread comes from Memory, which
// counts it and returns it to the system.
//
// Other threads (that of Syncer) get uncounted memory. If they free memory of the main thread, it
// is put on a list, which the main thread frees at its next allocation.

#include "os/process.hpp"

#include <atomic>
#include <cstddef>
#include <cstring>
#include <new>

#include "haricot/base/memory.hpp"

namespace haricot::os {
namespace {

constinit thread_local bool is_main_thread = false;
constinit std::atomic<void*> left_by_others = nullptr;

void leave(void* piece) {
  void* next = left_by_others.load(std::memory_order_relaxed);
  do {
    std::memcpy(piece, static_cast<const void*>(&next), sizeof next);
  } while (!left_by_others.compare_exchange_weak(next, piece, std::memory_order_release,
                                                 std::memory_order_relaxed));
}

[[gnu::cold, gnu::noinline]] void free_what_others_left() {
  void* piece = left_by_others.exchange(nullptr, std::memory_order_acquire);
  while (piece != nullptr) {
    void* next = nullptr;
    std::memcpy(static_cast<void*>(&next), piece, sizeof next);
    Memory::free(piece);
    piece = next;
  }
}

void* take(std::size_t bytes) noexcept {
  if (!is_main_thread) [[unlikely]]
    return Memory::allocate_uncounted(bytes);
  if (left_by_others.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
    free_what_others_left();
  return Memory::allocate(bytes);
}

void give(void* piece) noexcept {
  if (is_main_thread) [[likely]] {
    Memory::free(piece);
  } else if (piece != nullptr) {
    Memory::is_uncounted(piece) ? Memory::free_uncounted(piece) : leave(piece);
  }
}

void* take_or_throw(std::size_t bytes) {
  void* const piece = take(bytes);
  if (piece == nullptr) throw std::bad_alloc();
  return piece;
}

}  // namespace

void count_memory() {
  is_main_thread = true;
  Memory::use_slabs();
}

}  // namespace haricot::os

void* operator new(std::size_t bytes) {
  return haricot::os::take_or_throw(bytes);
}
void* operator new[](std::size_t bytes) {
  return haricot::os::take_or_throw(bytes);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return haricot::os::take(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return haricot::os::take(bytes);
}
void operator delete(void* piece) noexcept {
  haricot::os::give(piece);
}
void operator delete[](void* piece) noexcept {
  haricot::os::give(piece);
}
void operator delete(void* piece, std::size_t) noexcept {
  haricot::os::give(piece);
}
void operator delete[](void* piece, std::size_t) noexcept {
  haricot::os::give(piece);
}
void operator delete(void* piece, const std::nothrow_t&) noexcept {
  haricot::os::give(piece);
}
void operator delete[](void* piece, const std::nothrow_t&) noexcept {
  haricot::os::give(piece);
}
