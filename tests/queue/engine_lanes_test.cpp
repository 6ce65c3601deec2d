// Lanes: a limited number of the jobs of a tube with the same key is reserved at a time.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/engine_world.hpp"

namespace haricot {
namespace {

using test::EngineTest;
using test::got_flushed;
using test::got_job;
using test::got_job_in_batch;
using test::got_timed_out;
using test::Gots;

constexpr JobStates kReady = {.ready = true};

class EngineLanesTest : public EngineTest {
 protected:
  JobId put(std::string_view key, std::uint32_t limit = 1, std::uint32_t priority = 100) {
    const std::string tags = "con:" + std::string(key) + ":" + std::to_string(limit);
    const JobId id = world.put(
        producer, {.priority = priority, .tags = key.empty() ? std::string_view() : tags});
    engine.check_invariants();
    return id;
  }
  std::vector<JobId> listed(std::uint32_t count = 100) {
    std::vector<JobRef> refs;
    engine.queries().list(world.tube(), JobState::ready, count, refs);
    std::vector<JobId> ids;
    for (const JobRef ref : refs) ids.push_back(world.id_of(ref));
    return ids;
  }
  JobId peek_ready() { return world.id_of(engine.queries().peek_ready(producer)); }

  Client& producer = world.connect();
  Client& worker = world.connect();
  Client& other = world.connect();
};

using Ids = std::vector<JobId>;

TEST_F(EngineLanesTest, ReadyJobsBeyondTheLimitAreCounted) {
  const auto counted = [&] {
    engine.check_invariants();
    EXPECT_EQ(engine.counts().beyond_limit,
              engine.queries().detail(world.tube(), world.now).beyond_limit);
    return engine.counts().beyond_limit;
  };
  put("");
  put("b");
  const Ids ids{put("a", 2), put("a", 2), put("a", 2), put("a", 2)};
  EXPECT_EQ(counted(), 2U);
  EXPECT_EQ(engine.reserve_job(worker, ids[1], world.now).outcome, Outcome::done);
  EXPECT_EQ(counted(), 2U);
  EXPECT_EQ(engine.reserve_job(worker, ids[3], world.now).outcome, Outcome::done);
  EXPECT_EQ(counted(), 2U);
  EXPECT_EQ(engine.delete_job(producer, ids[0]), Outcome::done);
  EXPECT_EQ(counted(), 1U);
  // A put with a higher limit makes room.
  put("a", 4);
  EXPECT_EQ(counted(), 0U);
  put("a", 1);
  EXPECT_EQ(counted(), 3U);
  EXPECT_EQ(engine.flush(producer, "default", kReady), Outcome::waiting);
  EXPECT_EQ(counted(), 0U);
  put("a", 1);
  EXPECT_EQ(counted(), 1U);
}

TEST_F(EngineLanesTest, OneJobOfAKeyIsReservedAtATime) {
  const JobId first = put("a");
  const JobId second = put("a");
  EXPECT_EQ(world.reserve(worker), first);
  EXPECT_EQ(world.reserve(worker), 0U);
  EXPECT_EQ(world.reserve(other), 0U);
  EXPECT_EQ(world.state(second), JobState::ready);
  EXPECT_EQ(engine.counts().ready, 1U);
  EXPECT_EQ(engine.delete_job(worker, first), Outcome::done);
  EXPECT_EQ(world.reserve(other), second);
}

TEST_F(EngineLanesTest, ThePutLimitsTheReservedJobs) {
  const Ids ids{put("a", 2), put("a", 2), put("a", 2)};
  EXPECT_EQ(world.reserve(worker), ids[0]);
  EXPECT_EQ(world.reserve(other), ids[1]);
  EXPECT_EQ(world.reserve(worker), 0U);
}

TEST_F(EngineLanesTest, JobsBehindABlockedJobAreDelivered) {
  const JobId first = put("a", 1, 0);
  const JobId blocked = put("a", 1, 0);
  const JobId of_other_key = put("b", 1, 5);
  const JobId plain = put("", 1, 7);
  EXPECT_EQ(world.reserve(worker), first);
  EXPECT_EQ(world.reserve(worker), of_other_key);
  EXPECT_EQ(world.reserve(worker), plain);
  EXPECT_EQ(world.reserve(worker), 0U);
  EXPECT_EQ(engine.delete_job(worker, first), Outcome::done);
  EXPECT_EQ(world.reserve(worker), blocked);
}

TEST_F(EngineLanesTest, AKeyIsOneOfItsTube) {
  const JobId first = put("a");
  ASSERT_EQ(engine.use(producer, "tube"), Outcome::done);
  const JobId second = put("a");
  ASSERT_EQ(engine.watch(worker, "tube"), Outcome::done);
  EXPECT_EQ(world.reserve(worker), first);
  EXPECT_EQ(world.reserve(worker), second);
}

TEST_F(EngineLanesTest, TheBestJobOfAKeyComesFirst) {
  const JobId late = put("a", 1, 9);
  const JobId better = put("a", 1, 3);
  const JobId same = put("a", 1, 3);
  const Ids order{better, same, late};
  for (const JobId id : order) {
    EXPECT_EQ(world.reserve(worker), id);
    EXPECT_EQ(world.reserve(worker), 0U);
    EXPECT_EQ(engine.delete_job(worker, id), Outcome::done);
  }
}

TEST_F(EngineLanesTest, EveryEndOfAReservationMakesRoom) {
  const auto begin = [&] {
    const JobId held = put("a", 1, 1);
    EXPECT_EQ(world.reserve(worker), held);
    const JobId next = put("a", 1, 1);
    world.wait(other);
    EXPECT_EQ(world.take_deliveries(), Gots{});
    return std::pair(held, next);
  };
  const auto end = [&](JobId next) {
    EXPECT_EQ(world.take_deliveries(), (Gots{got_job(other, next)}));
    engine.check_invariants();
    EXPECT_EQ(engine.delete_job(other, next), Outcome::done);
    (void)world.flush(producer, "default", {.ready = true, .delayed = true, .buried = true});
  };
  {
    const auto [held, next] = begin();
    EXPECT_EQ(engine.delete_job(worker, held), Outcome::done);
    end(next);
  }
  {
    const auto [held, next] = begin();
    EXPECT_EQ(world.delete_batch(worker, std::vector{held}).jobs, 1U);
    end(next);
  }
  {
    const auto [held, next] = begin();
    EXPECT_EQ(engine.release(worker, held, 2, 0, world.now), Outcome::done);
    end(next);
  }
  {
    const auto [held, next] = begin();
    EXPECT_EQ(engine.release(worker, held, 0, 10, world.now), Outcome::done);
    end(next);
  }
  {
    const auto [held, next] = begin();
    EXPECT_EQ(engine.bury(worker, held, 0), Outcome::done);
    end(next);
  }
  {
    Client& gone = world.connect();
    const JobId held = put("a", 1, 1);
    EXPECT_EQ(world.reserve(gone), held);
    const JobId next = put("a", 1, 0);
    world.wait(other);
    world.disconnect(gone);
    end(next);
  }
  {
    const auto [held, next] = begin();
    EXPECT_EQ(engine.release(worker, held, 2, 0, world.now), Outcome::done);
    EXPECT_EQ(world.take_deliveries(), (Gots{got_job(other, next)}));
    world.wait(worker);
    world.pass_s(61);
    // The job whose TTR has ended is better than the released one.
    EXPECT_EQ(world.take_deliveries(), (Gots{got_job(worker, next)}));
  }
}

TEST_F(EngineLanesTest, AJobWhoseTriesAreUsedUpMakesRoom) {
  Client& gone = world.connect();
  for (int i = 0; i < 4; ++i) world.put(producer, {.ttr_s = 5, .tags = "try:1 con:a"});
  ASSERT_EQ(world.reserve(worker), 1U);
  world.wait(gone);
  EXPECT_EQ(engine.release(worker, 1, 0, 0, world.now), Outcome::buried);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_job(gone, 2)}));
  world.wait(worker);
  world.disconnect(gone);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_job(worker, 3)}));
  engine.check_invariants();
  world.wait(other);
  world.pass_s(5);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_job(other, 4)}));
  EXPECT_EQ(engine.counts().buried, 3U);
}

