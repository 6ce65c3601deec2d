// A disk that is full, and how much of one the folder takes.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "binlog_world.hpp"
#include "haricot/binlog/job_record.hpp"

namespace haricot::binlog {
namespace {

constexpr std::uint64_t kCapacity = 65536;

// Puts jobs until one is refused. Returns their ids.
std::vector<JobId> fill(World& world, std::size_t body_bytes) {
  std::vector<JobId> ids;
  Outcome outcome = Outcome::done;
  while (outcome == Outcome::done && ids.size() < 10000) {
    const JobId id = world.engine.next_id();
    outcome = world.try_put({.body_bytes = body_bytes});
    if (outcome == Outcome::done) ids.push_back(id);
    world.end_turn();
  }
  EXPECT_EQ(outcome, Outcome::out_of_memory);
  EXPECT_FALSE(world.binlog.numbers().refusing);
  return ids;
}

// The folder has to be in proportion to what lives in it.
void expect_small(const World& world, std::uint64_t file_bytes) {
  std::uint64_t live = 0;
  for (const auto& [id, job] : all_jobs(world.engine, world.wall_offset)) {
    live += full_record_bytes(job.tube.size(), job.body_bytes);
  }
  EXPECT_LE(world.file_bytes(), std::max(3 * file_bytes, 3 * live)) << live << " bytes live";
}

TEST(BinlogSpace, OfAFullDiskIsGivenToPutsWithinReason) {
  SimDisk disk;
  disk.set_capacity(kCapacity);
  World world(disk, kSmallFiles);
  const std::size_t jobs = fill(world, 400).size();
  EXPECT_GT(jobs * 500, kCapacity * 6 / 10);
  EXPECT_EQ(world.notices.size(), 1U);
  EXPECT_NE(world.try_put({.body_bytes = 400}), Outcome::done);
  EXPECT_NE(world.try_put({.body_bytes = 60000}), Outcome::done);
}

TEST(BinlogSpace, ItsLackIsToldAtTheBeginAndAtTheEnd) {
  const std::string kBegin = "no space: jobs are refused until there is some";
  const std::string kEnd = "there is space again: jobs are taken";
  for (const std::size_t body_bytes : {0U, 400U, 3000U, 30000U}) {
    SCOPED_TRACE(body_bytes);
    SimDisk disk;
    disk.set_capacity(kCapacity);
    World world(disk, kSmallFiles);
    EXPECT_FALSE(world.binlog.numbers().no_space);
    const std::vector<JobId> ids = fill(world, body_bytes);
    EXPECT_TRUE(world.binlog.numbers().no_space);
    EXPECT_EQ(world.binlog.numbers().refused_puts, 1U);
    // Nobody puts any more, and the disk stays full.
    world.idle(Duration::seconds(60));
    EXPECT_TRUE(world.binlog.numbers().no_space);
    EXPECT_EQ(world.notices, std::vector<std::string>{kBegin});
    EXPECT_EQ(world.try_put({.body_bytes = body_bytes}), Outcome::out_of_memory);
    EXPECT_EQ(world.binlog.numbers().refused_puts, 2U);
    world.end_turn();
    EXPECT_EQ(world.notices, (std::vector<std::string>{kBegin, kBegin})) << "30 seconds are over";
    // Space comes back from elsewhere, and still nobody puts.
    disk.set_capacity(4 * kCapacity);
    world.idle(Duration::seconds(2));
    EXPECT_FALSE(world.binlog.numbers().no_space);
    EXPECT_EQ(world.notices, (std::vector<std::string>{kBegin, kBegin, kEnd}));
    EXPECT_EQ(world.try_put({.body_bytes = body_bytes}), Outcome::done);
    EXPECT_EQ(world.binlog.numbers().refused_puts, 2U);
    world.end_turn();
    world.idle(Duration::seconds(60));
    EXPECT_EQ(world.notices.size(), 3U);
  }
}

TEST(BinlogSpace, ItsLackEndsWhenWorkersHaveMadeRoom) {
  SimDisk disk;
  disk.set_capacity(kCapacity);
  World world(disk, kSmallFiles);
  const std::vector<JobId> ids = fill(world, 400);
  ASSERT_TRUE(world.binlog.numbers().no_space);
  for (const JobId id : ids) ASSERT_EQ(world.remove(id), Outcome::done);
  world.idle();
  EXPECT_FALSE(world.binlog.numbers().no_space);
  EXPECT_EQ(world.notices.size(), 2U);
  EXPECT_EQ(world.try_put({.body_bytes = 400}), Outcome::done);
}

// The log must not be filled by a shortage that comes and goes.
TEST(BinlogSpace, ManyShortLacksAreToldOnce) {
  SimDisk disk;
  disk.set_capacity(kCapacity);
  World world(disk, kSmallFiles);
  for (int i = 0; i < 20; ++i) {
    disk.set_capacity(kCapacity);
    const std::vector<JobId> ids = fill(world, 400);
    disk.set_capacity(4 * kCapacity);
    world.idle(Duration::milliseconds(600));
    for (const JobId id : ids) ASSERT_EQ(world.remove(id), Outcome::done);
    world.idle(Duration::milliseconds(600));
    EXPECT_FALSE(world.binlog.numbers().no_space);
  }
  EXPECT_EQ(world.notices.size(), 2U);
  EXPECT_EQ(world.binlog.numbers().refused_puts, 20U);
}

TEST(BinlogSpace, OfAFullDiskIsEnoughToDeleteAllJobsInAnyOrder) {
  testing::Random random;
  for (const std::size_t body_bytes : {0U, 100U, 900U, 3000U, 9000U}) {
    for (int order = 0; order < 3; ++order) {
      SCOPED_TRACE(std::to_string(body_bytes) + " bytes, order " + std::to_string(order));
      SimDisk disk;
      disk.set_capacity(kCapacity);
      World world(disk, kSmallFiles);
      std::vector<JobId> ids = fill(world, body_bytes);
      const std::size_t jobs = ids.size();
      if (order == 1) std::reverse(ids.begin(), ids.end());
      if (order == 2) {
        for (std::size_t i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[random.below(i)]);
      }
      for (const JobId id : ids) {
        ASSERT_EQ(world.remove(id), Outcome::done);
        if (random.one_in(3)) world.end_turn();
      }
      world.idle();
      EXPECT_EQ(world.binlog.held_records(), world.binlog.records());
      expect_small(world, 4096);
      EXPECT_GE(fill(world, body_bytes).size() * 10, jobs * 8);
      EXPECT_TRUE(world.close());
      const World again(disk, kSmallFiles, world.wall());
      EXPECT_EQ(world.compare(again, world.binlog.records(), true), "");
    }
  }
}

TEST(BinlogSpace, OfAFullDiskIsEnoughToGoOnWorkingWithJobs) {
  for (const std::size_t body_bytes : {20U, 400U, 700U, 3000U}) {
    SCOPED_TRACE(std::to_string(body_bytes) + " bytes");
    SimDisk disk;
    disk.set_capacity(kCapacity);
    World world(disk, kSmallFiles);
    fill(world, body_bytes);
    int refused = 0;
    for (int i = 0; i < 1000; ++i) {
      const JobId id = world.reserve();
      ASSERT_NE(id, 0U);
      if (i % 3 == 0) {
        refused += world.bury(id) != Outcome::done;
        refused += world.kick_job(id) != Outcome::done;
      } else {
        refused += world.release(id) != Outcome::done;
      }
      if (world.engine.counts().reserved > 0) break;
      world.end_turn();
      world.idle(Duration::milliseconds(10));
    }
    EXPECT_EQ(refused, 0);
  }
}

// Nobody gives the disk time: the next command comes at once, some in the same turn.
TEST(BinlogSpace, OfAFullDiskIsEnoughForWorkersThatDoNotPause) {
  for (const std::size_t body_bytes : {20U, 400U, 3000U}) {
    for (const SyncPolicy sync :
         {SyncPolicy::every_turn, SyncPolicy::interval, SyncPolicy::never}) {
      SCOPED_TRACE(std::to_string(body_bytes) + " bytes");
      SimDisk disk;
      disk.set_capacity(kCapacity);
      BinlogOptions options = kSmallFiles;
      options.sync = sync;
      World world(disk, options);
      fill(world, body_bytes);
      int refused = 0;
      for (int i = 0; i < 1000 && refused == 0; ++i) {
        const JobId id = world.reserve();
        ASSERT_NE(id, 0U);
        refused += world.bury(id) != Outcome::done;
        if (i % 4 == 0) world.end_turn();
        refused += world.kick_job(id) != Outcome::done;
        if (i % 7 == 0) world.end_turn();
      }
      EXPECT_EQ(refused, 0);
      world.end_turn();
      world.idle();
      EXPECT_TRUE(world.close());
      const World again(disk, options, world.wall());
      EXPECT_EQ(world.compare(again, world.binlog.records(), true), "");
    }
  }
}

TEST(BinlogSpace, ComesBackWhenTheDiskHasSomeAgain) {
  SimDisk disk;
  disk.set_capacity(kCapacity);
  World world(disk, kSmallFiles);
  const std::size_t jobs = fill(world, 400).size();
  disk.set_capacity(2 * kCapacity);
  world.idle(Duration::seconds(2));
  EXPECT_EQ(world.try_put({.body_bytes = 400}), Outcome::done);
  EXPECT_GT(fill(world, 400).size(), jobs / 2);
}

TEST(BinlogSpace, ThatIsMissingAtTheStartLeavesTheJobsToTheWorkers) {
  SimDisk disk;
  {
    World world(disk, kSmallFiles);
    for (int i = 0; i < 10; ++i) world.put();
    world.end_turn();
    EXPECT_TRUE(world.close());
  }
  disk.set_capacity(disk.used_bytes());
  World world(disk, kSmallFiles, kWallBegin + 1);
  EXPECT_EQ(world.engine.jobs().size(), 10U);
  world.idle(Duration::seconds(3));
  EXPECT_TRUE(world.binlog.numbers().refusing);
  const JobId id = world.reserve();
  EXPECT_NE(id, 0U);
  EXPECT_EQ(world.try_put(), Outcome::out_of_memory);
  EXPECT_EQ(world.remove(id), Outcome::journal_failed);
  disk.set_capacity({});
  world.idle(Duration::seconds(3));
  EXPECT_FALSE(world.binlog.numbers().refusing);
  EXPECT_EQ(world.remove(id), Outcome::done);
  EXPECT_TRUE(world.close());
}

// Proportion --------------------------------------------------------------------------------------

class BinlogFolder : public ::testing::TestWithParam<SyncPolicy> {
 protected:
  BinlogOptions options() const { return {.file_bytes = 16384, .sync = GetParam()}; }
};

TEST_P(BinlogFolder, StaysSmallWhilePutsAndDeletesTakeTurns) {
  SimDisk disk;
  World world(disk, options());
  for (int i = 0; i < 2000; ++i) {
    EXPECT_EQ(world.remove(world.put({.body_bytes = 300})), Outcome::done);
    world.end_turn();
    if (i % 100 == 99) {
      world.idle(Duration::seconds(1));
      expect_small(world, 16384);
    }
  }
}

TEST_P(BinlogFolder, StaysSmallWhileAJobIsReleasedWithADelayForEver) {
  SimDisk disk;
  World world(disk, options());
  const JobId id = world.put({.body_bytes = 300});
  for (int i = 0; i < 3000; ++i) {
    ASSERT_EQ(world.reserve(id), Outcome::done);
    ASSERT_EQ(world.release(id, 1, 1000), Outcome::done);
    world.end_turn();
  }
  world.idle(Duration::seconds(1));
  expect_small(world, 16384);
}

TEST_P(BinlogFolder, StaysSmallAroundAJobThatSurvivesMany) {
  SimDisk disk;
  World world(disk, options());
  for (int round = 0; round < 5; ++round) {
    std::vector<JobId> ids;
    for (int i = 0; i < 300; ++i) ids.push_back(world.put({.body_bytes = 300}));
    world.end_turn();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const Outcome outcome = i == 150 ? Outcome::done : world.remove(ids[i]);
      EXPECT_EQ(outcome, Outcome::done);
    }
    world.idle(Duration::seconds(1));
    expect_small(world, 16384);
  }
  EXPECT_EQ(world.engine.jobs().size(), 5U);
}

TEST_P(BinlogFolder, DoesNotGrowByRestarts) {
  for (const bool cleanly : {true, false}) {
    auto disk = std::make_unique<SimDisk>();
    std::int64_t wall = kWallBegin;
    for (int i = 0; i < 10; ++i) {
      {
        World world(*disk, options(), wall);
        if (i == 0) world.put();
        EXPECT_EQ(world.engine.jobs().size(), 1U);
        world.idle(Duration::seconds(1));
        wall = world.wall();
        EXPECT_TRUE(!cleanly || world.close());
        expect_small(world, 16384);
      }
      SimDisk::Random chance(1);
      disk = disk->crash(chance, {Unsynced::kept, UnsyncedNames::kept});
    }
  }
}

std::string name_of(const ::testing::TestParamInfo<SyncPolicy>& policy) {
  switch (policy.param) {
    case SyncPolicy::every_turn:
      return "SyncsEveryTurn";
    case SyncPolicy::interval:
      return "SyncsByInterval";
    case SyncPolicy::never:
      break;
  }
  return "NoSyncs";
}

INSTANTIATE_TEST_SUITE_P(With, BinlogFolder,
                         ::testing::Values(SyncPolicy::every_turn, SyncPolicy::interval,
                                           SyncPolicy::never),
                         name_of);

}  // namespace
}  // namespace haricot::binlog
