// The size of the folder in proportion to its jobs.

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "binlog_world.hpp"
#include "folder_proportion.hpp"

namespace haricot::binlog {
namespace {

class BinlogFolder : public ::testing::TestWithParam<SyncPolicy> {
 protected:
  BinlogOptions options() const { return {.file_bytes = 16384, .sync = GetParam()}; }
};

TEST_P(BinlogFolder, StaysSmallUnderPutsAndDeletes) {
  SimDisk disk;
  World world(disk, options());
  for (int i = 0; i < 2000; ++i) {
    EXPECT_EQ(world.delete_job(world.put({.body_bytes = 300})), Outcome::done);
    world.end_turn();
    if (i % 100 == 99) {
      world.idle(Duration::seconds(1));
      expect_small(world, 16384);
    }
  }
}

TEST_P(BinlogFolder, StaysSmallUnderEndlessReleases) {
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

TEST_P(BinlogFolder, StaysSmallAroundALongLivedJob) {
  SimDisk disk;
  World world(disk, options());
  for (int round = 0; round < 5; ++round) {
    std::vector<JobId> ids;
    for (int i = 0; i < 300; ++i) ids.push_back(world.put({.body_bytes = 300}));
    world.end_turn();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const Outcome outcome = i == 150 ? Outcome::done : world.delete_job(ids[i]);
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

INSTANTIATE_TEST_SUITE_P(With, BinlogFolder, kEachSyncPolicy, name_of_policy);

}  // namespace
}  // namespace haricot::binlog