// A deletion of a batch does not open a job that the batch also deletes.
TEST_F(EngineLanesTest, ABatchOfDeletesGivesNoneOfItsJobsAway) {
  const JobId held = put("a");
  const JobId next = put("a");
  const JobId last = put("a");
  EXPECT_EQ(world.reserve(worker), held);
  world.wait(other);
  EXPECT_EQ(world.delete_batch(worker, std::vector{held, next}).jobs, 2U);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_job(other, last)}));
}

TEST_F(EngineLanesTest, AReleasedJobComesAgainIfItIsTheBest) {
  const JobId first = put("a");
  const JobId second = put("a");
  EXPECT_EQ(world.reserve(worker), first);
  EXPECT_EQ(engine.release(worker, first, 100, 0, world.now), Outcome::done);
  EXPECT_EQ(world.reserve(worker), first);
  EXPECT_EQ(engine.release(worker, first, 101, 0, world.now), Outcome::done);
  EXPECT_EQ(world.reserve(worker), second);
}

TEST_F(EngineLanesTest, TheLimitOfTheLastPutHolds) {
  put("a", 1);
  put("a", 1);
  put("a", 1);
  EXPECT_NE(world.reserve(worker), 0U);
  EXPECT_EQ(world.reserve(worker), 0U);
  world.wait(other);
  put("a", 2, 200);
  EXPECT_EQ(world.take_deliveries().size(), 1U);
  EXPECT_EQ(world.reserve(worker), 0U);
  put("a", 1);
  EXPECT_EQ(engine.delete_job(other, 2), Outcome::done);
  EXPECT_EQ(world.reserve(worker), 0U) << "one is reserved, and so many are allowed by now";
}

