#include "haricot/base/turn_limits.hpp"

#include <gtest/gtest.h>

namespace haricot {
namespace {

TEST(Budget, IsUsedUpByEachKindOfWork) {
  std::uint64_t done = 7;
  const Budget budget(done, 10);
  done += 4;
  EXPECT_EQ(budget.left(), 6U);
  done += 5;
  EXPECT_FALSE(budget.is_used_up());
  ++done;
  EXPECT_TRUE(budget.is_used_up());
  done += 100;
  EXPECT_EQ(budget.left(), 0U);
}

TEST(Budget, APartIsUsedUpWithItsWhole) {
  std::uint64_t done = 0;
  const Budget whole(done, 10);
  const Budget part = whole.part(4);
  const Budget all = whole.part(100);
  done = 4;
  EXPECT_TRUE(part.is_used_up());
  EXPECT_FALSE(whole.is_used_up());
  EXPECT_EQ(whole.part(100).left(), 6U);
  done = 10;
  EXPECT_TRUE(all.is_used_up());
  EXPECT_TRUE(whole.part(1).is_used_up());
}

TEST(Budget, OfAllIsNeverUsedUp) {
  std::uint64_t done = 1'000;
  const Budget budget(done, Budget::kAll);
  done = Budget::kAll - 1;
  EXPECT_FALSE(budget.is_used_up());
}

}  // namespace
}  // namespace haricot
