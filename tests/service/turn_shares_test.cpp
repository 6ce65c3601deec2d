#include "haricot/service/turn_shares.hpp"

#include <gtest/gtest.h>

#include "haricot/base/turn_limits.hpp"

namespace haricot {
namespace {

using namespace turn_limits;

class TurnSharesTest : public ::testing::Test {
 protected:
  void begin_reading(bool has_backlog = false) {
    shares.begin_turn();
    shares.begin_reading(has_backlog);
  }
  void count_busy(std::uint32_t sessions) {
    for (std::uint32_t i = 0; i < sessions; ++i) shares.count_busy();
  }

  std::uint64_t steps = 1'000;
  TurnShares shares{steps};
};

TEST_F(TurnSharesTest, ASessionAloneHasAWholeShare) {
  begin_reading();
  EXPECT_EQ(shares.share_of_read().left(), kStepsPerShare);
  shares.begin_backlog();
  EXPECT_EQ(shares.share_of_waiting().left(), kStepsPerShare);
}

TEST_F(TurnSharesTest, ReadSessionsHaveTheLeastShareIfOthersWait) {
  begin_reading(true);
  EXPECT_EQ(shares.share_of_read().left(), kStepsPerShareMin);
  shares.begin_backlog();
  EXPECT_EQ(shares.share_of_waiting().left(), kStepsPerShare);
}

TEST_F(TurnSharesTest, BusySessionsOfThisTurnAndTheLastDivideTheBudget) {
  begin_reading();
  count_busy(100);
  shares.begin_backlog();
  EXPECT_EQ(shares.share_of_waiting().left(), kStepsOfSessions / 100 - kStepsPerSend);
  begin_reading();
  EXPECT_EQ(shares.share_of_read().left(), kStepsOfSessions / 100 - kStepsPerSend);
  shares.begin_backlog();
  EXPECT_EQ(shares.share_of_waiting().left(), kStepsOfSessions / 100 - kStepsPerSend);
  count_busy(1'000'000);
  EXPECT_EQ(shares.share_of_waiting().left(), kStepsPerShareMin);
  begin_reading();
  begin_reading();
  EXPECT_EQ(shares.share_of_read().left(), kStepsPerShare);
}

TEST_F(TurnSharesTest, NoShareExceedsTheRestOfTheBudget) {
  begin_reading();
  steps += kStepsOfReading - 1'000;
  EXPECT_EQ(shares.share_of_read().left(), 1'000U);
  EXPECT_FALSE(shares.is_used_up());
  steps += 2'000;
  EXPECT_TRUE(shares.is_used_up());
  shares.begin_backlog();
  EXPECT_FALSE(shares.is_used_up());
  steps += kStepsOfSessions - 10;
  EXPECT_EQ(shares.share_of_waiting().left(), 10U);
}

TEST_F(TurnSharesTest, ACheapCommandNeverWaits) {
  begin_reading();
  steps += kStepsOfReading;
  EXPECT_EQ(shares.share_of_read().left(), kStepsOfCheap);
  EXPECT_TRUE(shares.admit(0));
  EXPECT_TRUE(shares.admit(kStepsOfCheap));
  EXPECT_FALSE(shares.admit(kStepsOfFirst + 1));
  steps += kStepsOfReading;
  EXPECT_TRUE(shares.admit(kStepsOfCheap));
}

TEST_F(TurnSharesTest, ACommandWaitsIfItsPriceExceedsTheRest) {
  begin_reading();
  steps += kStepsOfReading - 5'000;
  shares.share_of_read();
  EXPECT_TRUE(shares.admit(5'000));
  EXPECT_FALSE(shares.admit(5'001));
  shares.begin_backlog();
  steps += kStepsOfSessions - 600;
  EXPECT_TRUE(shares.admit(600));
  EXPECT_FALSE(shares.admit(601)) << "no session of the backlog was just read";
}

TEST_F(TurnSharesTest, TheFirstCommandOfAPartMayExceedTheBudget) {
  begin_reading();
  EXPECT_TRUE(shares.admit(10 * kStepsOfReading));
  ++steps;
  EXPECT_FALSE(shares.admit(10 * kStepsOfReading));
  shares.begin_backlog();
  EXPECT_TRUE(shares.admit(10 * kStepsOfSessions));
}

TEST_F(TurnSharesTest, FirstCommandsOfSessionsHaveABudgetOfTheirOwn) {
  begin_reading();
  steps += kStepsOfReading;
  std::uint32_t admitted = 0;
  for (;;) {
    shares.share_of_read();
    if (!shares.admit(kStepsOfFirst)) break;
    ++admitted;
    shares.end_first_command();
    EXPECT_FALSE(shares.admit(kStepsOfFirst)) << "it is the second one";
  }
  EXPECT_EQ(admitted, kStepsOfFirsts / kStepsOfFirst);
  begin_reading();
  steps += kStepsOfReading;
  shares.share_of_read();
  EXPECT_FALSE(shares.admit(kStepsOfFirst + 1));
  EXPECT_TRUE(shares.admit(kStepsOfFirst));
}

}  // namespace
}  // namespace haricot