TEST_F(EngineLanesTest, AReserveJobTakesABlockedJobAndCounts) {
  const JobId first = put("a", 2);
  const JobId second = put("a", 2);
  const JobId third = put("a", 2);
  const JobId fourth = put("a", 2);
  EXPECT_EQ(world.reserve(worker), first);
  EXPECT_EQ(engine.reserve_job(worker, third, world.now).outcome, Outcome::done);
  engine.check_invariants();
  EXPECT_EQ(world.reserve(worker), 0U);
  EXPECT_EQ(engine.reserve_job(worker, fourth, world.now).outcome, Outcome::done);
  EXPECT_EQ(engine.delete_job(worker, first), Outcome::done);
  EXPECT_EQ(world.reserve(worker), 0U);
  EXPECT_EQ(engine.delete_job(worker, third), Outcome::done);
  EXPECT_EQ(world.reserve(worker), second);
}

TEST_F(EngineLanesTest, BuriedAndDelayedJobsAreBlockedWhenTheyGetReady) {
  const JobId held = put("a");
  EXPECT_EQ(world.reserve(worker), held);
  const JobId buried = put("a");
  EXPECT_EQ(engine.reserve_job(other, buried, world.now).outcome, Outcome::done);
  EXPECT_EQ(engine.bury(other, buried, 5), Outcome::done);
  const JobId delayed = world.put(producer, {.delay_s = 3, .tags = "con:a"});
  EXPECT_EQ(engine.kick_job(buried, world.now), Outcome::done);
  world.pass_s(3);
  EXPECT_EQ(engine.counts().ready, 2U);
  EXPECT_EQ(world.reserve(other), 0U);
  EXPECT_EQ(engine.delete_job(worker, held), Outcome::done);
  EXPECT_EQ(world.reserve(other), buried);
  EXPECT_EQ(engine.delete_job(other, buried), Outcome::done);
  EXPECT_EQ(world.reserve(other), delayed);
}

TEST_F(EngineLanesTest, BlockedJobsAreListedBehindTheOthers) {
  const JobId a1 = put("a", 2, 1);
  const JobId a2 = put("a", 2, 1);
  const JobId a3 = put("a", 2, 1);
  const JobId b1 = put("b", 1, 2);
  const JobId b2 = put("b", 1, 0);
  const JobId plain = put("", 1, 3);
  EXPECT_EQ(listed(), (Ids{b2, a1, a2, plain, a3, b1}));
  EXPECT_EQ(listed(3), (Ids{b2, a1, a2}));
  EXPECT_EQ(world.reserve(worker), b2);
  EXPECT_EQ(world.reserve(worker), a1);
  EXPECT_EQ(listed(), (Ids{a2, plain, a3, b1}));
  EXPECT_EQ(world.reserve(worker), a2);
  EXPECT_EQ(listed(), (Ids{plain, a3, b1}));
}

