// Memory that runs out on demand, and memory that is counted.
//
// The test programs that link this have their own operator new and delete: they count what is held,
// and let allocations fail while an AllocationFailure exists. malloc itself is left alone.

#pragma once

#include <cstddef>
#include <cstdint>

namespace haricot::test {

// How many allocations of operator new are held now.
std::int64_t live_allocations();
// How many there have been so far, freed or not.
std::int64_t made_allocations();

// While it exists, every allocation of operator new fails, but for the first few. Only one at a
// time. Nothing of GoogleTest may be used meanwhile, as it allocates.
class AllocationFailure {
 public:
  explicit AllocationFailure(std::int64_t allocations_that_succeed = 0);
  ~AllocationFailure();
  AllocationFailure(const AllocationFailure&) = delete;
  AllocationFailure& operator=(const AllocationFailure&) = delete;

  // Whether an allocation has failed since the beginning.
  bool happened() const;
};

}  // namespace haricot::test
