// Memory that runs out on demand, and is counted.
//
// Test programs that link this have their own operator new and delete: these count the allocations,
// and fail while an AllocationFailure exists. malloc itself is unchanged.

#pragma once

#include <cstddef>
#include <cstdint>

namespace haricot::test {

// Returns the number of current allocations of operator new.
std::int64_t live_allocations();
// Returns the number of all allocations so far, freed or not.
std::int64_t made_allocations();

// While it exists, every allocation of operator new fails, except the first few. Must not be
// nested. GoogleTest allocates, so none of it may be used meanwhile.
class AllocationFailure {
 public:
  explicit AllocationFailure(std::int64_t allocations_that_succeed = 0);
  ~AllocationFailure();
  AllocationFailure(const AllocationFailure&) = delete;
  AllocationFailure& operator=(const AllocationFailure&) = delete;

  // Returns true if an allocation has failed since the construction.
  bool happened() const;
};

}  // namespace haricot::test