TEST_F(EngineLanesTest, ABlockedJobIsPeekedOnlyIfNoOtherIsReady) {
  const JobId first = put("a", 1, 0);
  const JobId blocked = put("a", 1, 0);
  const JobId plain = put("", 1, 9);
  EXPECT_EQ(world.reserve(worker), first);
  EXPECT_EQ(peek_ready(), plain);
  EXPECT_EQ(world.reserve(worker), plain);
  EXPECT_EQ(peek_ready(), blocked);
}

TEST_F(EngineLanesTest, ABatchTakesNoMoreOfAKeyThanAllowed) {
  const Ids ids{put("a", 2), put("a", 2), put("a", 2), put("")};
  std::vector<JobRef> taken;
  const BatchBound bound = {[](void*, std::uint32_t) { return true; }, nullptr};
  EXPECT_EQ(engine.reserve_batch(worker, 10, bound, world.now, world.now, taken), Outcome::done);
  Ids got;
  for (const JobRef ref : taken) got.push_back(world.id_of(ref));
  EXPECT_EQ(got, (Ids{ids[0], ids[1], ids[3]}));
  EXPECT_EQ(engine.reserve_batch(other, 10, bound, Instant::never(), world.now, taken),
            Outcome::waiting);
  EXPECT_EQ(engine.delete_job(worker, ids[1]), Outcome::done);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_job_in_batch(other, ids[2])}));
}

TEST_F(EngineLanesTest, AReserveByWeightPassesATubeOverThatHasBlockedJobsOnly) {
  ASSERT_EQ(world.watch(worker, "tube", 60000), Outcome::done);
  ASSERT_EQ(world.set_weighted(worker, true), Outcome::done);
  ASSERT_EQ(engine.use(producer, "tube"), Outcome::done);
  const JobId first = put("a");
  put("a");
  ASSERT_EQ(engine.use(producer, "default"), Outcome::done);
  const JobId plain = put("");
  EXPECT_EQ(engine.reserve_job(other, first, world.now).outcome, Outcome::done);
  EXPECT_EQ(world.reserve(worker), plain);
  EXPECT_EQ(world.reserve(worker), 0U);
}

// The offers of such a client are in a heap of their own.
TEST_F(EngineLanesTest, AClientWithManyWatchesIsOfferedNoBlockedJob) {
  for (std::uint32_t i = 0; i < WatchIndex::kManyFrom; ++i) {
    ASSERT_EQ(engine.watch(worker, "tube" + std::to_string(i)), Outcome::done);
  }
  const JobId first = put("a");
  const JobId second = put("a");
  EXPECT_EQ(world.reserve(other), first);
  EXPECT_EQ(world.reserve(worker), 0U);
  engine.check_invariants();
  EXPECT_EQ(engine.bury(other, first, 0), Outcome::done);
  engine.check_invariants();
  EXPECT_EQ(world.reserve(worker), second);
  world.wait(worker);
  EXPECT_EQ(engine.kick_job(first, world.now), Outcome::done);
  EXPECT_EQ(world.take_deliveries(), Gots{});
  engine.stop_waiting(worker, Delivery::Kind::timed_out);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_timed_out(worker)}));
  EXPECT_EQ(engine.delete_job(worker, second), Outcome::done);
  EXPECT_EQ(world.reserve(worker), first);
}

TEST_F(EngineLanesTest, APausedTubeGivesNothingWhenThereIsRoom) {
  const JobId first = put("a");
  const JobId second = put("a");
  EXPECT_EQ(world.reserve(worker), first);
  EXPECT_EQ(engine.pause("default", 10, world.now), Outcome::done);
  world.wait(other);
  EXPECT_EQ(engine.delete_job(worker, first), Outcome::done);
  EXPECT_EQ(world.take_deliveries(), Gots{});
  world.pass_s(10);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_job(other, second)}));
}

// Flushes -----------------------------------------------------------------------------------------

