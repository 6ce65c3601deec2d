#include "haricot/binlog/write/compaction.hpp"

#include <gtest/gtest.h>

#include "binlog/parts_world.hpp"

namespace haricot::binlog {
namespace {

// Runs turns, with all syncs, until there is nothing to do. Returns false if that does not end.
bool compact(PartsWorld& world) {
  for (int turn = 0; turn < 1000; ++turn) {
    world.compaction.advance(world.budget(1600));
    world.settle();
    world.stream.records().end_turn();
    world.compaction.end_turn();
    world.pass(Duration::milliseconds(1));
    if (!world.compaction.has_garbage_to_collect()) return true;
  }
  return false;
}

TEST(Compaction, MovesTheJobsOfTheOldestFileAndRemovesIt) {
  PartsWorld world;
  world.begin();
  std::vector<JobRef> jobs;
  for (int i = 0; i < 200; ++i) jobs.push_back(world.put(200));
  world.settle();
  EXPECT_FALSE(world.compaction.has_garbage_to_collect());
  EXPECT_EQ(world.compaction.next_event(), Instant::never());
  for (std::size_t i = 1; i < jobs.size(); ++i) world.delete_job(jobs[i]);
  world.settle();
  EXPECT_TRUE(world.compaction.has_garbage_to_collect());
  EXPECT_LE(world.compaction.next_event(), world.state.now);
  ASSERT_TRUE(compact(world));
  EXPECT_FALSE(world.disk.has("binlog.1"));
  EXPECT_FALSE(world.removals.empty());
  EXPECT_GT(world.compaction.records_migrated(), 0U);
  EXPECT_LE(world.room.folder_bytes(), world.room.needs().folder_bytes_allowed());
  EXPECT_NE(world.state.segments->of(jobs[0]), nullptr);
  world.state.segments->check_invariants();
}

TEST(Compaction, WaitsForTheSyncOfMovedJobs) {
  PartsWorld world;
  world.begin();
  std::vector<JobRef> jobs;
  for (int i = 0; i < 100; ++i) jobs.push_back(world.put(200));
  for (std::size_t i = 1; i < jobs.size(); ++i) world.delete_job(jobs[i]);
  world.settle();
  world.disk.set_sync_mode(SyncMode::when_told);
  for (int turn = 0; turn < 10; ++turn) {
    world.compaction.advance(world.budget(1600));
    world.stream.records().flush();
    world.stream.records().end_turn();
  }
  EXPECT_TRUE(world.compaction.waits());
  EXPECT_TRUE(world.disk.has("binlog.1"));
  EXPECT_EQ(world.compaction.next_event(), Instant::never());
  world.disk.set_sync_mode(SyncMode::at_once);
  world.disk.complete_syncs();
  ASSERT_TRUE(compact(world));
  EXPECT_FALSE(world.disk.has("binlog.1"));
}

// A crash may keep the page with that record, and lose the pages with the copies.
TEST(Compaction, RecordsAFileAsNotNeededAfterItsJobsAreDurable) {
  PartsWorld world;
  world.begin();
  std::vector<JobRef> jobs;
  for (int i = 0; i < 100; ++i) jobs.push_back(world.put(200));
  for (std::size_t i = 1; i < jobs.size(); ++i) world.delete_job(jobs[i]);
  world.settle();
  world.disk.set_sync_mode(SyncMode::when_told);
  bool has_record = false;
  for (int turn = 0; turn < 30 && world.disk.has("binlog.1"); ++turn) {
    world.compaction.advance(world.budget(1600));
    world.settle();
    has_record = has_record || world.has_record_of_needed_files();
    world.disk.complete_syncs();
    world.stream.syncs().take_ends();
    world.stream.records().end_turn();
    world.compaction.end_turn();
  }
  EXPECT_TRUE(has_record);
  EXPECT_FALSE(world.disk.has("binlog.1"));
}

TEST(Compaction, AFailedRemovalIsRetried) {
  PartsWorld world;
  world.begin();
  std::vector<JobRef> jobs;
  for (int i = 0; i < 100; ++i) jobs.push_back(world.put(200));
  for (const JobRef job : jobs) world.delete_job(job);
  world.settle();
  world.disk.inject({.call = DiskCall::remove});
  for (int i = 0; i < 10 && world.disk.faults_hit() == 0; ++i) {
    world.compaction.advance(world.budget(1600));
    world.settle();
  }
  world.stream.syncs().take_ends();
  ASSERT_EQ(world.disk.faults_hit(), 1U);
  EXPECT_EQ(world.removals.front(), DiskStatus::failed);
  EXPECT_TRUE(world.disk.has("binlog.1"));
  EXPECT_EQ(world.state.notices.errors(), 1U);
  world.pass(Duration::seconds(2));
  ASSERT_TRUE(compact(world));
  EXPECT_FALSE(world.disk.has("binlog.1"));
}

TEST(Compaction, TheHighestIdStaysInTheFolder) {
  PartsWorld world;
  world.begin();
  EXPECT_EQ(world.compaction.mark_id(55), JournalStatus::ok);
  EXPECT_EQ(world.state.segments->newest().highest_id, 55U);
  EXPECT_EQ(world.stream.progress().records(), 2U);
}

TEST(Compaction, EndsWhenItsBudgetIsUsedUp) {
  PartsWorld world({.file_bytes = 65536, .sync = SyncPolicy::every_turn});
  world.begin();
  std::vector<JobRef> jobs;
  while (world.state.segments->size() < 2) jobs.push_back(world.put(200));
  world.settle();
  world.stream.records().end_turn();
  world.state.segments->set_gone_until(1);
  const std::uint64_t before = world.state.steps;
  const std::uint64_t of_commands = world.engine.steps();
  world.compaction.advance(world.budget(200));
  // A record of 200 bytes and its head costs 12 to 14 steps.
  EXPECT_GE(world.compaction.records_migrated(), 200U / 14);
  EXPECT_LE(world.compaction.records_migrated(), 200U / 12 + 1);
  EXPECT_GE(world.state.steps - before, 200U);
  EXPECT_LE(world.state.steps - before, 214U);
  EXPECT_EQ(world.engine.steps(), of_commands) << "no command pays for it";
  EXPECT_GE(world.compaction.moved_this_turn(), 200U);
  world.compaction.end_turn();
  EXPECT_EQ(world.compaction.moved_this_turn(), 0U);
}

TEST(Compaction, DoesNothingWithoutABudget) {
  PartsWorld world;
  world.begin();
  while (world.state.segments->size() < 3) world.put();
  world.settle();
  world.disk.set_sync_mode(SyncMode::when_told);
  world.state.segments->set_gone_until(1);
  while (!world.compaction.waits()) world.compaction.advance(world.budget());
  world.compaction.advance(world.budget(0));
  EXPECT_TRUE(world.compaction.waits()) << "for the sync that it waited for before";
}

TEST(Compaction, MovesJobsOfFilesThatAreGoneAtOnce) {
  PartsWorld world;
  world.begin();
  std::vector<JobRef> jobs;
  while (world.state.segments->size() < 3) jobs.push_back(world.put(200));
  world.settle();
  EXPECT_FALSE(world.compaction.has_garbage_to_collect());
  world.state.segments->oldest().is_gone = true;
  world.state.segments->set_gone_until(1);
  EXPECT_TRUE(world.compaction.has_garbage_to_collect());
  ASSERT_TRUE(compact(world));
  EXPECT_GT(world.state.segments->oldest().number, 1U);
  for (const JobRef job : jobs) EXPECT_GT(world.state.segments->of(job)->number, 1U);
}

}  // namespace
}  // namespace haricot::binlog
