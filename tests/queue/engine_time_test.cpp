// Effects of time on jobs and clients, and work that is too long for one call.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/allocations.hpp"
#include "support/engine_world.hpp"

namespace haricot {
namespace {

using test::got_deadline_soon;
using test::got_job;
using test::got_timed_out;
using test::Gots;
using test::World;

// Maximum number of deliveries in a call, which cost more than moving a job.
constexpr std::uint32_t kDeliveriesPerCall =
    Engine::kJobsPerCall * Engine::kStepsPerJob / QueueState::kStepsPerDelivery;

class EngineTime : public test::EngineTest {};

// TTR ---------------------------------------------------------------------------------------------

TEST_F(EngineTime, AJobWhoseTtrEndsIsReadyAgainThoughItsHolderIsIdle) {
  Client& client = world.connect();
  const JobId id = world.put(client, {.priority = 5, .ttr_s = 3});
  ASSERT_EQ(world.reserve(client), id);
  world.pass_ms(2999);
  EXPECT_EQ(world.state(id), JobState::reserved);
  world.pass_ms(1);
  EXPECT_EQ(world.state(id), JobState::ready);
  EXPECT_EQ(world.report(id).timeouts, 1u);
  EXPECT_EQ(world.report(id).releases, 0u);
  EXPECT_EQ(engine.counts().timeouts, 1u);
  EXPECT_EQ(engine.counts().urgent, 1u);
  EXPECT_EQ(client.held_jobs(), 0u);
  EXPECT_EQ(engine.release(client, id, 1, 0, world.now), Outcome::not_found);
  EXPECT_EQ(engine.bury(client, id, 1), Outcome::not_found);
  EXPECT_EQ(engine.touch(client, id, world.now), Outcome::not_found);
  EXPECT_EQ(world.reserve(client), id);
}

TEST_F(EngineTime, ATtrEndsAfterReserveJobToo) {
  Client& client = world.connect();
  const JobId id = world.put(client, {.delay_s = 100, .ttr_s = 3});
  ASSERT_EQ(engine.reserve_job(client, id, world.now).outcome, Outcome::done);
  world.pass_s(3);
  EXPECT_EQ(world.state(id), JobState::ready);
}

TEST_F(EngineTime, TtrsOfOneHolderEndEachInItsTime) {
  Client& client = world.connect();
  std::vector<JobId> ids;
  for (const std::uint32_t ttr : {5u, 2u, 9u, 4u}) {
    ids.push_back(world.put(client, {.ttr_s = ttr}));
    ASSERT_EQ(world.reserve(client), ids.back());
  }
  const std::uint32_t ends[] = {5, 2, 9, 4};
  for (std::uint32_t second = 1; second <= 10; ++second) {
    world.pass_s(1);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(world.state(ids[i]) == JobState::ready, second >= ends[i]) << second;
    }
  }
}

TEST_F(EngineTime, TheLongestTtrAndDelayHold) {
  Client& client = world.connect();
  const JobId held = world.put(client, {.ttr_s = 4294967295});
  const JobId delayed = world.put(client, {.delay_s = 4294967295});
  ASSERT_EQ(world.reserve(client), held);
  EXPECT_EQ(world.report(held).time_left_s, 4294967295u);
  world.pass_s(4294967294);
  EXPECT_EQ(world.state(held), JobState::reserved);
  EXPECT_EQ(world.state(delayed), JobState::delayed);
  world.pass_s(1);
  EXPECT_EQ(world.state(held), JobState::ready);
  EXPECT_EQ(world.state(delayed), JobState::ready);
  EXPECT_EQ(world.report(held).age_s, 4294967295u);
}

TEST_F(EngineTime, ADeadlineBetweenTwoTicksIsMetWithinOne) {
  World odd(Instant::at(1'234'567'891));
  Client& client = odd.connect();
  const JobId id = odd.put(client, {.delay_s = 1});
  const Instant deadline = odd.now + Duration::seconds(1);
  odd.pass(Duration::nanoseconds(999'999'999));
  EXPECT_EQ(odd.state(id), JobState::delayed);
  const Instant event = odd.engine.next_event();
  EXPECT_GE(event, deadline);
  EXPECT_LE(event, deadline + Duration::milliseconds(1));
  odd.engine.advance(event);
  EXPECT_EQ(odd.state(id), JobState::ready);
  odd.engine.check_invariants();
}

TEST_F(EngineTime, WithNothingToDoThereIsNoEvent) {
  Client& client = world.connect();
  world.put(client);
  EXPECT_EQ(engine.next_event(), Instant::never());
}

// DEADLINE_SOON -----------------------------------------------------------------------------------

TEST_F(EngineTime, AReserveInTheLastSecondOfAJobFailsAtOnce) {
  Client& client = world.connect();
  hold(client, 1, 3);
  world.pass_ms(1999);
  EXPECT_EQ(engine.reserve(client, world.now, world.now).outcome, Outcome::timed_out);
  world.pass_ms(1);
  EXPECT_EQ(engine.reserve(client, world.now, world.now).outcome, Outcome::deadline_soon);
  EXPECT_EQ(engine.reserve(client, Instant::never(), world.now).outcome, Outcome::deadline_soon);
  EXPECT_FALSE(client.is_busy());
}

TEST_F(EngineTime, AHolderOfAJobWithOneSecondOfTtrIsAlwaysInItsLast) {
  Client& client = world.connect();
  hold(client, 1, 1);
  EXPECT_EQ(engine.reserve(client, Instant::never(), world.now).outcome, Outcome::deadline_soon);
}

TEST_F(EngineTime, AReadyJobComesBeforeTheWarning) {
  Client& client = world.connect();
  hold(client, 1, 1);
  const JobId id = world.put(client);
  EXPECT_EQ(world.reserve(client), id);
}

TEST_F(EngineTime, AJobInAPausedTubeDoesNotKeepTheWarningBack) {
  Client& client = world.connect();
  hold(client, 1, 1);
  world.put(client);
  ASSERT_EQ(engine.pause("default", 10, world.now), Outcome::done);
  EXPECT_EQ(engine.reserve(client, Instant::never(), world.now).outcome, Outcome::deadline_soon);
}

TEST_F(EngineTime, AWaitEndsWhenTheLastSecondOfAHeldJobBegins) {
  Client& client = world.connect();
  const JobId id = hold(client, 1, 5)[0];
  world.wait_s(client, 100);
  world.pass_ms(3999);
  EXPECT_TRUE(world.take_deliveries().empty());
  world.pass_ms(1);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_deadline_soon(client)}));
  EXPECT_FALSE(client.is_busy());
  EXPECT_EQ(world.state(id), JobState::reserved);
  world.pass_s(1);
  EXPECT_EQ(world.state(id), JobState::ready);
  EXPECT_TRUE(world.take_deliveries().empty());
}

