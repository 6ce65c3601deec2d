#include "haricot/queue/job_waits.hpp"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "support/engine_world.hpp"

namespace haricot {
namespace {

using test::Got;
using Gots = std::vector<Got>;

class JobWaitsTest : public testing::Test {
 protected:
  Outcome wait_job(Client& client, JobId id, std::uint32_t seconds = 60) {
    return world.engine.wait_job(client, id, world.now + Duration::seconds(seconds), world.now);
  }
  static Got deleted(const Client& client) { return {&client, Delivery::Kind::job_deleted}; }
  static Got buried(const Client& client) { return {&client, Delivery::Kind::job_buried}; }

  test::World world;
  Client& owner = world.connect();
  Client& waiting = world.connect();
};

TEST_F(JobWaitsTest, DoesNotWaitWhereThereIsNothingToWaitFor) {
  const JobId id = world.put(owner);
  EXPECT_EQ(wait_job(waiting, 0), Outcome::not_found);
  EXPECT_EQ(wait_job(waiting, id + 1), Outcome::not_found);
  EXPECT_EQ(wait_job(waiting, id, 0), Outcome::timed_out);
  ASSERT_EQ(world.reserve(owner), id);
  ASSERT_EQ(world.engine.bury(owner, id, 0), Outcome::done);
  EXPECT_EQ(wait_job(waiting, id), Outcome::buried);
  EXPECT_FALSE(waiting.is_busy());
  world.engine.check_invariants();
}

TEST_F(JobWaitsTest, EachDeletionEndsTheWait) {
  const JobId one = world.put(owner);
  const JobId two = world.put(owner, {.tags = "idp:key:60"});
  const JobId three = world.put(owner);
  const JobId four = world.put(owner, {.delay_s = 100});
  std::vector<Client*> clients;
  for (const JobId id : {one, two, three, four}) {
    clients.push_back(&world.connect());
    ASSERT_EQ(wait_job(*clients.back(), id), Outcome::waiting);
    EXPECT_TRUE(clients.back()->is_busy());
  }
  world.engine.check_invariants();
  EXPECT_EQ(world.engine.delete_job(owner, one), Outcome::done);
  world.engine.check_invariants();
  world.pass_ms(1);
  EXPECT_EQ(world.take_deliveries(), (Gots{deleted(*clients[0])}));
  EXPECT_FALSE(clients[0]->is_busy());
  EXPECT_EQ(world.engine.delete_job(owner, two), Outcome::done);
  world.pass_ms(1);
  EXPECT_EQ(world.take_deliveries(), (Gots{deleted(*clients[1])}));
  const std::vector<JobId> ids{three};
  EXPECT_EQ(world.delete_batch(owner, ids).jobs, 1U);
  world.pass_ms(1);
  EXPECT_EQ(world.take_deliveries(), (Gots{deleted(*clients[2])}));
  EXPECT_EQ(world.flush(owner, "default", {.delayed = true}).jobs, 1U);
  world.pass_ms(1);
  EXPECT_EQ(world.take_deliveries(), (Gots{deleted(*clients[3])}));
  world.engine.check_invariants();
}

TEST_F(JobWaitsTest, EachBurialEndsTheWait) {
  const JobId by_hand = world.put(owner);
  const JobId by_ttr = world.put(owner, {.ttr_s = 1, .tags = "try:1"});
  Client& other = world.connect();
  ASSERT_EQ(world.reserve(owner), by_hand);
  ASSERT_EQ(world.reserve(owner), by_ttr);
  ASSERT_EQ(wait_job(waiting, by_hand), Outcome::waiting);
  ASSERT_EQ(wait_job(other, by_ttr), Outcome::waiting);
  ASSERT_EQ(world.engine.bury(owner, by_hand, 0), Outcome::done);
  world.pass_ms(1);
  EXPECT_EQ(world.take_deliveries(), (Gots{buried(waiting)}));
  world.pass_s(2);
  EXPECT_EQ(world.take_deliveries(), (Gots{buried(other)}));
  world.engine.check_invariants();
}

TEST_F(JobWaitsTest, ChangesOfALivingJobDoNotEndTheWait) {
  const JobId id = world.put(owner, {.ttr_s = 1});
  ASSERT_EQ(wait_job(waiting, id), Outcome::waiting);
  ASSERT_EQ(world.reserve(owner), id);
  world.pass_s(2);
  ASSERT_EQ(world.reserve(owner), id);
  ASSERT_EQ(world.engine.release(owner, id, 1, 5, world.now), Outcome::done);
  ASSERT_EQ(world.engine.kick_job(id, world.now), Outcome::done);
  world.pass_ms(1);
  EXPECT_EQ(world.take_deliveries(), Gots{});
  EXPECT_TRUE(waiting.is_busy());
}

TEST_F(JobWaitsTest, TheTimeEndsTheWait) {
  const JobId id = world.put(owner);
  Client& for_ever = world.connect();
  ASSERT_EQ(wait_job(waiting, id, 5), Outcome::waiting);
  ASSERT_EQ(wait_job(for_ever, id, 4294967295), Outcome::waiting);
  world.pass_ms(4'999);
  EXPECT_EQ(world.take_deliveries(), Gots{});
  world.pass_ms(1);
  EXPECT_EQ(world.take_deliveries(), (Gots{test::got_timed_out(waiting)}));
  world.engine.check_invariants();
  world.engine.stop_waiting(for_ever, Delivery::Kind::timed_out);
  EXPECT_EQ(world.take_deliveries(), (Gots{test::got_timed_out(for_ever)}));
  EXPECT_EQ(world.engine.delete_job(owner, id), Outcome::done);
  world.pass_ms(1);
  EXPECT_EQ(world.take_deliveries(), Gots{});
}

TEST_F(JobWaitsTest, TheEndOfTheJobPrecedesTheTimeout) {
  const JobId id = world.put(owner);
  ASSERT_EQ(wait_job(waiting, id, 5), Outcome::waiting);
  world.pass_ms(4'999);
  ASSERT_EQ(world.engine.delete_job(owner, id), Outcome::done);
  world.engine.stop_waiting(waiting, Delivery::Kind::timed_out);
  world.pass_ms(1);
  EXPECT_EQ(world.take_deliveries(), (Gots{deleted(waiting)}));
  world.pass_s(10);
  EXPECT_EQ(world.take_deliveries(), Gots{});
}

TEST_F(JobWaitsTest, AClientThatGoesIsForgotten) {
  const JobId id = world.put(owner);
  Client& stays = world.connect();
  Client& goes_late = world.connect();
  ASSERT_EQ(wait_job(waiting, id), Outcome::waiting);
  ASSERT_EQ(wait_job(stays, id), Outcome::waiting);
  ASSERT_EQ(wait_job(goes_late, id), Outcome::waiting);
  world.disconnect(waiting);
  world.engine.check_invariants();
  ASSERT_EQ(world.engine.delete_job(owner, id), Outcome::done);
  world.disconnect(goes_late);
  world.engine.check_invariants();
  world.pass_ms(1);
  EXPECT_EQ(world.take_deliveries(), (Gots{deleted(stays)}));
}

TEST_F(JobWaitsTest, AHolderMayWaitForItsOwnJob) {
  const JobId id = world.put(owner, {.ttr_s = 1, .tags = "try:1"});
  ASSERT_EQ(world.reserve(waiting), id);
  ASSERT_EQ(wait_job(waiting, id), Outcome::waiting);
  world.pass_s(2);
  EXPECT_EQ(world.take_deliveries(), (Gots{buried(waiting)})) << "and no DEADLINE_SOON before";
}

TEST_F(JobWaitsTest, VeryManyAreAnsweredInPieces) {
  constexpr std::size_t kMany = 4'000;
  const JobId id = world.put(owner);
  for (std::size_t i = 0; i < kMany; ++i) {
    ASSERT_EQ(wait_job(world.connect(), id), Outcome::waiting);
  }
  const std::uint64_t before = world.engine.steps();
  ASSERT_EQ(world.engine.delete_job(owner, id), Outcome::done);
  EXPECT_LT(world.engine.steps() - before, 1000U);
  EXPECT_FALSE(world.engine.is_at_rest());
  std::size_t notified = 0;
  std::size_t turns = 0;
  for (; notified < kMany && turns < kMany; ++turns) {
    ASSERT_LE(world.engine.next_event(), world.now);
    const std::uint64_t steps = world.engine.steps();
    world.engine.advance(world.now);
    EXPECT_LE(world.engine.steps() - steps,
              turn_limits::kStepsOfTasks + turn_limits::kStepsPerDelivery);
    const Gots got = world.take_deliveries();
    EXPECT_FALSE(got.empty());
    notified += got.size();
  }
  EXPECT_EQ(notified, kMany);
  EXPECT_GT(turns, 4U);
  EXPECT_TRUE(world.engine.is_at_rest());
  world.engine.check_invariants();
}

}  // namespace
}  // namespace haricot
