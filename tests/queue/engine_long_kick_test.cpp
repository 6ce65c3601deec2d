// Kicks of more jobs than fit into one call of the engine.

#include <gtest/gtest.h>

#include "support/engine_world.hpp"

namespace haricot {
namespace {

using test::got_job;
using test::got_kicked;
using test::Gots;

class LongKick : public test::EngineTest {
 protected:
  static constexpr std::uint32_t kSlice = Engine::kJobsPerCall;

  void put_delayed(Client& client, std::uint32_t jobs) {
    for (std::uint32_t i = 0; i < jobs; ++i) world.put(client, {.delay_s = 1000});
  }
};

TEST_F(LongKick, UpToOneSliceIsAnsweredAtOnce) {
  Client& client = world.connect();
  put_delayed(client, kSlice + 10);
  EXPECT_EQ(world.kick(client, kSlice).jobs, kSlice);
  EXPECT_FALSE(client.is_busy());
  EXPECT_EQ(engine.counts().delayed, 10u);
  put_delayed(client, kSlice - 10);
  engine.advance(world.now);
  const test::Ended all = world.kick(client, 4294967295);
  EXPECT_EQ(all.outcome, Outcome::done);
  EXPECT_EQ(all.jobs, kSlice);
}

TEST_F(LongKick, BeyondOneSliceItIsAnsweredWhenItIsDone) {
  Client& client = world.connect();
  put_delayed(client, 3 * kSlice + 5);
  EXPECT_EQ(world.kick(client, 3 * kSlice).outcome, Outcome::waiting);
  EXPECT_TRUE(client.is_busy());
  EXPECT_FALSE(client.is_waiting());
  EXPECT_EQ(engine.counts().ready, kSlice);
  EXPECT_LE(engine.next_event(), world.now);
  engine.check_invariants();
  engine.advance(world.now);
  EXPECT_EQ(engine.counts().ready, 2 * kSlice);
  EXPECT_TRUE(world.take_deliveries().empty());
  engine.advance(world.now);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_kicked(client, 3 * kSlice)}));
  EXPECT_FALSE(client.is_busy());
  EXPECT_EQ(engine.counts().delayed, 5u);
}

TEST_F(LongKick, EndsWhereNoJobIsLeft) {
  Client& client = world.connect();
  Client& other = world.connect();
  put_delayed(client, kSlice + 100);
  EXPECT_EQ(world.kick(client, 4294967295).outcome, Outcome::waiting);
  // Meanwhile another client deletes one of the rest.
  ASSERT_EQ(engine.delete_job(other, world.id_of(engine.queries().peek_delayed(other))),
            Outcome::done);
  engine.advance(world.now);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_kicked(client, kSlice + 99)}));
}

TEST_F(LongKick, OfBuriedJobsDoesNotContinueWithDelayedOnes) {
  Client& client = world.connect();
  for (const JobId id : hold(client, kSlice + 1))
    ASSERT_EQ(engine.bury(client, id, 1), Outcome::done);
  put_delayed(client, 10);
  EXPECT_EQ(world.kick(client, kSlice + 5).outcome, Outcome::waiting);
  engine.advance(world.now);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_kicked(client, kSlice + 1)}));
  EXPECT_EQ(engine.counts().delayed, 10u);
}

TEST_F(LongKick, HandsJobsToWaitingWorkersOnTheWay) {
  Client& client = world.connect();
  Client& first = world.connect();
  Client& second = world.connect();
  put_delayed(client, kSlice + 10);
  world.wait(first);
  EXPECT_EQ(world.kick(client, 4294967295).outcome, Outcome::waiting);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_job(first, 1)}));
  EXPECT_EQ(world.reserve(second), 2u);
  engine.advance(world.now);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_kicked(client, kSlice + 10)}));
}

TEST_F(LongKick, WakesManyWorkersInPieces) {
  Client& client = world.connect();
  put_delayed(client, kSlice);
  for (std::uint32_t i = 0; i < kSlice; ++i) world.wait(world.connect());
  EXPECT_EQ(world.kick(client, kSlice).outcome, Outcome::waiting);
  constexpr std::uint32_t kPerCall = kSlice * Engine::kStepsPerJob / QueueState::kStepsPerDelivery;
  std::size_t served = 0;
  while (served < kSlice + 1) {
    const std::size_t more = world.take_deliveries().size();
    ASSERT_GE(more, 1U);
    ASSERT_LE(more, kPerCall + 1);
    served += more;
    engine.advance(world.now);
  }
  EXPECT_EQ(engine.counts().reserved, kSlice);
}