TEST_F(EngineTime, TheWarningWinsOverATimeoutOfTheSameMoment) {
  Client& client = world.connect();
  hold(client, 1, 2);
  world.wait_s(client, 1);
  world.pass_s(1);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_deadline_soon(client)}));
}

TEST_F(EngineTime, ATimeoutBeforeTheLastSecondIsATimeout) {
  Client& client = world.connect();
  hold(client, 1, 3);
  world.wait_s(client, 1);
  world.pass_s(1);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_timed_out(client)}));
}

TEST_F(EngineTime, AWaitingHolderThatIsCheckedTooLateGetsItsJobBack) {
  Client& client = world.connect();
  const JobId id = hold(client, 1, 5)[0];
  world.wait(client);
  world.now = world.now + Duration::seconds(50);
  engine.advance(world.now);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_job(client, id)}));
  EXPECT_EQ(world.report(id).timeouts, 1u);
  EXPECT_EQ(world.report(id).reserves, 2u);
}

// Its heap becomes empty while it waits, and must keep the room for the awaited job.
TEST_F(EngineTime, AWaitingHolderWhoseJobsTimeOutHasRoomForANewOne) {
  Client& client = world.connect();
  Client& producer = world.connect();
  ASSERT_EQ(engine.use(client, "unwatched"), Outcome::done);
  for (int i = 0; i < 9; ++i) {
    const JobId id = world.put(client, {.ttr_s = 5});
    ASSERT_EQ(engine.reserve_job(client, id, world.now).outcome, Outcome::done);
  }
  world.wait(client);
  world.now = world.now + Duration::seconds(50);
  engine.advance(world.now);
  EXPECT_EQ(client.held_jobs(), 0u);
  EXPECT_TRUE(client.is_waiting());
  Outcome outcome = Outcome::not_found;
  const JobId id = engine.take_id();
  ASSERT_EQ(engine.pause("default", 10, world.now), Outcome::done);
  ASSERT_EQ(world.try_put(producer, id), Outcome::done);
  {
    const test::AllocationFailure failure;
    outcome = engine.pause("default", 0, world.now);
  }
  ASSERT_EQ(outcome, Outcome::done);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_job(client, id)}));
}

