#include "haricot/base/check.hpp"

#include <gtest/gtest.h>

namespace haricot {
namespace {

TEST(Check, ATrueConditionIsPassedOver) {
  int evaluated = 0;
  CHECK(++evaluated == 1);
  EXPECT_EQ(evaluated, 1);
}

TEST(CheckDeathTest, AFalseConditionEndsTheProgramAndNamesItself) {
  const int three = 3;
  EXPECT_DEATH(CHECK(three == 4), "check_test.cpp:.*three == 4");
}

TEST(Check, IsOneStatementInABranchWithoutBraces) {
  bool reached = false;
  if (!reached)
    CHECK(true);
  else
    reached = true;
  EXPECT_FALSE(reached);
}

}  // namespace
}  // namespace haricot
