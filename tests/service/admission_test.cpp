#include "haricot/service/admission.hpp"

#include <gtest/gtest.h>

#include <string>

#include "haricot/base/turn_limits.hpp"
#include "support/engine_world.hpp"

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

using namespace turn_limits;

class Prices : public ::testing::Test {
 protected:
  std::uint64_t price(const Client& client, std::string_view line) {
    Command command;
    EXPECT_EQ(parse_command(line, command), ParseResult::ok) << line;
    return price_of(world.engine, client, command);
  }
  void watch(Client& client, int tubes) {
    for (int i = 0; i < tubes; ++i) {
      EXPECT_EQ(world.engine.watch(client, "t" + std::to_string(i)), Outcome::done);
    }
  }

  test::World world;
};

TEST_F(Prices, AreLowInASmallServer) {
  Client& client = world.connect();
  const JobId id = world.put(client);
  ASSERT_EQ(world.reserve(client), id);
  for (const std::string_view line :
       {"use t", "watch t", "peek 1", "kick 1000000", "touch 1", "stats", "stats-tube default",
        "list-tube-used", "list-tubes-watched", "touch-all", "capabilities", "wait-job 1 0"}) {
    EXPECT_EQ(price(client, line), 0U) << line;
  }
  for (const std::string_view line :
       {"put 0 0 60 1", "reserve", "delete 1", "release 1 0 0", "bury 1 0", "kick-job 1",
        "pause-tube default 0", "flush-tube default", "list-tubes", "list-clients 0 1"}) {
    EXPECT_LE(price(client, line), kStepsOfCheap) << line;
  }
}

TEST_F(Prices, APageIsPricedByItsJobs) {
  Client& client = world.connect();
  EXPECT_EQ(price(client, "scan-jobs 0 1000"), 0U);
  for (int i = 0; i < 100; ++i) world.put(client);
  EXPECT_EQ(price(client, "scan-jobs 0 1000"), 100U * kStepsPerShownJob);
  EXPECT_EQ(price(client, "scan-jobs 0 10"), 10U * kStepsPerShownJob);
  EXPECT_EQ(price(client, "list-jobs default ready 10"), 10U * kStepsPerShownJob);
  // The scan may pass all jobs before those of the tube.
  EXPECT_EQ(price(client, "scan-jobs 0 10 default"), 100U * 2 + 10U * kStepsPerShownJob);
}

TEST_F(Prices, ABatchIsPricedByItsJobs) {
  Client& client = world.connect();
  EXPECT_EQ(price(client, "delete-batch 1"), 2U * kStepsPerJob);
  EXPECT_EQ(price(client, "delete-batch 1 2 3"), 3 * 2U * kStepsPerJob);
  for (int i = 0; i < 100; ++i) world.put(client);
  EXPECT_GE(price(client, "reserve-batch 1000"), 100U * kStepsPerJob);
  EXPECT_LT(price(client, "reserve-batch 1"), kStepsOfCheap);
}

TEST_F(Prices, AReserveIsPricedByTheWatchesOfItsClient) {
  Client& client = world.connect();
  watch(client, 400);
  EXPECT_GE(price(client, "reserve"), 400U);
  EXPECT_EQ(price(client, "reserve"), price(client, "reserve-with-timeout 0"));
  EXPECT_LT(price(world.connect(), "reserve"), kStepsOfCheap);
}

TEST_F(Prices, EndingAWaitIsPricedByTheWatchesOfTheWaitingClient) {
  Client& worker = world.connect();
  watch(worker, 400);
  Client& producer = world.connect();
  ASSERT_EQ(world.engine.use(producer, "t7"), Outcome::done);
  const std::uint64_t without = price(producer, "put 0 0 60 1");
  world.wait(worker);
  EXPECT_GE(price(producer, "put 0 0 60 1"), without + 400);
  EXPECT_EQ(price(producer, "pause-tube t7 0"), price(producer, "put 0 0 60 1"));
  EXPECT_EQ(price(producer, "flush-tube nowhere"), 0U);
}

TEST_F(Prices, AListOfTubesIsPricedByItsPages) {
  Client& client = world.connect();
  watch(client, 2000);
  const std::uint64_t pages = 2001 / TubeList::kTubesPerPage;
  EXPECT_GE(price(client, "list-tubes"), 2 * pages + TubeList::kTubesPerPage * kStepsPerName);
  EXPECT_EQ(price(client, "stats-tubes * 10"),
            10 * kStepsPerShownTube + 10 * world.engine.watching().clients_with_many());
}

}  // namespace

}  // namespace haricot
