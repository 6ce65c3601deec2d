// Reserves while a tube still serves more waiting clients than a turn allows.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "haricot/queue/watch_index.hpp"
#include "support/engine_world.hpp"

namespace haricot {
namespace {

using namespace test;

constexpr std::uint32_t kWaiting = 300;
constexpr std::uint32_t kJobs = 1'000;

class EngineTurns : public EngineTest {
 protected:
  // Ends a pause during which more clients wait than a turn serves. Many jobs are ready.
  void make_behind(std::uint32_t jobs = kJobs) {
    ASSERT_EQ(engine.pause("default", 1, world.now), Outcome::done);
    for (std::uint32_t i = 0; i < kWaiting; ++i) {
      Client& client = world.connect();
      world.wait(client);
      waiting.push_back(&client);
    }
    for (std::uint32_t i = 0; i < jobs; ++i) world.put(*waiting[0]);
    world.now = world.now + Duration::seconds(1);
    engine.advance(world.now);
    ASSERT_TRUE(world.tube().is_behind);
    ASSERT_LT(engine.counts().reserved, kWaiting);
  }
  Got got_by(const Client& client) {
    const Gots all = world.take_deliveries();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Got& got) { return got.client == &client; });
    return found == all.end() ? Got{nullptr, Delivery::Kind::failed} : *found;
  }
  // Takes turns until nothing is due.
  void settle() {
    for (int turns = 0; turns < 100 && engine.next_event() <= world.now; ++turns) {
      engine.advance(world.now);
      engine.check_invariants();
    }
    ASSERT_GT(engine.next_event(), world.now);
  }

  std::vector<Client*> waiting;
};

TEST_F(EngineTurns, ReserveWithoutTimeoutGetsAJobBehindThoseThatWait) {
  Client& late = world.connect();
  make_behind();
  world.wait(late, world.now);
  settle();
  EXPECT_EQ(got_by(late), got_job(late, kWaiting + 1));
}

TEST_F(EngineTurns, ReserveWithoutTimeoutTimesOutWhereTheOthersTakeAllJobs) {
  Client& late = world.connect();
  make_behind(kWaiting);
  world.wait(late, world.now);
  settle();
  EXPECT_EQ(got_by(late), got_timed_out(late));
}

TEST_F(EngineTurns, PausedTubeAnswersAtOnceThoughItWasBehind) {
  Client& late = world.connect();
  make_behind();
  ASSERT_EQ(engine.pause("default", 1, world.now), Outcome::done);
  EXPECT_EQ(engine.reserve(late, world.now, world.now).outcome, Outcome::timed_out);
}

TEST_F(EngineTurns, AWaitThatEndsBetweenTurnsGetsItsJob) {
  make_behind();
  Client& late = world.connect();
  world.wait(late, world.now + Duration::milliseconds(5));
  world.now = world.now + Duration::milliseconds(10);
  settle();
  EXPECT_EQ(got_by(late), got_job(late, kWaiting + 1));
}

TEST_F(EngineTurns, BatchWithoutTimeoutIsNotEmpty) {
  Client& late = world.connect();
  make_behind();
  std::vector<JobRef> taken;
  const BatchBound unbound{[](void*, std::uint32_t) { return true; }, nullptr};
  ASSERT_EQ(engine.reserve_batch(late, 9, unbound, world.now, world.now, taken), Outcome::waiting);
  settle();
  EXPECT_EQ(got_by(late), got_job_in_batch(late, kWaiting + 1));
}

TEST_F(EngineTurns, HolderOfAnExpiringJobGetsAJob) {
  Client& late = world.connect();
  world.put(late, {.priority = 0, .ttr_s = 2});
  ASSERT_NE(world.reserve(late), 0U);
  make_behind();
  world.now = world.now + Duration::milliseconds(500);
  world.wait_s(late, 5);
  settle();
  EXPECT_EQ(got_by(late).kind, Delivery::Kind::reserved);
}

TEST_F(EngineTurns, ClientThatHasClosedItsSideGetsItsJob) {
  Client& late = world.connect();
  make_behind();
  world.wait(late);
  engine.stop_waiting(late, Delivery::Kind::timed_out);
  settle();
  EXPECT_EQ(got_by(late), got_job(late, kWaiting + 1));
}

TEST_F(EngineTurns, ClientWithManyWatchesGetsAJobBehindThoseThatWait) {
  Client& late = world.connect();
  for (std::uint32_t i = 1; i < WatchIndex::kManyFrom; ++i) {
    ASSERT_EQ(engine.watch(late, "t" + std::to_string(i)), Outcome::done);
  }
  Client& closed = world.connect();
  for (std::uint32_t i = 1; i < WatchIndex::kManyFrom; ++i) {
    ASSERT_EQ(engine.watch(closed, "t" + std::to_string(i)), Outcome::done);
  }
  make_behind();
  engine.check_invariants();
  world.wait(late, world.now);
  world.disconnect(closed);
  settle();
  EXPECT_EQ(got_by(late), got_job(late, kWaiting + 1));
}

TEST_F(EngineTurns, RaisedLimitOfALaneHidesNoJobs) {
  for (std::uint32_t i = 0; i < 700; ++i) {
    world.put(world.connect(), {.tags = "con:a:1"});
  }
  ASSERT_NE(world.reserve(world.connect()), 0U);
  for (std::uint32_t i = 0; i < kWaiting; ++i) world.wait(world.connect());
  world.put(world.connect(), {.tags = "con:a:9000"});
  ASSERT_TRUE(world.tube().is_behind);
  Client& late = world.connect();
  world.wait(late, world.now);
  settle();
  EXPECT_EQ(got_by(late).kind, Delivery::Kind::reserved);
}

// Clients whose waits have ended must not use up the turns of those that are served.
TEST_F(EngineTurns, EndedWaitsDoNotDelayTheOthers) {
  make_behind(4 * kJobs);
  for (std::uint32_t i = 0; i < 3'000; ++i) world.wait(world.connect(), world.now);
  int turns = 0;
  while (engine.next_event() <= world.now) {
    engine.advance(world.now);
    ++turns;
  }
  EXPECT_EQ(engine.counts().waiting, 0U);
  const std::uint64_t served =
      turn_limits::kStepsOfTime / (turn_limits::kStepsPerJob + turn_limits::kStepsPerDelivery);
  EXPECT_LE(turns, static_cast<int>(3'300 / served * 11 / 10));
}

}  // namespace
}  // namespace haricot