// Closing -----------------------------------------------------------------------------------------

TEST_F(EngineTime, AClosedClientsJobsAreReadyAgain) {
  Client& client = world.connect();
  const std::vector<JobId> ids = hold(client, 10);
  world.disconnect(client);
  for (const JobId id : ids) {
    EXPECT_EQ(world.state(id), JobState::ready);
    EXPECT_EQ(world.report(id).releases, 0u);
    EXPECT_EQ(world.report(id).timeouts, 0u);
  }
  EXPECT_EQ(engine.counts().reserved, 0u);
  EXPECT_EQ(engine.counts().clients, 0u);
  EXPECT_EQ(engine.next_event(), Instant::never());
}

TEST_F(EngineTime, JobsOfAClosedClientReachWaitingWorkersInTheOrderInWhichTheirTtrsWouldEnd) {
  Client& holder = world.connect();
  std::vector<JobId> ids;
  for (const std::uint32_t ttr : {50u, 20u, 90u, 40u, 70u, 10u}) {
    ids.push_back(world.put(holder, {.ttr_s = ttr}));
    ASSERT_EQ(world.reserve(holder), ids.back());
  }
  Gots expected;
  for (const std::size_t i : {5u, 1u, 3u, 0u}) {
    Client& worker = world.connect();
    world.wait(worker);
    expected.push_back(got_job(worker, ids[i]));
  }
  world.disconnect(holder);
  EXPECT_EQ(world.take_deliveries(), expected);
  EXPECT_EQ(world.state(ids[4]), JobState::ready);
  EXPECT_EQ(world.state(ids[2]), JobState::ready);
}

TEST_F(EngineTime, AClientWithAHundredThousandJobsGivesThemBackInPieces) {
  constexpr std::uint32_t kJobs = 100'000;
  Client& holder = world.connect();
  Client& other = world.connect();
  const std::vector<JobId> ids = hold(holder, kJobs);
  world.disconnect(holder);
  EXPECT_EQ(engine.counts().ready, Engine::kJobsPerCall);
  EXPECT_LE(engine.next_event(), world.now);

  std::uint32_t calls = 0;
  std::uint64_t ready = engine.counts().ready;
  while (engine.counts().reserved > 0) {
    engine.advance(world.now);
    ASSERT_LE(engine.counts().ready - ready, Engine::kJobsPerCall);
    ready = engine.counts().ready;
    ++calls;
    if (calls != 10) continue;
    // Others can work meanwhile, and jobs that are not returned yet belong to no client.
    engine.check_invariants();
    const auto is_held = [&](JobId id) { return world.state(id) == JobState::reserved; };
    const JobId given_back = *std::find_if(ids.begin(), ids.end(), is_held);
    EXPECT_EQ(world.report(given_back).time_left_s, 0u);
    EXPECT_EQ(engine.delete_job(other, given_back), Outcome::not_found);
    EXPECT_EQ(engine.release(other, given_back, 1, 0, world.now), Outcome::not_found);
    EXPECT_EQ(engine.reserve_job(other, given_back, world.now).outcome, Outcome::not_found);
    Client& newcomer = world.connect();
    EXPECT_EQ(engine.touch(newcomer, given_back, world.now), Outcome::not_found);
    const JobId id = world.reserve(newcomer);
    EXPECT_NE(id, 0u);
    EXPECT_EQ(engine.delete_job(newcomer, id), Outcome::done);
    ready = engine.counts().ready;
  }
  EXPECT_GE(calls, kJobs / Engine::kJobsPerCall - 1);
  EXPECT_EQ(engine.counts().ready, kJobs - 1);
  EXPECT_GT(engine.next_event(), world.now);
}

