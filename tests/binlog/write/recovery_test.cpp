#include "haricot/binlog/write/recovery.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "binlog/parts_world.hpp"

namespace haricot::binlog {
namespace {

// Runs turns until recovery is complete. Returns false if it is not after 100 turns.
bool recover(PartsWorld& world) {
  for (int turn = 0; turn < 100 && world.stream.is_refusing(); ++turn) {
    world.recovery.advance(world.budget());
    world.stream.syncs().take_ends();
    world.pass(Duration::milliseconds(10));
  }
  return !world.stream.is_refusing();
}

// Begins a run with jobs in several files, and returns the jobs.
std::vector<JobRef> fill_files(PartsWorld& world) {
  world.begin();
  std::vector<JobRef> jobs;
  for (int i = 0; i < 40; ++i) jobs.push_back(world.put(300));
  world.settle();
  EXPECT_GT(world.state.segments->size(), 3U);
  return jobs;
}

void find_files_gone(PartsWorld& world) {
  world.watch.begin();
  world.stream.refusal().begin(DiskStatus::failed, "find", {}, Notice::Kind::gone);
}

// Removes a file that is neither the first nor the last. From then on, syncs end only on request.
void lose_file(PartsWorld& world) {
  world.disk.take_away("binlog.3");
  find_files_gone(world);
  world.disk.set_sync_mode(SyncMode::when_told);
}

TEST(Recovery, WritesRecordsInDoubtToAnotherFile) {
  PartsWorld world;
  world.begin();
  const JobRef safe = world.put();
  const JobRef deleted = world.put();
  world.settle();
  const JobRef doubtful = world.put();
  world.delete_job(deleted);
  world.disk.inject({.call = DiskCall::write});
  world.stream.records().flush();
  ASSERT_TRUE(world.stream.is_refusing());
  EXPECT_EQ(world.recovery.next_event(), world.state.now);
  ASSERT_TRUE(recover(world));
  EXPECT_EQ(world.state.segments->of(safe)->number, 1U);
  EXPECT_EQ(world.state.segments->of(doubtful)->number, 2U);
  EXPECT_EQ(world.stream.progress().safe(), world.stream.progress().records());
  EXPECT_TRUE(world.stream.progress().ids_at_risk().empty());
  EXPECT_EQ(world.take_notices().size(), 2U) << "its begin and its end";
  world.state.segments->check_invariants();
}

TEST(Recovery, EndsWhenItsBudgetIsUsedUp) {
  PartsWorld world({.file_bytes = 65536, .sync = SyncPolicy::every_turn});
  world.begin();
  for (int i = 0; i < 100; ++i) world.put(200);
  world.disk.inject({.call = DiskCall::write});
  world.stream.records().flush();
  ASSERT_TRUE(world.stream.is_refusing());
  world.stream.records().end_turn();
  const std::uint64_t before = world.stream.records().total();
  world.recovery.advance(world.budget(1));  // Making its file costs more.
  EXPECT_EQ(world.stream.records().total(), before);
  world.recovery.advance(world.budget(200));
  EXPECT_GE(world.stream.records().total() - before, 200U / 14);
  EXPECT_LE(world.stream.records().total() - before, 200U / 12 + 1);
  EXPECT_TRUE(world.stream.is_refusing());
  EXPECT_TRUE(recover(world));
}

TEST(Recovery, IsRetriedAfterAPause) {
  PartsWorld world;
  world.begin();
  world.put();
  world.disk.inject({.call = DiskCall::write, .lasts = true});
  world.stream.records().flush();
  world.recovery.advance(world.budget());
  EXPECT_TRUE(world.stream.is_refusing());
  EXPECT_EQ(world.stream.progress().doubtful(), world.stream.progress().records());
  EXPECT_EQ(world.recovery.next_event(), world.state.now + Duration::seconds(1));
  world.disk.clear_faults();
  world.recovery.advance(world.budget());
  EXPECT_FALSE(world.stream.is_open()) << "it is not time yet";
  world.recovery.try_at_once();
  EXPECT_TRUE(recover(world));
  EXPECT_EQ(world.disk.open_files(), 1U);
}

TEST(Recovery, WritesAllJobsOfMissingFiles) {
  PartsWorld world;
  const std::vector<JobRef> jobs = fill_files(world);
  world.disk.take_away_all();
  world.pass(Duration::seconds(2));
  const std::uint64_t newest = world.stream.writer().number();
  find_files_gone(world);
  ASSERT_TRUE(recover(world));
  EXPECT_EQ(world.state.segments->gone_until(), 0U);
  for (const JobRef job : jobs) EXPECT_GT(world.state.segments->of(job)->number, newest);
  world.state.segments->check_invariants();
}

// An older file may still exist, with jobs that have no durable copy.
TEST(Recovery, RecordsFilesAsNotNeededAfterTheirJobsAreDurable) {
  PartsWorld world;
  fill_files(world);
  lose_file(world);
  bool has_record = false;
  for (int turn = 0; turn < 100 && world.stream.is_refusing(); ++turn) {
    world.recovery.advance(world.budget());
    has_record = has_record || (world.stream.is_open() && world.has_record_of_needed_files());
    world.disk.complete_syncs();
    world.stream.syncs().take_ends();
    world.pass(Duration::milliseconds(10));
  }
  EXPECT_TRUE(has_record);
  EXPECT_FALSE(world.stream.is_refusing());
}

// When the old file of a job is removed, only its copy is left.
TEST(Recovery, KeepsDurableCopiesIfItFailsAfterThem) {
  PartsWorld world;
  const std::vector<JobRef> jobs = fill_files(world);
  lose_file(world);
  for (int turn = 0; turn < 100 && world.disk.has("binlog.1"); ++turn) {
    world.recovery.advance(world.budget());
    world.disk.complete_syncs();
    world.stream.syncs().take_ends();
    world.pass(Duration::milliseconds(10));
  }
  ASSERT_FALSE(world.disk.has("binlog.1"));
  ASSERT_TRUE(world.stream.is_refusing());
  world.disk.complete_syncs(1, DiskStatus::failed);
  world.stream.syncs().take_ends();
  ASSERT_FALSE(world.stream.is_open()) << "it has failed again";
  EXPECT_EQ(world.jobs_on_disk(), jobs.size());
  world.disk.set_sync_mode(SyncMode::at_once);
  world.pass(Duration::seconds(2));
  const std::uint64_t before = world.stream.records().total();
  EXPECT_TRUE(recover(world));
  EXPECT_LT(world.stream.records().total() - before, jobs.size() / 4) << "not all once more";
  world.state.segments->check_invariants();
}

// Begins a run with jobs in several files, and removes the folder.
void lose_folder(PartsWorld& world) {
  fill_files(world);
  world.disk.set_folder(FolderState::removed);
  world.stream.refusal().begin(DiskStatus::failed, "find", {}, Notice::Kind::gone);
  world.recovery.advance(world.budget());
  ASSERT_TRUE(world.stream.is_refusing());
}

TEST(Recovery, ChecksForAMissingFolderSeveralTimesASecond) {
  PartsWorld world;
  lose_folder(world);
  EXPECT_FALSE(world.take_notices().empty());
  for (int check = 0; check < 20; ++check) {
    EXPECT_EQ(world.recovery.next_event(), world.state.now + Duration::milliseconds(200));
    world.state.now = world.recovery.next_event();
    world.recovery.advance(world.budget());
  }
  EXPECT_TRUE(world.take_notices().empty()) << "reported once";
  world.disk.set_folder(FolderState::replaced);
  world.state.now = world.recovery.next_event();
  world.recovery.advance(world.budget());
  EXPECT_TRUE(world.stream.is_open());
  EXPECT_TRUE(recover(world));
}

// The folder is in the state between `mkdir` and `chown`.
TEST(Recovery, RetriesSoonInAReadOnlyFolder) {
  PartsWorld world;
  lose_folder(world);
  world.disk.set_folder(FolderState::replaced);
  world.disk.inject({.call = DiskCall::create, .lasts = true});
  world.state.now = world.recovery.next_event();
  world.recovery.advance(world.budget());
  ASSERT_FALSE(world.stream.is_open());
  EXPECT_EQ(world.recovery.next_event(), world.state.now + Duration::milliseconds(200));
  world.disk.clear_faults();
  EXPECT_TRUE(recover(world));
}

TEST(Recovery, WritesLargeBodiesToo) {
  PartsWorld world;
  world.begin();
  const JobRef small = world.put();
  world.settle();
  const JobRef large = world.make_job(6000);
  const JournaledJob job = world.engine.journaled(large);
  while (world.bodies.write_ahead(LargeBodies::User::put, world.bodies.body_of(job),
                                  job.tube_name.size(), 0) == JournalStatus::later) {
    world.bodies.advance();
  }
  ASSERT_TRUE(world.stream.records().prepare(0, 0));
  world.bodies.append(job);
  world.stream.refusal().begin(DiskStatus::failed, "sync");
  for (int turn = 0; turn < 100 && world.stream.is_refusing(); ++turn) {
    world.bodies.advance();
    world.recovery.advance(world.budget());
    world.stream.syncs().take_ends();
  }
  EXPECT_FALSE(world.stream.is_refusing());
  EXPECT_GT(world.state.segments->of(large)->number, 2U);
  EXPECT_EQ(world.state.segments->of(small)->number, 1U);
}

}  // namespace
}  // namespace haricot::binlog
