// Reported times of tubes, as jobs move.

#include <gtest/gtest.h>

#include <vector>

#include "support/allocations.hpp"
#include "support/engine_world.hpp"

namespace haricot {
namespace {

class EngineDetail : public test::EngineTest {
 protected:
  TubeDetail detail(const char* tube = "default") {
    return engine.queries().detail(*engine.find_tube(tube), world.now);
  }
  std::uint64_t oldest_ready() { return detail().oldest_ready_s; }
  std::uint64_t oldest_buried() { return detail().oldest_buried_s; }
  static bool is_near(std::uint64_t reported, std::uint64_t exact) {
    return reported * 10 >= exact * 9 - 10 && reported * 10 <= exact * 11 + 10;
  }
};

TEST_F(EngineDetail, AReadyJobAgesFromWhenItBecameReady) {
  Client& client = world.connect();
  const JobId id = world.put(client, {.delay_s = 100});
  world.pass_s(100);
  EXPECT_EQ(oldest_ready(), 0u);
  world.pass_s(7);
  EXPECT_EQ(oldest_ready(), 7u);
  ASSERT_EQ(world.reserve(client), id);
  EXPECT_EQ(oldest_ready(), 0u);
  world.pass_s(5);
  ASSERT_EQ(engine.release(client, id, 1, 0, world.now), Outcome::done);
  world.pass_s(3);
  EXPECT_EQ(oldest_ready(), 3u);
  ASSERT_EQ(world.reserve(client), id);
  ASSERT_EQ(engine.bury(client, id, 1), Outcome::done);
  world.pass_s(4);
  EXPECT_EQ(oldest_ready(), 0u);
  EXPECT_EQ(oldest_buried(), 4u);
  ASSERT_EQ(engine.kick_job(id, world.now), Outcome::done);
  world.pass_s(2);
  EXPECT_EQ(oldest_ready(), 2u);
  EXPECT_EQ(oldest_buried(), 0u);
}

TEST_F(EngineDetail, TheOldestReadyJobIsNotTheOneThatIsServedFirst) {
  Client& client = world.connect();
  world.put(client, {.priority = 9});
  world.pass_s(30);
  const JobId urgent = world.put(client, {.priority = 1});
  world.pass_s(1);
  EXPECT_EQ(oldest_ready(), 31u);
  ASSERT_EQ(world.reserve(client), urgent);
  EXPECT_EQ(oldest_ready(), 31u);
}

// Far more jobs than are scanned, and then fewer again, removed in various orders.
TEST_F(EngineDetail, TheAgeOfTheOldestOfManyIsReportedWithinATenth) {
  Client& client = world.connect();
  std::vector<std::pair<JobId, Instant>> jobs;
  for (std::uint32_t i = 0; i < 1500; ++i) {
    jobs.emplace_back(world.put(client, {.priority = i * 7919 % 1500, .ttr_s = 4'000'000}),
                      world.now);
    world.pass_s(1 + i / 100);
  }
  EXPECT_NE(engine.find_tube("default")->times->ready, nullptr);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    EXPECT_PRED2(is_near, oldest_ready(), (world.now - jobs[i].second).whole_seconds());
    ASSERT_EQ(engine.delete_job(client, jobs[i].first), Outcome::done);
    world.pass_ms(700);
  }
  EXPECT_EQ(oldest_ready(), 0u);
  EXPECT_EQ(engine.find_tube("default")->times->ready, nullptr);
}

TEST_F(EngineDetail, AFlushLeavesNothingBehind) {
  Client& client = world.connect();
  for (int i = 0; i < 600; ++i) world.put(client);
  const JobId id = world.reserve(client);
  ASSERT_EQ(engine.bury(client, id, 1), Outcome::done);
  world.pass_s(50);
  EXPECT_PRED2(is_near, oldest_ready(), 50u);
  EXPECT_EQ(oldest_buried(), 50u);
  ASSERT_EQ(world.flush(client, "default", {.ready = true, .buried = true}).jobs, 600u);
  EXPECT_EQ(oldest_ready(), 0u);
  EXPECT_EQ(oldest_buried(), 0u);
  for (int i = 0; i < 600; ++i) world.put(client);
  world.pass_s(10);
  EXPECT_PRED2(is_near, oldest_ready(), 10u);
}

TEST_F(EngineDetail, WaitsAndWorkAreReportedInMilliseconds) {
  Client& client = world.connect();
  Client& other = world.connect();
  const JobId id = world.put(client);
  world.pass_ms(400);
  ASSERT_EQ(world.reserve(client), id);
  world.pass_ms(3000);
  ASSERT_EQ(engine.touch(client, id, world.now), Outcome::done);
  world.pass_ms(90);
  EXPECT_EQ(detail().worked.max_ms, 0u);
  ASSERT_EQ(engine.delete_job(client, id), Outcome::done);
  EXPECT_PRED2(is_near, detail().queued.p50_ms, 400u);
  EXPECT_PRED2(is_near, detail().queued.max_ms, 400u);
  EXPECT_PRED2(is_near, detail().worked.p99_ms, 90u);
  // A job that is deleted while it is ready counts no working time.
  const JobId ready = world.put(client);
  world.pass_ms(8000);
  ASSERT_EQ(engine.delete_job(other, ready), Outcome::done);
  EXPECT_PRED2(is_near, detail().worked.max_ms, 90u);
  EXPECT_PRED2(is_near, detail().queued.max_ms, 400u);
  // A waiting client gets a job at once.
  world.wait(other);
  world.put(client);
  EXPECT_EQ(detail().queued.p50_ms, 0u);
}

TEST_F(EngineDetail, JobsOfABatchCountOneByOne) {
  Client& client = world.connect();
  std::vector<JobId> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(world.put(client));
  world.pass_ms(200);
  std::vector<JobRef> taken;
  const BatchBound no_bound = {[](void*, std::uint32_t) { return true; }, nullptr};
  ASSERT_EQ(engine.reserve_batch(client, 5, no_bound, world.now, world.now, taken), Outcome::done);
  world.pass_ms(700);
  ASSERT_EQ(world.delete_batch(client, ids).jobs, 5u);
  EXPECT_PRED2(is_near, detail().queued.p50_ms, 200u);
  EXPECT_PRED2(is_near, detail().worked.p50_ms, 700u);
}

TEST_F(EngineDetail, AJobThatIsReservedWhileItIsBuriedHasNotQueued) {
  Client& client = world.connect();
  const JobId id = world.put(client);
  ASSERT_EQ(world.reserve(client), id);
  ASSERT_EQ(engine.bury(client, id, 1), Outcome::done);
  world.pass_s(9);
  ASSERT_EQ(engine.reserve_job(client, id, world.now).outcome, Outcome::done);
  EXPECT_EQ(detail().queued.max_ms, 0u);
  EXPECT_EQ(oldest_buried(), 0u);
}

// The command succeeds, and is not counted.
TEST_F(EngineDetail, WithoutMemoryNothingIsCountedAndNothingFails) {
  Client& client = world.connect();
  const JobId id = world.put(client);
  const JobId other = world.put(client);
  ASSERT_TRUE(engine.find_tube("default")->times == nullptr);
  ASSERT_EQ(world.reserve(client), id);  // It has room for its held jobs from now on.
  engine.find_tube("default");
  ASSERT_EQ(engine.delete_job(client, id), Outcome::done);
  const_cast<Tube*>(engine.find_tube("default"))->times.reset();
  ASSERT_EQ(world.reserve(client), other);
  const_cast<Tube*>(engine.find_tube("default"))->times.reset();
  world.pass_s(3);
  Outcome buried = Outcome::done;
  {
    const test::AllocationFailure failure;
    buried = engine.bury(client, other, 1);
  }
  EXPECT_EQ(buried, Outcome::done);
  EXPECT_TRUE(engine.find_tube("default")->times == nullptr);
  world.pass_s(3);
  EXPECT_EQ(oldest_buried(), 0u);
  ASSERT_EQ(engine.kick_job(other, world.now), Outcome::done);
  ASSERT_EQ(world.reserve(client), other);
  // The following ones are counted.
  const JobId third = world.put(client);
  ASSERT_EQ(world.reserve(client), third);
  ASSERT_EQ(engine.bury(client, third, 1), Outcome::done);
  world.pass_s(2);
  EXPECT_EQ(oldest_buried(), 2u);
}

TEST_F(EngineDetail, AnUnusedTubeHasNoTimes) {
  Client& client = world.connect();
  for (int i = 0; i < 200; ++i) world.put(client);
  EXPECT_EQ(engine.find_tube("default")->times, nullptr);
  EXPECT_LE(sizeof(TubeTimes), 504u);
}

}  // namespace
}  // namespace haricot
