#include "haricot/base/paged_array.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "support/allocations.hpp"
#include "support/random.hpp"

namespace haricot {
namespace {

using test::AllocationFailure;
using test::live_allocations;
using test::made_allocations;
using Array = PagedArray<std::uint64_t>;

void fill(Array& array, std::uint32_t size) {
  while (array.size() < size) {
    ASSERT_TRUE(array.allocate_one());
    array.push_back(array.size());
  }
}

TEST(PagedArray, ANewOneHoldsNoMemory) {
  const std::int64_t before = live_allocations();
  const Array array;
  EXPECT_TRUE(array.empty());
  EXPECT_EQ(array.size(), 0u);
  EXPECT_EQ(live_allocations(), before);
}

TEST(PagedArray, KeepsElementsOverManyPages) {
  Array array;
  fill(array, 5 * Array::kPageElements + 3);
  for (std::uint32_t i = 0; i < array.size(); ++i) ASSERT_EQ(array[i], i);
  EXPECT_EQ(array.back(), array.size() - 1u);
}

TEST(PagedArray, AnAssignmentExchangesTheTwo) {
  Array one;
  Array other;
  fill(one, 3);
  fill(other, 2 * Array::kPageElements);
  one = std::move(other);
  EXPECT_EQ(one.size(), 2 * Array::kPageElements);
  EXPECT_EQ(other.size(), 3U);
  fill(one, 3 * Array::kPageElements);
  fill(other, 9);
  EXPECT_EQ(one.back(), one.size() - 1U);
}

TEST(PagedArray, AFullPageStaysWhereItIsWhenTheArrayGrows) {
  Array array;
  fill(array, Array::kPageElements);
  const std::uint64_t* first = &array[0];
  fill(array, 40 * Array::kPageElements);
  EXPECT_EQ(&array[0], first);
}

TEST(PagedArray, GrowsByOnePageAtATime) {
  Array array;
  fill(array, 64 * Array::kPageElements);  // Far from the sizes at which the directory grows.
  fill(array, 65 * Array::kPageElements);
  const std::int64_t before = made_allocations();
  fill(array, 66 * Array::kPageElements);
  EXPECT_EQ(made_allocations() - before, 1);
}

TEST(PagedArray, GivesPagesBackAsItShrinks) {
  Array array;
  fill(array, 1);
  const std::int64_t small = live_allocations();
  fill(array, 20 * Array::kPageElements);
  EXPECT_EQ(live_allocations(), small + 19);
  while (!array.empty()) array.pop_back();
  EXPECT_LE(live_allocations(), small + 1);
}

TEST(PagedArray, SwingingAroundTheBorderOfAPageDoesNotAllocate) {
  Array array;
  fill(array, 3 * Array::kPageElements + 1);
  const std::int64_t before = made_allocations();
  for (int i = 0; i < 100; ++i) {
    array.pop_back();
    array.pop_back();
    fill(array, 3 * Array::kPageElements + 1);
  }
  EXPECT_EQ(made_allocations(), before);
}

TEST(PagedArray, ReservedRoomSurvivesPops) {
  for (const std::uint32_t size : {1u, 4u, 5u, 511u, 512u, 513u, 1024u, 1537u}) {
    Array array;
    fill(array, size);
    ASSERT_TRUE(array.allocate_one());
    while (!array.empty()) {
      array.pop_back();
      const std::int64_t before = made_allocations();
      array.push_back(1);  // Ends the program if there is no room.
      ASSERT_EQ(made_allocations(), before);
      array.pop_back();
    }
  }
}

TEST(PagedArray, TrimmingAnEmptyOneGivesItsMemoryBack) {
  const std::int64_t before = live_allocations();
  Array array;
  fill(array, 100);
  array.trim_if_empty();
  EXPECT_EQ(array.size(), 100u);
  while (!array.empty()) array.pop_back();
  array.trim_if_empty();
  EXPECT_EQ(live_allocations(), before);
  fill(array, 10);
  EXPECT_EQ(array.back(), 9u);
}

TEST(PagedArray, TrimKeepsRoomForMoreElements) {
  PagedArray<int> array;
  ASSERT_TRUE(array.allocate(4 * Array::kPageElements));
  const std::uint32_t more = 2 * Array::kPageElements;
  for (int i = 0; i < 10; ++i) array.trim(more);
  EXPECT_GE(array.capacity(), more);
  EXPECT_LT(array.capacity(), more + 2 * Array::kPageElements);
  for (int i = 0; i < 10; ++i) array.trim(0);
  EXPECT_LT(array.capacity(), 10U);
}

TEST(PagedArray, TrimmingKeepsTheFirstFewSlotsOfASmallOne) {
  Array array;
  fill(array, 1);
  array.pop_back();
  const std::int64_t before = made_allocations();
  array.trim_if_empty();
  fill(array, 1);
  EXPECT_EQ(made_allocations(), before);
}

TEST(PagedArray, MovingLeavesAnEmptyOneBehindThatCanBeUsed) {
  Array from;
  fill(from, 1000);
  Array to(std::move(from));
  EXPECT_EQ(to.size(), 1000u);
  EXPECT_EQ(to[999], 999u);
  EXPECT_TRUE(from.empty());  // NOLINT(bugprone-use-after-move): the test is about it.
  fill(from, 10);
  EXPECT_EQ(from[9], 9u);
  EXPECT_EQ(to[9], 9u);
}

// At every size at which the array allocates, each of its allocations fails once.
TEST(PagedArray, AFailedReserveChangesNothing) {
  for (const std::uint32_t size : {0u, 4u, 8u, 256u, 512u, 1024u, 1536u, 2048u, 4096u}) {
    for (const int succeeding : {0, 1}) {
      Array array;
      fill(array, size);
      bool reserved = true;
      bool failed = false;
      {
        const AllocationFailure failure(succeeding);
        reserved = array.allocate_one();
        failed = failure.happened();
      }
      ASSERT_EQ(reserved, !failed) << size;
      ASSERT_EQ(array.size(), size);
      for (std::uint32_t i = 0; i < size; ++i) ASSERT_EQ(array[i], i);
      fill(array, size + 1);
      ASSERT_EQ(array.back(), size);
    }
  }
}

TEST(PagedArrayDeathTest, PushingWithoutRoomEndsTheProgram) {
  Array array;
  EXPECT_DEATH(array.push_back(1), "capacity");
}

TEST(PagedArrayDeathTest, PoppingFromAnEmptyOneEndsTheProgram) {
  Array array;
  EXPECT_DEATH(array.pop_back(), "size_ > 0");
}

TEST(PagedArray, BehavesLikeAVector) {
  test::Random random;
  Array array;
  std::vector<std::uint64_t> model;
  for (int phase = 0; phase < 60; ++phase) {
    const std::uint64_t target = random.below(3000);
    while (model.size() != target) {
      if (model.size() < target) {
        ASSERT_TRUE(array.allocate_one());
        model.push_back(random.bits());
        array.push_back(model.back());
      } else {
        array.pop_back();
        model.pop_back();
      }
    }
    if (random.one_in(4)) array.trim_if_empty();
    ASSERT_EQ(array.size(), model.size());
    for (std::uint32_t i = 0; i < array.size(); ++i) ASSERT_EQ(array[i], model[i]);
  }
}

}  // namespace
}  // namespace haricot
