#include "failing_memory.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

// The names that the linker gives to the real ones.
extern "C" {
void* __real_malloc(std::size_t bytes);
void* __real_realloc(void* memory, std::size_t bytes);
void __real_free(void* memory);
void* __wrap_malloc(std::size_t bytes);
void* __wrap_realloc(void* memory, std::size_t bytes);
void __wrap_free(void* memory);
// Read by AddressSanitizer, where there is one: a malloc of an absurd size is to fail, not to end
// the program.
__attribute__((visibility("default"), used)) const char* __asan_default_options();
const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
}

namespace haricot::faults {
namespace {

MemoryPlan plan;
bool is_under_test = false;
std::uint64_t asked = 0;
std::uint64_t failed = 0;
std::uint64_t by_malloc = 0;
std::int64_t held = 0;

bool is_to_fail() {
  if (!is_under_test) return false;
  ++asked;
  const bool fails = plan.first != 0 && asked >= plan.first && asked <= plan.last;
  if (fails) ++failed;
  return fails;
}

void* allocate(std::size_t bytes) noexcept {
  if (is_to_fail()) return nullptr;
  void* memory = __real_malloc(bytes == 0 ? 1 : bytes);
  if (memory != nullptr) ++held;
  return memory;
}

void* allocate_or_throw(std::size_t bytes) {
  void* memory = allocate(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void release(void* memory) noexcept {
  if (memory != nullptr) --held;
  __real_free(memory);
}

}  // namespace

void plan_memory(const MemoryPlan& wanted) {
  plan = wanted;
  asked = failed = by_malloc = 0;
}
void calm_memory() {
  plan = {};
}
std::uint64_t allocations_asked() {
  return asked;
}
std::uint64_t allocations_failed() {
  return failed;
}
std::uint64_t mallocs_asked() {
  return by_malloc;
}
std::int64_t allocations_held() {
  return held;
}

UnderTest::UnderTest() : before_(std::exchange(is_under_test, true)) {}
UnderTest::~UnderTest() {
  is_under_test = before_;
}
Outside::Outside() : before_(std::exchange(is_under_test, false)) {}
Outside::~Outside() {
  is_under_test = before_;
}

}  // namespace haricot::faults

using haricot::faults::allocate;
using haricot::faults::allocate_or_throw;
using haricot::faults::release;

void* __wrap_malloc(std::size_t bytes) {
  if (haricot::faults::is_under_test) ++haricot::faults::by_malloc;
  return allocate(bytes);
}
void* __wrap_realloc(void* memory, std::size_t bytes) {
  if (haricot::faults::is_under_test) ++haricot::faults::by_malloc;
  if (haricot::faults::is_to_fail()) return nullptr;
  void* moved = __real_realloc(memory, bytes);
  if (memory == nullptr && moved != nullptr) ++haricot::faults::held;
  return moved;
}
void __wrap_free(void* memory) {
  release(memory);
}

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