TEST_F(EngineLanesTest, AFlushTakesBlockedJobsAndLeavesReservedOnes) {
  const JobId first = put("a");
  put("a");
  put("a");
  EXPECT_EQ(world.reserve(worker), first);
  EXPECT_EQ(world.flush(producer, "default", kReady).jobs, 2U);
  engine.check_invariants();
  const JobId next = put("a");
  EXPECT_EQ(world.reserve(other), 0U);
  EXPECT_EQ(engine.delete_job(worker, first), Outcome::done);
  EXPECT_EQ(world.reserve(other), next);
}

// While the jobs of a flush are freed in pieces, the lane continues without them.
TEST_F(EngineLanesTest, ALaneContinuesDuringALongFlush) {
  constexpr std::uint32_t kJobs = 3 * Engine::kJobsPerCall;
  for (std::uint32_t i = 0; i < kJobs; ++i) {
    world.put(producer, {.tags = i % 2 == 0 ? "con:a" : "con:b"});
  }
  const JobId held = world.reserve(worker);
  ASSERT_EQ(world.flush(producer, "default", kReady).outcome, Outcome::waiting);
  engine.check_invariants();
  const JobId next = world.put(worker, {.tags = "con:a"});
  const JobId last = world.put(worker, {.tags = "con:a"});
  engine.check_invariants();
  EXPECT_EQ(world.reserve(other), 0U);
  EXPECT_EQ(engine.delete_job(worker, held), Outcome::done);
  EXPECT_EQ(world.reserve(other), next);
  while (engine.next_event() <= world.now) {
    engine.advance(world.now);
    engine.check_invariants();
  }
  EXPECT_EQ(world.take_deliveries(), (Gots{got_flushed(producer, kJobs - 1)}));
  EXPECT_EQ(engine.jobs().size(), 2U);
  EXPECT_EQ(engine.delete_job(other, next), Outcome::done);
  EXPECT_EQ(world.reserve(other), last);
}

// Memory ------------------------------------------------------------------------------------------

TEST_F(EngineLanesTest, ALaneGoesWithItsLastJob) {
  const std::uint64_t before = engine.memory().used_bytes();
  const JobId first = put("a-key-that-needs-memory-of-its-own");
  const std::uint64_t with_one = engine.memory().used_bytes();
  const JobId second = put("a-key-that-needs-memory-of-its-own");
  EXPECT_LT(engine.memory().used_bytes() - with_one, with_one - before);
  EXPECT_EQ(engine.delete_job(producer, first), Outcome::done);
  EXPECT_EQ(engine.delete_job(producer, second), Outcome::done);
  EXPECT_EQ(engine.memory().used_bytes(), before);
}

TEST_F(EngineLanesTest, TheLimitOfMemoryCountsLanes) {
  constexpr std::uint64_t kBytes = 10'000;
  engine.memory().limit(kBytes);
  std::uint32_t jobs = 0;
  Outcome outcome = Outcome::done;
  while (outcome == Outcome::done) {
    const std::string key = "con:key" + std::to_string(jobs);
    outcome = world.try_put(producer, engine.take_id(), {.body = "x", .tags = key});
    ++jobs;
  }
  EXPECT_EQ(outcome, Outcome::out_of_memory);
  engine.check_invariants();
  EXPECT_LE(engine.memory().used_bytes(), kBytes);
  EXPECT_LT(jobs, kBytes / engine.jobs().memory_bytes_for(1) / 2);
}

// Cost --------------------------------------------------------------------------------------------

// Neither a reserve nor the end of a reservation visits blocked jobs.
TEST_F(EngineLanesTest, BlockedJobsAreNotExamined) {
  constexpr std::uint32_t kJobs = 100'000;
  for (std::uint32_t i = 0; i < kJobs; ++i) {
    world.put(producer, {.priority = i % 7, .tags = "con:a"});
  }
  ASSERT_NE(world.reserve(worker), 0U);
  engine.steps() = 0;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(world.reserve(other), 0U);
    const JobId id = world.put(producer, {.priority = 9});
    ASSERT_EQ(world.reserve(other), id);
    ASSERT_EQ(engine.delete_job(other, id), Outcome::done);
  }
  EXPECT_LE(engine.steps(), 4000U);
}

}  // namespace
}  // namespace haricot
