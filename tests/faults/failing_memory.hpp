// Memory that runs out on demand: every allocation of the code under test is counted, whichever way
// it asks, and any of them can be made to fail.
//
// The program that links this has its own operator new and delete; its malloc, realloc and free are
// led here by the linker (--wrap). Only what happens while an UnderTest exists is counted.

#pragma once

#include <cstdint>

namespace haricot::faults {

struct MemoryPlan {
  std::uint64_t first = 0;  // The allocation that fails, counted from 1. 0: none does.
  std::uint64_t last = 0;   // The last one that fails.
};

// Counts from the beginning again.
void plan_memory(const MemoryPlan& plan);
// No allocation fails any more.
void calm_memory();
// How many allocations were asked for under test, and how many of them did fail.
std::uint64_t allocations_asked();
std::uint64_t allocations_failed();
// How many came by malloc or realloc.
std::uint64_t mallocs_asked();
// How many are held in the whole program.
std::int64_t live_allocations();

// What runs while it exists is under test.
class UnderTest {
 public:
  UnderTest();
  ~UnderTest();
  UnderTest(const UnderTest&) = delete;
  UnderTest& operator=(const UnderTest&) = delete;

 private:
  bool before_;
};

// What runs while it exists is not, as it takes the part of the world around.
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
