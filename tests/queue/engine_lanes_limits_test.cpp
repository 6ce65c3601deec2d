// Limits of lanes: which put sets them, and the effect of a higher limit.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "queue/engine_tags.hpp"
#include "support/engine_world.hpp"

namespace haricot {
namespace {

using test::EngineTags;
using test::Got;
using test::got_job;
using test::Gots;

class EngineLaneLimitsTest : public EngineTags {
 protected:
  std::vector<Client*> waiting_workers(std::uint32_t count) {
    std::vector<Client*> workers;
    for (std::uint32_t i = 0; i < count; ++i) {
      workers.push_back(&world.connect());
      world.wait(*workers.back());
    }
    return workers;
  }

  Client& worker = world.connect();
};

TEST_F(EngineLaneLimitsTest, AHigherLimitServesWaitingClientsAtOnce) {
  for (int i = 0; i < 4; ++i) put("con:a");
  ASSERT_EQ(world.reserve(worker), 1U);
  const std::vector<Client*> workers = waiting_workers(3);
  put("con:a:3");
  EXPECT_EQ(world.take_deliveries(), (Gots{got_job(*workers[0], 2), got_job(*workers[1], 3)}));
  EXPECT_TRUE(workers[2]->is_waiting());
}

TEST_F(EngineLaneLimitsTest, ADelayedPutNamesTheLimitFromItsArrivalOn) {
  for (int i = 0; i < 3; ++i) put("con:a");
  ASSERT_EQ(world.reserve(worker), 1U);
  const std::vector<Client*> workers = waiting_workers(2);
  put("con:a:2", 5);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_job(*workers[0], 2)}));
  EXPECT_EQ(world.state(4), JobState::delayed);
}

TEST_F(EngineLaneLimitsTest, APausedTubeKeepsItsJobsWhenTheLimitRises) {
  for (int i = 0; i < 2; ++i) put("con:a");
  ASSERT_EQ(world.reserve(worker), 1U);
  const std::vector<Client*> workers = waiting_workers(1);
  ASSERT_EQ(engine.pause("default", 10, world.now), Outcome::done);
  put("con:a:9");
  EXPECT_EQ(world.take_deliveries(), Gots{});
  EXPECT_TRUE(world.tube().paused);
  EXPECT_EQ(world.tube().pause_s, 10U);
  world.pass_s(10);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_job(*workers[0], 2)}));
}

TEST_F(EngineLaneLimitsTest, APutThatFailsLeavesTheLimit) {
  for (int i = 0; i < 3; ++i) put("con:a");
  ASSERT_EQ(world.reserve(worker), 1U);
  const test::PutOptions raise = {.tags = "con:a:2"};
  engine.memory().limit(1);
  EXPECT_EQ(world.try_put(producer, engine.take_id(), raise), Outcome::out_of_memory);
  engine.memory().limit(1'000'000);
  for (const JournalStatus status :
       {JournalStatus::full, JournalStatus::failed, JournalStatus::later}) {
    journal.refuse_from(1, status);
    EXPECT_NE(world.try_put(producer, engine.take_id(), raise), Outcome::done);
    journal.accept();
  }
  engine.check_invariants();
  EXPECT_EQ(world.reserve(worker), 0U);
}

// If the only put of a key fails, its lane is freed.
TEST_F(EngineLaneLimitsTest, APutThatFailsLeavesNoLane) {
  const std::uint64_t before = engine.memory().used_bytes();
  journal.refuse_from(1, JournalStatus::failed);
  EXPECT_EQ(world.try_put(producer, engine.take_id(), {.tags = "con:a:2"}),
            Outcome::journal_failed);
  journal.accept();
  engine.check_invariants();
  EXPECT_EQ(engine.memory().used_bytes(), before);
}

// The limit is lower than the number of reserved jobs: no more jobs are given until enough have
// ended.
TEST_F(EngineLaneLimitsTest, ALowerLimitWaitsForTheJobsThatAreReserved) {
  for (int i = 0; i < 5; ++i) put("con:a:3");
  for (const JobId id : {1U, 2U, 3U}) ASSERT_EQ(world.reserve(worker), id);
  put("con:a:1");
  for (const JobId id : {1U, 2U}) {
    ASSERT_EQ(engine.delete_job(worker, id), Outcome::done);
    EXPECT_EQ(world.reserve(worker), 0U) << "after the deletion of job " << id;
  }
  ASSERT_EQ(engine.delete_job(worker, 3), Outcome::done);
  EXPECT_EQ(world.reserve(worker), 4U);
  EXPECT_EQ(world.reserve(worker), 0U);
}

