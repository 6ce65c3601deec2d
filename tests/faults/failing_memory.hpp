// Memory that runs out on demand: every allocation of the code under test is counted, and can be
// made to fail, whichever function it calls.
//
// A program that links this has its own operator new and delete; the linker redirects its malloc,
// realloc and free (--wrap). Only allocations while an UnderTest exists count.

#pragma once

#include <cstdint>

namespace haricot::faults {

struct MemoryPlan {
  std::uint64_t first = 0;  // First allocation that fails, counted from 1. 0: none.
  std::uint64_t last = 0;   // Last allocation that fails.
};

// Restarts the count.
void plan_memory(const MemoryPlan& plan);
// Ends the failures.
void calm_memory();
// Return the number of allocations under test, and of those that failed.
std::uint64_t allocations_asked();
std::uint64_t allocations_failed();
// Returns the number of calls of malloc and realloc.
std::uint64_t mallocs_asked();
// Returns the number of current allocations in the whole program.
std::int64_t live_allocations();

// While it exists, the code that runs is under test.
class UnderTest {
 public:
  UnderTest();
  ~UnderTest();
  UnderTest(const UnderTest&) = delete;
  UnderTest& operator=(const UnderTest&) = delete;

 private:
  bool before_;
};

// While it exists, the code that runs is not under test, because it stands for the environment.
class Outside {
 public:
  Outside();
  ~Outside();
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;

 private:
  bool before_;
};

}  // namespace haricot::faults
