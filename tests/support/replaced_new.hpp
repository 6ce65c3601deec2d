// The operator new and delete of a test program that wants a say in them.
//
// A program that links replaced_new.cpp gets all its memory from `allocate`, and gives it back to
// `release`; it defines both.

#pragma once

#include <cstddef>

namespace haricot::test {

// Null where it fails.
void* allocate(std::size_t bytes) noexcept;
void release(void* memory) noexcept;

}  // namespace haricot::test
