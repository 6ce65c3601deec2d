#include "base/allocations.hpp"

#include <cstdlib>
#include <new>

namespace {

std::int64_t held = 0;
std::int64_t made = 0;
std::int64_t left_to_succeed = -1;  // Negative: all of them do.
bool has_failed = false;

void* allocate(std::size_t bytes) noexcept {
  if (left_to_succeed == 0) {
    has_failed = true;
    return nullptr;
  }
  if (left_to_succeed > 0) --left_to_succeed;
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) return nullptr;
  ++held;
  ++made;
  return memory;
}

void* allocate_or_throw(std::size_t bytes) {
  void* memory = allocate(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void release(void* memory) noexcept {
  if (memory != nullptr) --held;
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) {
  return allocate_or_throw(bytes);
}
void* operator new[](std::size_t bytes) {
  return allocate_or_throw(bytes);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate(bytes);
}
void operator delete(void* memory) noexcept {
  release(memory);
}
void operator delete[](void* memory) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  release(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  release(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  release(memory);
}

// Read by AddressSanitizer, where there is one: a malloc of an absurd size is to fail, not to end
// the program.
extern "C" __attribute__((visibility("default"), used)) const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}

namespace haricot::testing {

std::int64_t held_allocations() {
  return held;
}

std::int64_t made_allocations() {
  return made;
}

AllocationFailure::AllocationFailure(std::int64_t allocations_that_succeed) {
  left_to_succeed = allocations_that_succeed;
  has_failed = false;
}

AllocationFailure::~AllocationFailure() {
  left_to_succeed = -1;
}

bool AllocationFailure::happened() const {
  return has_failed;
}

}  // namespace haricot::testing
