// The limit of memory for jobs: it stops puts, and nothing else.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "haricot/base/memory.hpp"
#include "support/engine_world.hpp"

namespace haricot {
namespace {

using test::World;

constexpr std::size_t kLarge = 20'000;

class EngineMemory : public ::testing::Test {
 protected:
  // Allows this many jobs with bodies of that size, in addition to the existing ones.
  void allow(std::uint64_t jobs, std::size_t body_bytes) {
    world.engine.memory().limit(world.engine.jobs().memory_bytes() +
                                jobs * world.engine.jobs().memory_bytes_for(body_bytes));
  }
  Outcome try_put(std::size_t body_bytes) {
    return world.try_put(client, world.engine.take_id(), {.body = std::string(body_bytes, 'x')});
  }
  void TearDown() override { world.engine.check_invariants(); }

  World world;
  Client& client = world.connect();
};

TEST_F(EngineMemory, WithoutALimitNothingIsRefused) {
  for (int i = 0; i < 100; ++i) EXPECT_EQ(try_put(kLarge), Outcome::done);
  EXPECT_EQ(world.engine.counts().refused_puts, 0U);
}

TEST_F(EngineMemory, TheLastJobThatFitsIsTakenAndTheNextRefused) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{1024}, std::size_t{1025}, kLarge}) {
    SCOPED_TRACE(bytes);
    const std::uint64_t refused = world.engine.counts().refused_puts;
    const std::uint64_t total = world.engine.counts().total_jobs;
    allow(3, bytes);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(try_put(bytes), Outcome::done);
    EXPECT_EQ(try_put(bytes), Outcome::out_of_memory);
    EXPECT_EQ(world.engine.counts().refused_puts, refused + 1);
    EXPECT_EQ(world.engine.counts().total_jobs, total + 3);
    EXPECT_FALSE(world.journal.has_open_room());
  }
}

TEST_F(EngineMemory, ASmallJobMayFitWhereALargeOneDoesNot) {
  allow(1, kLarge - 1);
  EXPECT_EQ(try_put(kLarge), Outcome::out_of_memory);
  EXPECT_EQ(try_put(10), Outcome::done);
}

TEST_F(EngineMemory, DeletingMakesRoomForAsMuch) {
  allow(2, kLarge);
  const JobId first = world.put(client, {.body = std::string(kLarge, 'x')});
  world.put(client, {.body = std::string(kLarge, 'x')});
  EXPECT_EQ(try_put(kLarge), Outcome::out_of_memory);
  ASSERT_EQ(world.engine.delete_job(client, first), Outcome::done);
  EXPECT_EQ(try_put(kLarge), Outcome::done);
  EXPECT_EQ(try_put(0), Outcome::out_of_memory);
}

// The limit may be below the current use, as after restoring a binlog. 16 jobs are the limit; two
// of them are an eighth.
TEST_F(EngineMemory, AShortageBeginsWithARefusalAndEndsWithAnEighthFree) {
  allow(16, kLarge);
  std::vector<JobId> ids;
  for (int i = 0; i < 16; ++i) {
    EXPECT_FALSE(world.engine.memory().is_short());
    ids.push_back(world.put(client, {.body = std::string(kLarge, 'x')}));
  }
  EXPECT_FALSE(world.engine.memory().is_short()) << "nothing was refused";
  EXPECT_EQ(try_put(0), Outcome::out_of_memory);
  EXPECT_TRUE(world.engine.memory().is_short());

  // One job out and one in does not end it.
  ASSERT_EQ(world.engine.delete_job(client, ids[0]), Outcome::done);
  EXPECT_TRUE(world.engine.memory().is_short());
  ASSERT_EQ(try_put(kLarge), Outcome::done);
  EXPECT_TRUE(world.engine.memory().is_short());
  ASSERT_EQ(world.engine.delete_job(client, ids[1]), Outcome::done);
  ASSERT_EQ(world.engine.delete_job(client, ids[2]), Outcome::done);
  EXPECT_FALSE(world.engine.memory().is_short());
  // Filling up without a refusal is not a shortage.
  ASSERT_EQ(try_put(0), Outcome::done);
  ASSERT_EQ(try_put(kLarge), Outcome::done);
  EXPECT_FALSE(world.engine.memory().is_short());
  EXPECT_EQ(world.engine.counts().refused_puts, 1U);
}

