#include "support/allocations.hpp"

#include <cstdlib>

#include "support/replaced_new.hpp"

namespace {

std::int64_t held = 0;
std::int64_t made = 0;
std::int64_t left_to_succeed = -1;  // Negative: no limit.
bool has_failed = false;

}  // namespace

namespace haricot::test {

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

void release(void* memory) noexcept {
  if (memory != nullptr) --held;
  std::free(memory);
}

std::int64_t live_allocations() {
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

}  // namespace haricot::test
