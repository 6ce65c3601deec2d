#include "haricot/base/memory_cushion.hpp"

#include <gtest/gtest.h>

#include <cstddef>

#include "support/allocations.hpp"

namespace haricot {
namespace {

using test::AllocationFailure;
using test::live_allocations;

TEST(MemoryCushion, IsThereFromTheStart) {
  MemoryCushion cushion;
  bool held = false;
  {
    const AllocationFailure failure;
    held = cushion.fill();
  }
  EXPECT_TRUE(held);
}

TEST(MemoryCushion, GivesAllOfItUpAndTakesItAgainWhenThereIsMemory) {
  const auto before = live_allocations();
  MemoryCushion cushion;
  const auto with_it = live_allocations();
  EXPECT_GT(with_it, before);
  cushion.give_up();
  EXPECT_EQ(live_allocations(), before);
  bool held = true;
  {
    const AllocationFailure failure(2);  // Not enough for all pieces.
    held = cushion.fill();
  }
  EXPECT_FALSE(held);
  EXPECT_TRUE(cushion.fill());
  EXPECT_EQ(live_allocations(), with_it);
  EXPECT_TRUE(cushion.fill());
  EXPECT_EQ(live_allocations(), with_it);
}

TEST(MemoryCushion, WithoutMemoryForItAtTheStartItIsTakenLater) {
  alignas(MemoryCushion) std::byte place[sizeof(MemoryCushion)];
  MemoryCushion* cushion = nullptr;
  bool held = true;
  {
    const AllocationFailure failure;
    cushion = new (place) MemoryCushion;
    held = cushion->fill();
  }
  EXPECT_FALSE(held);
  EXPECT_TRUE(cushion->fill());
  cushion->~MemoryCushion();
}

}  // namespace
}  // namespace haricot
