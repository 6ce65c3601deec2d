#include "haricot/service/costly_work.hpp"

#include <gtest/gtest.h>

namespace haricot {
namespace {

constexpr CostlyWork::Work kLong = CostlyWork::kPerTurn / 2 - CostlyWork::kShort;

// How many commands of the price run until one is put off.
std::uint32_t taken(CostlyWork& work, CostlyWork::Work price) {
  std::uint32_t taken = 0;
  while (taken < 1000 && work.take(price)) ++taken;
  return taken;
}

TEST(CostlyWorkTest, LongOnesLeaveThePartOfTheShortOnes) {
  CostlyWork work;
  work.begin_turn();
  EXPECT_EQ(taken(work, kLong), 2U);
  EXPECT_TRUE(work.is_awaited());
  EXPECT_GE(taken(work, CostlyWork::kShort), CostlyWork::kForShort / CostlyWork::kShort);
  EXPECT_TRUE(work.take(CostlyWork::kCheap));
}

TEST(CostlyWorkTest, WhoWasPutOffComesFirstInTheNextTurn) {
  CostlyWork work;
  work.begin_turn();
  EXPECT_EQ(taken(work, kLong), 2U);
  work.begin_backlog();
  EXPECT_FALSE(work.take(kLong)) << "the backlog of the same turn has no more";
  work.begin_turn();
  EXPECT_FALSE(work.take(kLong));
  EXPECT_TRUE(work.take(CostlyWork::kShort));
  work.begin_backlog();
  EXPECT_FALSE(work.is_awaited());
  EXPECT_EQ(taken(work, kLong), 2U);
}

TEST(CostlyWorkTest, TheFirstLongOneRunsHoweverDearItIs) {
  CostlyWork work;
  work.begin_turn();
  EXPECT_TRUE(work.take(2 * CostlyWork::kPerTurn));
  EXPECT_FALSE(work.take(2 * CostlyWork::kPerTurn));
  work.begin_turn();
  EXPECT_FALSE(work.take(2 * CostlyWork::kShort));
  work.begin_backlog();
  EXPECT_TRUE(work.take(2 * CostlyWork::kPerTurn));
}

TEST(CostlyWorkTest, VeryManyShortOnesShareATurn) {
  CostlyWork work;
  work.begin_turn();
  EXPECT_LE(taken(work, CostlyWork::kShort),
            (CostlyWork::kPerTurn + CostlyWork::kForShort) / CostlyWork::kShort);
}

}  // namespace
}  // namespace haricot
