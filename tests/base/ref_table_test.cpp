#include "haricot/base/ref_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "support/allocations.hpp"

namespace haricot {
namespace {

enum class Ref : std::uint32_t {};
using Table = RefTable<int, Ref>;

TEST(RefTable, FindsAddedElements) {
  Table table;
  int one = 1;
  int two = 2;
  const Ref first = table.add(&one);
  const Ref second = table.add(&two);
  EXPECT_EQ(table[first], &one);
  EXPECT_EQ(table[second], &two);
}

TEST(RefTable, NumberZeroIsNeverGivenOutAndNoneTwice) {
  Table table;
  int thing = 0;
  std::set<Ref> refs;
  for (int i = 0; i < 2000; ++i) refs.insert(table.add(&thing));
  EXPECT_EQ(refs.size(), 2000u);
  EXPECT_EQ(refs.count(Ref{}), 0u);
}

TEST(RefTable, ADroppedNumberIsUsedAgain) {
  Table table;
  int one = 1;
  int two = 2;
  const Ref first = table.add(&one);
  const Ref kept = table.add(&one);
  table.drop(first);
  EXPECT_EQ(table[first], nullptr);
  EXPECT_EQ(table.add(&two), first);
  EXPECT_EQ(table[first], &two);
  EXPECT_EQ(table[kept], &one);
}

TEST(RefTable, AnEmptiedNumberStaysTakenUntilItIsDropped) {
  Table table;
  int one = 1;
  const Ref first = table.add(&one);
  table.empty(first);
  EXPECT_EQ(table[first], nullptr);
  for (int i = 0; i < 100; ++i) ASSERT_NE(table.add(&one), first);
  table.drop(first);
  EXPECT_EQ(table.add(&one), first);
}

TEST(RefTable, GivesItsMemoryBackWhenNoNumberIsTaken) {
  const std::int64_t before = test::live_allocations();
  Table table;
  int thing = 0;
  for (const bool from_first : {true, false}) {
    std::vector<Ref> refs;
    for (int i = 0; i < 5000; ++i) refs.push_back(table.add(&thing));
    if (!from_first) std::reverse(refs.begin(), refs.end());
    for (const Ref ref : refs) {
      ASSERT_EQ(table[ref], &thing);
      table.drop(ref);
    }
    EXPECT_EQ(table.end(), 0U);
  }
  EXPECT_EQ(test::live_allocations(), before);
}

TEST(RefTable, AddingWithoutMemoryGivesNoReference) {
  Table table;
  int one = 1;
  // The table fills up until it has to grow, whatever its size is then.
  for (int i = 0; i < 1500; ++i) {
    Ref ref{};
    bool failed = false;
    {
      const test::AllocationFailure failure;
      ref = table.add(&one);
      failed = failure.happened();
    }
    ASSERT_EQ(ref == Ref{}, failed);
    if (failed) ref = table.add(&one);
    ASSERT_NE(ref, Ref{});
    ASSERT_EQ(table[ref], &one);
  }
}

TEST(RefTable, ANumberDroppedWithoutMemoryIsNotUsedAgain) {
  Table table;
  int one = 1;
  const Ref first = table.add(&one);
  ASSERT_NE(table.add(&one), Ref{});
  {
    const test::AllocationFailure failure;
    table.drop(first);
  }
  EXPECT_EQ(table[first], nullptr);
  EXPECT_NE(table.add(&one), first);
}

}  // namespace
}  // namespace haricot
