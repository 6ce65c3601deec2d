#include "haricot/service/prices.hpp"

#include <gtest/gtest.h>

#include <string>

#include "haricot/base/turn_limits.hpp"
#include "support/engine_world.hpp"

namespace haricot {
namespace {

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