TEST_F(EngineMemory, ShortageEndsWhenABodyOfThatSizeFits) {
  Engine& engine = world.engine;
  engine.memory().limit(1'000'000);
  Memory::limit(1'000'000);
  void* const ballast = Memory::allocate(Memory::kOwnBytes + 1'000'000);
  EXPECT_GE(engine.memory().used_bytes(), 1'000'000U);
  EXPECT_FALSE(engine.memory().is_short());
  engine.memory().count_refused_put(100);
  EXPECT_EQ(engine.counts().refused_puts, 1U);
  EXPECT_TRUE(engine.memory().is_short());
  engine.memory().mark_put(99);
  EXPECT_TRUE(engine.memory().is_short());
  engine.memory().mark_put(100);
  EXPECT_FALSE(engine.memory().is_short());
  engine.memory().count_refused_put(100);
  Memory::free(ballast);
  EXPECT_FALSE(engine.memory().is_short());
  Memory::limit(SIZE_MAX);
}

TEST_F(EngineMemory, AShortageForLargeJobsEndsWhenTheyFit) {
  allow(4, kLarge);
  std::vector<JobId> ids;
  for (int i = 0; i < 3; ++i) {
    ids.push_back(world.put(client, {.body = std::string(kLarge, 'x')}));
  }
  EXPECT_EQ(try_put(2 * kLarge), Outcome::out_of_memory);
  EXPECT_TRUE(world.engine.memory().is_short());
  ASSERT_EQ(world.engine.delete_job(client, ids[0]), Outcome::done);
  EXPECT_FALSE(world.engine.memory().is_short());
  EXPECT_EQ(try_put(100 * kLarge), Outcome::out_of_memory);
  EXPECT_FALSE(world.engine.memory().is_short()) << "a body that never fits";
}

TEST_F(EngineMemory, NothingButAPutAsksForIt) {
  for (int i = 0; i < 5; ++i) world.put(client, {.ttr_s = 5});
  world.engine.memory().limit(1);
  EXPECT_EQ(try_put(0), Outcome::out_of_memory);

  EXPECT_EQ(world.reserve(client), 1U);
  EXPECT_EQ(world.engine.touch(client, 1, world.now), Outcome::done);
  EXPECT_EQ(world.engine.release(client, 1, 0, 10, world.now), Outcome::done);
  EXPECT_EQ(world.engine.kick_job(1, world.now), Outcome::done);
  EXPECT_EQ(world.reserve(client), 1U);
  EXPECT_EQ(world.engine.bury(client, 1, 0), Outcome::done);
  EXPECT_EQ(world.kick(client, 10).jobs, 1U);
  EXPECT_EQ(world.engine.reserve_job(client, 3, world.now).outcome, Outcome::done);
  world.pass_s(6);
  EXPECT_EQ(world.engine.counts().timeouts, 1U);
  EXPECT_EQ(world.engine.use(client, "other"), Outcome::done);
  EXPECT_EQ(world.engine.watch(client, "other"), Outcome::done);
  EXPECT_EQ(world.engine.pause("other", 1, world.now), Outcome::done);
  for (JobId id = 1; id <= 5; ++id) EXPECT_EQ(world.engine.delete_job(client, id), Outcome::done);
  EXPECT_EQ(world.engine.jobs().memory_bytes(), 0U);
}

TEST_F(EngineMemory, RestoredJobsAreAdmitted) {
  world.engine.memory().limit(1);
  RestoredJob job;
  job.id = 7;
  const JobRef ref =
      world.engine.restoring().restore(job, "default", {.bytes = "body", .blob = {}});
  ASSERT_NE(ref, JobRef::none);
  ASSERT_TRUE(world.engine.restoring().place(ref, world.now));
  world.engine.restoring().end(8);
  EXPECT_EQ(world.reserve(client), 7U);
}

}  // namespace
}  // namespace haricot