TEST_F(LongKick, OfAClosedClientStops) {
  Client& client = world.connect();
  put_delayed(client, 3 * kSlice);
  EXPECT_EQ(world.kick(client, 4294967295).outcome, Outcome::waiting);
  world.disconnect(client);
  EXPECT_EQ(engine.counts().ready, kSlice);
  EXPECT_GT(engine.next_event(), world.now);
  engine.advance(world.now);
  EXPECT_EQ(engine.counts().ready, kSlice);
  EXPECT_TRUE(world.take_deliveries().empty());
}

TEST_F(LongKick, ItsTubeOutlivesIt) {
  Client& client = world.connect();
  ASSERT_EQ(engine.use(client, "t"), Outcome::done);
  put_delayed(client, 2 * kSlice);
  EXPECT_EQ(world.tube("t").tasks, 0u);
  EXPECT_EQ(world.kick(client, 4294967295).outcome, Outcome::waiting);
  EXPECT_EQ(world.tube("t").tasks, 1u);
  engine.advance(world.now);
  EXPECT_EQ(world.take_deliveries().size(), 1u);
  EXPECT_EQ(world.tube("t").tasks, 0u);
  Client& other = world.connect();
  ASSERT_EQ(engine.use(other, "t"), Outcome::done);
  put_delayed(other, 2 * kSlice);
  EXPECT_EQ(world.kick(other, 4294967295).outcome, Outcome::waiting);
  world.disconnect(other);
  EXPECT_EQ(world.tube("t").tasks, 0u);
  engine.check_invariants();
}

TEST_F(LongKick, AShortOneDoesNotWaitForTheEndOfALongOne) {
  Client& patient = world.connect();
  Client& quick = world.connect();
  ASSERT_EQ(engine.use(quick, "t"), Outcome::done);
  put_delayed(patient, 10 * kSlice);
  put_delayed(quick, 100);
  EXPECT_EQ(world.kick(patient, 4294967295).outcome, Outcome::waiting);
  EXPECT_EQ(world.kick(quick, 100).outcome, Outcome::waiting);
  engine.advance(world.now);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_kicked(quick, 100)}));
}

// Kicks of equal size are done in the order of their arrival.
TEST_F(LongKick, TheFirstKickIsServedFirst) {
  Gots expected;
  for (int i = 0; i < 7; ++i) {
    Client& client = world.connect();
    ASSERT_EQ(engine.use(client, "t" + std::to_string(i)), Outcome::done);
    put_delayed(client, kSlice + 450);
    EXPECT_EQ(world.kick(client, 4294967295).outcome, Outcome::waiting);
    expected.push_back(got_kicked(client, kSlice + 450));
  }
  world.pass_ms(0);
  EXPECT_EQ(world.take_deliveries(), expected);
}

TEST_F(LongKick, SharesACallWithBackgroundTasks) {
  Client& holder = world.connect();
  Client& client = world.connect();
  ASSERT_EQ(engine.use(client, "t"), Outcome::done);
  hold(holder, 3 * kSlice);
  put_delayed(client, 3 * kSlice);
  engine.advance(world.now);
  EXPECT_EQ(world.kick(client, 4294967295).outcome, Outcome::waiting);
  world.disconnect(holder);
  const std::uint64_t reserved = engine.counts().reserved;
  const std::uint64_t delayed = engine.counts().delayed;
  engine.advance(world.now);
  EXPECT_EQ(engine.counts().reserved, reserved - kSlice / 2);
  EXPECT_EQ(engine.counts().delayed, delayed - kSlice / 2);
  engine.check_invariants();
}

TEST_F(LongKick, SeveralAtOnceAllGetDone) {
  std::vector<Client*> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(&world.connect());
    ASSERT_EQ(engine.use(*clients.back(), "t" + std::to_string(i)), Outcome::done);
    put_delayed(*clients.back(), 2 * kSlice + 1);
    EXPECT_EQ(world.kick(*clients.back(), 4294967295).outcome, Outcome::waiting);
  }
  engine.check_invariants();
  world.pass_ms(0);
  const Gots got = world.take_deliveries();
  ASSERT_EQ(got.size(), 3u);
  for (const Client* client : clients) {
    EXPECT_EQ(std::count(got.begin(), got.end(), got_kicked(*client, 2 * kSlice + 1)), 1);
  }
}

}  // namespace
}  // namespace haricot
