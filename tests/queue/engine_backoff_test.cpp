// Backoffs: delays of jobs whose tries end without a delay.

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "support/allocations.hpp"
#include "support/engine_world.hpp"

namespace haricot::test {
namespace {

class EngineBackoff : public EngineTest {
 protected:
  // Reserves the job, although it may be delayed, and releases it.
  void fail(JobId id, std::uint32_t delay_s = 0) {
    ASSERT_EQ(engine.reserve_job(client, id, world.now).outcome, Outcome::done);
    ASSERT_EQ(engine.release(client, id, 1, delay_s, world.now), Outcome::done);
  }
  JobReport report(JobId id) { return *engine.queries().report(id, world.now); }

  Client& client = world.connect();
};

TEST_F(EngineBackoff, DoublesWithEachTryUpToItsBound) {
  const JobId id = world.put(client, {.tags = "back:10:60"});
  for (const std::uint32_t delay_s : {10U, 20U, 40U, 60U, 60U}) {
    fail(id);
    EXPECT_EQ(world.state(id), JobState::delayed);
    EXPECT_EQ(report(id).delay_s, delay_s);
    EXPECT_EQ(report(id).time_left_s, delay_s);
    engine.check_invariants();
  }
}

TEST_F(EngineBackoff, IsBoundToAnHourOrToItsOwnSeconds) {
  const JobId hour = world.put(client, {.tags = "back:2000"});
  const JobId longer = world.put(client, {.tags = "back:7200"});
  const JobId lower = world.put(client, {.tags = "back:100:50"});
  const JobId longest = world.put(client, {.tags = "back:4294967295:1"});
  for (int tries = 0; tries < 2; ++tries) {
    for (const JobId id : {hour, longer, lower, longest}) fail(id);
  }
  EXPECT_EQ(report(hour).delay_s, 3600U);
  EXPECT_EQ(report(longer).delay_s, 7200U);
  EXPECT_EQ(report(lower).delay_s, 100U);
  EXPECT_EQ(report(longest).delay_s, 4294967295U);
}

TEST_F(EngineBackoff, NeverOverflows) {
  constexpr std::uint32_t kMax = std::numeric_limits<std::uint32_t>::max();
  const JobId id = world.put(client, {.tags = "back:3:4294967295"});
  std::uint32_t before = 0;
  for (int tries = 0; tries < 70; ++tries) {
    fail(id);
    EXPECT_GE(report(id).delay_s, before);
    before = report(id).delay_s;
  }
  EXPECT_EQ(before, kMax);
}

TEST_F(EngineBackoff, ADelayOfAReleaseCountsInsteadAndItsTryToo) {
  const JobId id = world.put(client, {.tags = "back:10"});
  fail(id, 7);
  EXPECT_EQ(report(id).delay_s, 7U);
  fail(id);
  EXPECT_EQ(report(id).delay_s, 20U);
}

TEST_F(EngineBackoff, FollowsTheEndsOfATtrAndOfAConnection) {
  const JobId by_ttr = world.put(client, {.ttr_s = 1, .tags = "back:10"});
  ASSERT_EQ(world.reserve(client), by_ttr);
  world.pass_s(1);
  EXPECT_EQ(report(by_ttr).time_left_s, 10U);
  EXPECT_EQ(journal.written.back().state, JobState::delayed);
  Client& holder = world.connect();
  const JobId by_close = world.put(client, {.tags = "back:30"});
  ASSERT_EQ(world.reserve(holder), by_close);
  world.disconnect(holder);
  EXPECT_EQ(report(by_close).time_left_s, 30U);
  EXPECT_EQ(journal.written.back().id, by_close);
  world.pass_s(10);
  EXPECT_EQ(world.reserve(client), by_ttr);
}

TEST_F(EngineBackoff, DoesNotDelayOtherJobsWithTagsByTheDelayOfTheirPut) {
  const JobId id = world.put(client, {.delay_s = 9, .ttr_s = 1, .tags = "try:5"});
  ASSERT_EQ(engine.reserve_job(client, id, world.now).outcome, Outcome::done);
  world.pass_s(1);
  EXPECT_EQ(world.state(id), JobState::ready);
}

TEST_F(EngineBackoff, BeginsAnewWithAKickOfAnyKind) {
  const JobId id = world.put(client, {.tags = "back:10"});
  fail(id);
  fail(id);
  ASSERT_EQ(engine.kick_job(id, world.now), Outcome::done);
  fail(id);
  EXPECT_EQ(report(id).delay_s, 10U);
  fail(id);
  ASSERT_EQ(world.kick(client, 1).jobs, 1U);
  fail(id);
  EXPECT_EQ(report(id).delay_s, 10U);
  EXPECT_EQ(engine.jobs().facts(engine.peek(id)).tries_before, 4U);
  ASSERT_EQ(engine.reserve_job(client, id, world.now).outcome, Outcome::done);
  ASSERT_EQ(engine.bury(client, id, 1), Outcome::done);
  ASSERT_EQ(world.kick(client, 1).jobs, 1U);
  fail(id);
  EXPECT_EQ(report(id).delay_s, 10U);
}

TEST_F(EngineBackoff, EndsWithTheLimitOfTries) {
  const JobId id = world.put(client, {.tags = "try:3 back:10"});
  fail(id);
  fail(id);
  EXPECT_EQ(report(id).delay_s, 20U);
  ASSERT_EQ(engine.reserve_job(client, id, world.now).outcome, Outcome::done);
  EXPECT_EQ(engine.release(client, id, 1, 0, world.now), Outcome::buried);
  EXPECT_EQ(report(id).burial_cause, BurialCause::released);
  ASSERT_EQ(engine.kick_job(id, world.now), Outcome::done);
  ASSERT_EQ(engine.reserve_job(client, id, world.now).outcome, Outcome::done);
  EXPECT_EQ(engine.release(client, id, 1, 0, world.now), Outcome::buried) << "one more try";
}

TEST_F(EngineBackoff, FreesItsPlaceInALane) {
  const JobId first = world.put(client, {.tags = "con:lane back:10"});
  const JobId second = world.put(client, {.tags = "con:lane back:10"});
  ASSERT_EQ(world.reserve(client), first);
  EXPECT_EQ(world.reserve(client), 0U);
  ASSERT_EQ(engine.release(client, first, 1, 0, world.now), Outcome::done);
  EXPECT_EQ(world.reserve(client), second);
}

// A release is refused, as one with a delay. The other ends cannot be.
TEST_F(EngineBackoff, WithoutMemoryForItTheJobIsBuried) {
  const JobId by_ttr = world.put(client, {.ttr_s = 1, .tags = "back:10"});
  ASSERT_EQ(world.reserve(client), by_ttr);
  Client& holder = world.connect();
  const JobId by_close = world.put(client, {.tags = "back:10"});
  ASSERT_EQ(world.reserve(holder), by_close);
  EXPECT_EQ(journal.promised_burials(), 2U);
  journal.written.reserve(journal.written.size() + 2);
  {
    const AllocationFailure failure;
    EXPECT_EQ(engine.release(client, by_ttr, 1, 0, world.now), Outcome::out_of_memory);
    world.now = world.now + Duration::seconds(1);
    engine.advance(world.now);
    world.disconnect(holder);
    while (engine.counts().reserved > 0) engine.advance(world.now);
  }
  for (const JobId id : {by_ttr, by_close}) EXPECT_EQ(world.state(id), JobState::buried);
  EXPECT_EQ(journal.written.back().state, JobState::buried);
  EXPECT_EQ(journal.promised_burials(), 0U);
  EXPECT_EQ(engine.queries().detail(*engine.find_tube("default"), world.now).buried_by_tries, 0U);
  engine.check_invariants();
}

TEST_F(EngineBackoff, WithMemoryForACauseItsBurialHasOne) {
  const JobId buried = world.put(client, {.tags = "back:10"});
  ASSERT_EQ(world.reserve(client), buried);
  ASSERT_EQ(engine.bury(client, buried, 1), Outcome::done);  // Its chunk has a column now.
  const JobId id = world.put(client, {.ttr_s = 1, .tags = "back:10"});
  ASSERT_EQ(world.reserve(client), id);
  journal.written.reserve(journal.written.size() + 1);
  {
    const AllocationFailure failure;
    world.now = world.now + Duration::seconds(1);
    engine.advance(world.now);
  }
  EXPECT_EQ(report(id).burial_cause, BurialCause::memory);
}

// The burial for lack of memory needs room.
TEST_F(EngineBackoff, RoomForABurialIsReservedForEachOfItsJobs) {
  const JobId id = world.put(client, {.tags = "back:10"});
  EXPECT_TRUE(journal.put_room.may_be_buried);
  EXPECT_TRUE(journal.put_room.has_facts);
  ASSERT_EQ(world.reserve(client), id);
  ASSERT_EQ(engine.bury(client, id, 1), Outcome::done);
  EXPECT_EQ(journal.promised_burials(), 0U);
  ASSERT_EQ(engine.kick_job(id, world.now), Outcome::done);
  EXPECT_EQ(journal.promised_burials(), 1U);
  world.put(client, {.tags = "idp:k"});
  EXPECT_FALSE(journal.put_room.may_be_buried);
  EXPECT_FALSE(journal.put_room.has_facts);
}

TEST_F(EngineBackoff, ARestoredChangeWithOneMoreKickIsTheKick) {
  World next;
  Restoring& restoring = next.engine.restoring();
  const JobCounts before = {5, 0, 0, 0, 1};
  const JobRef ref = restoring.restore({.id = 7,
                                        .created = next.now,
                                        .ttr_s = 60,
                                        .counters = before,
                                        .tags = "back:10",
                                        .facts = {.tries_before = 2}},
                                       "default", body_of_bytes("body"));
  ASSERT_NE(ref, JobRef::none);
  const auto change = [&](const JobCounts& counts) {
    restoring.change(ref, {.id = 7, .created = next.now, .ttr_s = 60, .counters = counts});
    return next.engine.jobs().facts(ref).tries_before;
  };
  EXPECT_EQ(change({6, 0, 1, 0, 1}), 2U);
  EXPECT_EQ(change({6, 0, 1, 0, 2}), 6U);
  EXPECT_EQ(change({7, 0, 1, 0, 2}), 6U);
  ASSERT_TRUE(restoring.place(ref, Instant{}));
  restoring.end(8);
  Client& worker = next.connect();
  ASSERT_EQ(next.reserve(worker), 7U);
  ASSERT_EQ(next.engine.release(worker, 7, 1, 0, next.now), Outcome::done);
  EXPECT_EQ(next.engine.queries().report(7, next.now)->delay_s, 20U);
}

}  // namespace
}  // namespace haricot::test
