// The operator new and delete of a test program that controls its allocations.
//
// A program that links replaced_new.cpp gets all its memory from `allocate` and frees it with
// `release`; it defines both.

#pragma once

#include <cstddef>

namespace haricot::test {

// Returns null on failure.
void* allocate(std::size_t bytes) noexcept;
void release(void* memory) noexcept;

}  // namespace haricot::test
