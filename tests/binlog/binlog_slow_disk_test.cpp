// A disk with slow syncs: no call of the binlog waits for them. Work that needs them is put off,
// and the work under way stays bounded.
//
// The disk of a World checks that no call waits: it ends the program otherwise.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "binlog_world.hpp"

namespace haricot::binlog {
namespace {

class SlowDisk : public ::testing::TestWithParam<SyncPolicy> {
 protected:
  BinlogOptions options(std::uint64_t file_bytes = 4096) const {
    return {.file_bytes = file_bytes, .sync = GetParam()};
  }

  // Checks that the folder is in order and has everything that was promised, once the disk has
  // caught up.
  static void expect_recovered(World& world, const BinlogOptions& options) {
    world.disk.set_sync_mode(SyncMode::at_once);
    world.disk.complete_syncs();
    world.idle();
    EXPECT_EQ(world.binlog.safe_records(), world.binlog.records());
    EXPECT_TRUE(world.close());
    const World again(world.disk, options, world.wall());
    EXPECT_EQ(world.compare(again, world.binlog.records(), true), "");
  }
};

// A producer's jobs are deleted at once, on a disk that makes no progress.
TEST_P(SlowDisk, PutsWaitInsteadOfMakingTheFolderGrow) {
  SimDisk disk;
  World world(disk, options());
  disk.set_sync_mode(SyncMode::when_told);
  int taken = 0;
  Outcome outcome = Outcome::done;
  while (outcome == Outcome::done && taken < 20'000) {
    outcome = world.put_at_once({.body_bytes = 300});
    if (outcome != Outcome::done) break;
    ++taken;
    if (world.engine.delete_job(world.client, world.engine.next_id() - 1) == Outcome::not_yet)
      break;
    world.end_turn();
  }
  EXPECT_LT(taken, 20'000) << "the folder grows without an end";
  EXPECT_GT(taken, 20);
  // Three times the allowed size, and the file that was begun last.
  EXPECT_LE(world.file_bytes(), 3 * 3 * 4096U + 4096U);
  // Puts continue at the pace of the disk.
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(world.delete_job(world.put({.body_bytes = 300})), Outcome::done);
    world.end_turn();
    EXPECT_LE(world.file_bytes(), 3 * 3 * 4096U + 2 * 4096U);
  }
  expect_recovered(world, options());
}

TEST_P(SlowDisk, WaitingCommandsAreNotifiedOnlyAfterDiskProgress) {
  SimDisk disk;
  World world(disk, options());
  disk.set_sync_mode(SyncMode::when_told);
  while (world.put_at_once({.body_bytes = 300}) == Outcome::done) {
    const Outcome removed = world.engine.delete_job(world.client, world.engine.next_id() - 1);
    world.end_turn();
    if (removed == Outcome::not_yet) break;
  }
  for (int i = 0; i < 3; ++i) world.end_turn();
  (void)world.binlog.may_try_again();  // Takes the notification of an end that came meanwhile.
  ASSERT_EQ(world.put_at_once({.body_bytes = 300}), Outcome::not_yet);
  for (int i = 0; i < 10; ++i) {
    world.end_turn();
    EXPECT_FALSE(world.binlog.may_try_again());
    EXPECT_GT(world.binlog.next_event(), world.now) << "it waits without being busy";
  }
  disk.complete_syncs(1);
  world.end_turn();
  EXPECT_LE(world.binlog.next_event(), world.now);
  EXPECT_TRUE(world.binlog.may_try_again());
  EXPECT_FALSE(world.binlog.may_try_again());
}

TEST_P(SlowDisk, OldFilesAreRemovedBesideTheTurns) {
  SimDisk disk;
  World world(disk, options());
  disk.set_sync_mode(SyncMode::when_told);
  for (int i = 0; i < 60; ++i) {
    if (world.put_at_once({.body_bytes = 300}) != Outcome::done) break;
    if (world.engine.delete_job(world.client, world.engine.next_id() - 1) != Outcome::done) break;
    world.end_turn();
  }
  // All possible syncs have ended, so the removal of a file has begun. It has not ended.
  std::vector<std::string> before;
  for (int i = 0; i < 100 && disk.calls(DiskCall::remove) == 0; ++i) {
    disk.complete_syncs(1);
    ASSERT_EQ(disk.list(before), DiskStatus::ok);
    world.end_turn();
  }
  ASSERT_GT(disk.calls(DiskCall::remove), 0U);
  EXPECT_TRUE(disk.has("binlog.1"));
  world.end_turn();
  EXPECT_EQ(world.binlog.numbers().oldest_index, 1U);
  while (disk.has("binlog.1")) ASSERT_LT(disk.complete_syncs(1), 100U);
  world.end_turn();
  EXPECT_GT(world.binlog.numbers().oldest_index, 1U);
  expect_recovered(world, options());
}

TEST_P(SlowDisk, AFileThatCannotBeRemovedStopsNoCommand) {
  SimDisk disk;
  World world(disk, options());
  disk.inject({.call = DiskCall::remove, .lasts = true});
  for (int i = 0; i < 500; ++i) {
    ASSERT_EQ(world.delete_job(world.put({.body_bytes = 300})), Outcome::done);
    world.end_turn();
  }
  EXPECT_TRUE(disk.has("binlog.1"));
  EXPECT_FALSE(world.notices.empty());
  disk.clear_faults();
  world.pass(Duration::seconds(2));
  expect_recovered(world, options());
  EXPECT_FALSE(disk.has("binlog.1"));
}

TEST_P(SlowDisk, WorkersOnAFullDiskContinueAtItsPace) {
  SimDisk disk;
  disk.set_capacity(65536);
  World world(disk, options());
  while (world.try_put({.body_bytes = 400}) == Outcome::done) world.end_turn();
  disk.set_sync_mode(SyncMode::when_told);
  for (int i = 0; i < 300; ++i) {
    const JobId id = world.reserve();
    ASSERT_NE(id, 0U);
    ASSERT_EQ(world.bury(id), Outcome::done);
    ASSERT_EQ(world.kick_job(id), Outcome::done);
    if (i % 5 == 0) world.end_turn();
  }
  disk.set_capacity({});
  expect_recovered(world, options());
}

INSTANTIATE_TEST_SUITE_P(With, SlowDisk, kEachSyncPolicy, name_of_policy);

// Files keep their descriptors until they are synced, and their number is limited.
TEST(SlowDiskFiles, PutsWaitForUnsyncedFiles) {
  SimDisk disk;
  BinlogOptions options = kSmallFiles;
  options.open_files_max = 8;
  World world(disk, options);
  disk.set_sync_mode(SyncMode::when_told);
  Outcome outcome = Outcome::done;
  int puts = 0;
  while (outcome == Outcome::done && puts < 1000) {
    outcome = world.put_at_once({.body_bytes = 2000});
    world.end_turn();
    ASSERT_LE(disk.open_files(), 8U);
    ++puts;
  }
  EXPECT_EQ(outcome, Outcome::not_yet);
  EXPECT_LT(puts, 20);
  disk.complete_syncs();
  world.end_turn();
  EXPECT_TRUE(world.binlog.may_try_again());
  EXPECT_EQ(world.put_at_once({.body_bytes = 2000}), Outcome::done);
}

}  // namespace
}  // namespace haricot::binlog
