// Compaction of a folder whose jobs come and go.

#include <gtest/gtest.h>

#include <algorithm>

#include "binlog_world.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "support/sanitized.hpp"

namespace haricot::binlog {
namespace {

// Leaves a folder of five files without a job, none of them removed yet.
void fill_and_empty(World& world) {
  while (world.binlog.numbers().current_index < 5) {
    world.put({.body_bytes = 1000});
    world.end_turn();
  }
  for (JobId id = 1; id < world.engine.next_id(); ++id) {
    ASSERT_EQ(world.delete_job(id), Outcome::done);
  }
}

TEST(BinlogCompaction, RemovesFilesOneAtATime) {
  SimDisk disk;
  World world(disk, kSmallFiles);
  fill_and_empty(world);
  disk.set_sync_mode(SyncMode::when_told);
  int removed = 0;
  for (int turn = 0; turn < 60; ++turn) {
    const std::uint64_t oldest = world.binlog.numbers().oldest_index;
    world.end_turn();
    if (world.binlog.numbers().oldest_index != oldest) {
      ++removed;
      EXPECT_EQ(world.binlog.numbers().oldest_index, oldest + 1);
      EXPECT_TRUE(oldest == 1 || !disk.has_durable(binlog_file_name(oldest - 1)));
    }
    if (turn % 3 == 2) disk.complete_syncs(1);
  }
  EXPECT_EQ(removed, 4);
}

TEST(BinlogCompaction, KeepsAFileUntilAHigherIdIsDurable) {
  SimDisk disk;
  {
    World world(disk, kSmallFiles);
    world.put();
    world.end_turn();
    EXPECT_TRUE(world.close());
  }
  BinlogOptions options = kSmallFiles;
  options.sync = SyncPolicy::interval;
  World world(disk, options, kWallBegin + 1);
  disk.complete_syncs();
  EXPECT_EQ(world.delete_job(1), Outcome::done);
  world.put();
  world.end_turn();
  // Neither the deletion nor the new job is durable.
  EXPECT_TRUE(disk.has("binlog.1"));
  world.idle();
  EXPECT_FALSE(disk.has("binlog.1"));
}

TEST(BinlogCompaction, EndsWithoutSyncsToo) {
  SimDisk disk;
  BinlogOptions options = kSmallFiles;
  options.sync = SyncPolicy::never;
  World world(disk, options);
  fill_and_empty(world);
  world.idle();
  EXPECT_EQ(world.binlog.numbers().oldest_index, world.binlog.numbers().current_index);
}

TEST(BinlogCompaction, ContinuesWhenAFileIsGoneAlready) {
  SimDisk disk;
  World world(disk, kSmallFiles);
  fill_and_empty(world);
  // The first file to be removed is a spare.
  disk.inject({.nth = 2, .call = DiskCall::remove, .takes_effect = true});
  world.idle();
  EXPECT_EQ(disk.faults_hit(), 1U);
  EXPECT_EQ(world.binlog.numbers().errors, 0U) << "it is as it should be";
  EXPECT_EQ(world.binlog.numbers().oldest_index, world.binlog.numbers().current_index);
}

TEST(BinlogCompaction, RetriesAFailedRemoval) {
  SimDisk disk;
  World world(disk, kSmallFiles);
  fill_and_empty(world);
  disk.inject({.nth = 2, .call = DiskCall::remove});
  world.idle();
  EXPECT_EQ(disk.faults_hit(), 1U);
  EXPECT_EQ(world.notices.size(), 1U);
  EXPECT_EQ(world.binlog.numbers().oldest_index, world.binlog.numbers().current_index);
  EXPECT_FALSE(disk.has("binlog.1"));
}

// Server with endless puts and deletes, on a disk that ends few syncs in that time.
class BusyBinlog : public ::testing::TestWithParam<SyncPolicy> {};

INSTANTIATE_TEST_SUITE_P(OfEachPolicy, BusyBinlog, kEachSyncPolicy, name_of_policy);

TEST_P(BusyBinlog, StaysSmallOnASlowDisk) {
  constexpr std::uint64_t kFileBytes = 16384;
  constexpr std::uint64_t kTurns = test::kIsSanitized ? 600 : 3000;
  SimDisk disk;
  World world(disk, {.file_bytes = kFileBytes, .sync = GetParam()});
  disk.set_sync_mode(SyncMode::when_told);
  std::uint64_t most = 0;
  for (std::uint64_t turn = 0; turn < kTurns; ++turn) {
    for (int i = 0; i < 10; ++i) world.delete_job(world.put({.body_bytes = 500}));
    world.end_turn();
    world.pass(Duration::milliseconds(1));
    if (turn % 10 == 0) disk.complete_syncs(1);
    most = std::max(most, world.file_bytes());
  }
  EXPECT_GT(world.binlog.numbers().current_index, kTurns / 6);
  EXPECT_LT(most, 14 * kFileBytes);
}

// In a busy server the newest file has the highest id but is never durable, so an older file
// suffices.
TEST(BinlogCompaction, WaitsForNoHigherIdThanNeeded) {
  SimDisk disk;
  World world(disk, kSmallFiles);
  fill_and_empty(world);
  world.end_turn();
  disk.complete_syncs();
  disk.set_sync_mode(SyncMode::when_told);
  const std::uint64_t oldest = world.binlog.numbers().oldest_index;
  for (int turn = 0; turn < 20; ++turn) {
    world.put();  // Not durable when the turn ends.
    world.end_turn();
    disk.complete_syncs(1);
  }
  EXPECT_GT(world.binlog.numbers().oldest_index, oldest + 2);
}

}  // namespace
}  // namespace haricot::binlog