TEST_F(EngineTime, SeveralClosedClientsGiveTheirJobsBackTogether) {
  Client& one = world.connect();
  Client& two = world.connect();
  hold(one, 5000);
  hold(two, 7000);
  world.disconnect(one);
  world.disconnect(two);
  engine.check_invariants();
  while (engine.next_event() <= world.now) {
    engine.advance(world.now);
    engine.check_invariants();
  }
  EXPECT_EQ(engine.counts().ready, 12'000u);
}

// Many deadlines at once --------------------------------------------------------------------------

TEST_F(EngineTime, DelaysThatEndTogetherAreWorkedOffInPieces) {
  Client& client = world.connect();
  for (std::uint32_t i = 0; i < 5 * Engine::kJobsPerCall; ++i) world.put(client, {.delay_s = 10});
  world.now = world.now + Duration::seconds(10);
  for (std::uint32_t call = 1; call <= 5; ++call) {
    EXPECT_LE(engine.next_event(), world.now);
    engine.advance(world.now);
    EXPECT_EQ(engine.counts().ready, std::uint64_t{call} * Engine::kJobsPerCall);
    engine.check_invariants();
  }
  EXPECT_EQ(engine.next_event(), Instant::never());
}

TEST_F(EngineTime, TtrsThatEndTogetherAreWorkedOffInPieces) {
  Client& client = world.connect();
  hold(client, 5000, 10);
  world.now = world.now + Duration::seconds(10);
  engine.advance(world.now);
  EXPECT_EQ(engine.counts().timeouts, Engine::kJobsPerCall);
  engine.check_invariants();
  world.pass_ms(0);
  EXPECT_EQ(engine.counts().timeouts, 5000u);
  EXPECT_EQ(engine.counts().ready, 5000u);
}

TEST_F(EngineTime, WaitsThatEndTogetherAreWorkedOffInPieces) {
  constexpr std::uint32_t kClients = 5000;
  for (std::uint32_t i = 0; i < kClients; ++i) world.wait_s(world.connect(), 10);
  world.now = world.now + Duration::seconds(10);
  engine.advance(world.now);
  EXPECT_LE(world.take_deliveries().size(), kDeliveriesPerCall);
  EXPECT_LE(engine.next_event(), world.now);
  engine.check_invariants();
  world.pass_ms(0);
  EXPECT_EQ(engine.counts().waiting, 0u);
}

TEST_F(EngineTime, APauseThatEndsWakesManyWorkersInPieces) {
  constexpr std::uint32_t kClients = 5000;
  Client& producer = world.connect();
  ASSERT_EQ(engine.pause("default", 10, world.now), Outcome::done);
  for (std::uint32_t i = 0; i < kClients; ++i) {
    world.put(producer);
    world.wait(world.connect());
  }
  world.now = world.now + Duration::seconds(10);
  engine.advance(world.now);
  EXPECT_LE(engine.counts().reserved, kDeliveriesPerCall);
  world.pass_ms(0);
  EXPECT_EQ(engine.counts().reserved, kClients);
}

TEST_F(EngineTime, APauseThatIsEndedWakesManyWorkersInPiecesAndInOrder) {
  constexpr std::uint32_t kClients = 5000;
  Client& producer = world.connect();
  ASSERT_EQ(engine.pause("default", 1000, world.now), Outcome::done);
  Gots expected;
  for (std::uint32_t i = 0; i < kClients; ++i) {
    Client& worker = world.connect();
    world.wait(worker);
    expected.push_back(got_job(worker, world.put(producer)));
  }
  ASSERT_EQ(engine.pause("default", 0, world.now), Outcome::done);
  EXPECT_GE(engine.counts().reserved, 1U);
  EXPECT_LE(engine.counts().reserved, kDeliveriesPerCall);
  EXPECT_EQ(world.tube().pause_s, 0u);
  engine.check_invariants();
  // A new client queues behind the earlier ones.
  const JobId last = world.put(producer, {.priority = 4294967295});
  EXPECT_EQ(world.reserve(producer), 0u);
  expected.push_back(got_job(producer, last));
  world.pass_ms(0);
  EXPECT_EQ(world.take_deliveries(), expected);
}

}  // namespace
}  // namespace haricot
