#include "failing_memory.hpp"

#include <cstddef>
#include <utility>

#include "support/replaced_new.hpp"

// Names that the linker gives to the real functions.
extern "C" {
void* __real_malloc(std::size_t bytes);
void* __real_realloc(void* memory, std::size_t bytes);
void __real_free(void* memory);
void* __wrap_malloc(std::size_t bytes);
void* __wrap_realloc(void* memory, std::size_t bytes);
void __wrap_free(void* memory);
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
std::int64_t live_allocations() {
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

void* haricot::test::allocate(std::size_t bytes) noexcept {
  if (faults::is_to_fail()) return nullptr;
  void* memory = __real_malloc(bytes == 0 ? 1 : bytes);
  if (memory != nullptr) ++faults::held;
  return memory;
}
void haricot::test::release(void* memory) noexcept {
  if (memory != nullptr) --faults::held;
  __real_free(memory);
}

void* __wrap_malloc(std::size_t bytes) {
  if (haricot::faults::is_under_test) ++haricot::faults::by_malloc;
  return haricot::test::allocate(bytes);
}
void* __wrap_realloc(void* memory, std::size_t bytes) {
  if (haricot::faults::is_under_test) ++haricot::faults::by_malloc;
  if (haricot::faults::is_to_fail()) return nullptr;
  void* moved = __real_realloc(memory, bytes);
  if (memory == nullptr && moved != nullptr) ++haricot::faults::held;
  return moved;
}
void __wrap_free(void* memory) {
  haricot::test::release(memory);
}