TEST_F(EngineLaneLimitsTest, AHolderThatClosesMakesRoomForAsManyAsItHeld) {
  constexpr std::uint32_t kHeld = 3 * Engine::kJobsPerCall;
  const std::string tags = "con:a:" + std::to_string(kHeld);
  Client& holder = world.connect();
  for (std::uint32_t i = 0; i < kHeld + 5; ++i) {
    world.put(producer, {.priority = i < kHeld ? 1U : 0U, .tags = tags});
    if (i < kHeld) {
      ASSERT_EQ(world.reserve(holder), i + 1);
    }
  }
  EXPECT_EQ(world.reserve(worker), 0U);
  const std::vector<Client*> workers = waiting_workers(5);
  world.disconnect(holder);
  world.pass_ms(1);
  engine.check_invariants();
  Gots expected;
  for (std::uint32_t i = 0; i < 5; ++i) expected.push_back(got_job(*workers[i], kHeld + 1 + i));
  EXPECT_EQ(world.take_deliveries(), expected);
  EXPECT_EQ(engine.counts().ready, kHeld);
  EXPECT_NE(world.reserve(worker), 0U);
}

// One put may serve all waiting clients, over several turns. A client that comes later queues
// behind them.
TEST_F(EngineLaneLimitsTest, AHigherLimitServesManyInSeveralTurns) {
  constexpr std::uint32_t kWaiting = 2 * Engine::kJobsPerCall + 10;
  for (std::uint32_t i = 0; i <= kWaiting + 1; ++i) world.put(producer, {.tags = "con:a"});
  ASSERT_EQ(world.reserve(worker), 1U);
  const std::vector<Client*> workers = waiting_workers(kWaiting);
  put("con:a:65535");
  Gots served = world.take_deliveries();
  EXPECT_GE(served.size(), 1U);
  constexpr std::uint32_t kPerCall =
      Engine::kJobsPerCall * Engine::kStepsPerJob / QueueState::kStepsPerDelivery;
  EXPECT_LE(served.size(), kPerCall + 1);
  EXPECT_EQ(world.reserve(worker), 0U);
  EXPECT_EQ(world.tube().pause_s, 0U);
  while (engine.next_event() <= world.now) {
    engine.advance(world.now);
    const Gots more = world.take_deliveries();
    EXPECT_LE(more.size(), 2 * kPerCall);
    served.insert(served.end(), more.begin(), more.end());
  }
  engine.check_invariants();
  ASSERT_EQ(served.size(), kWaiting + 1);
  for (std::uint32_t i = 0; i < kWaiting; ++i) {
    ASSERT_EQ(served[i], got_job(*workers[i], i + 2));
  }
  EXPECT_EQ(served.back(), got_job(worker, kWaiting + 2));
}

// Jobs are restored in any order.
TEST(EngineRestoreOfLanes, TheLimitOfTheHighestIdHolds) {
  test::World world;
  world.restore(3, JobState::ready, "con:a:4", 1);
  world.restore(7, JobState::buried, "try:9 con:a:2", 1);
  world.restore(5, JobState::delayed, "con:a", 1);
  world.restore(1, JobState::ready, "con:a:5", 1);
  world.restore(8, JobState::ready, "con:b:1", 1);
  // Malformed tags name no lane and no limit.
  world.restore(9, JobState::ready, "con:a:0", 1);
  world.restore(10, JobState::ready, "con: con:c later:con:a", 1);
  world.engine.restoring().end(11);
  world.engine.check_invariants();
  Client& worker = world.connect();
  const JobId expected[] = {1, 3, 8, 9, 10, 0};
  for (const JobId id : expected) EXPECT_EQ(world.reserve(worker), id);
  world.pass_s(1);
  EXPECT_EQ(world.reserve(worker), 0U);
  EXPECT_EQ(world.engine.delete_job(worker, 3), Outcome::done);
  EXPECT_EQ(world.reserve(worker), 5U);
}

}  // namespace
}  // namespace haricot
