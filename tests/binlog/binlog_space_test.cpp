// A full disk.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "binlog_world.hpp"
#include "full_disk.hpp"
#include "haricot/binlog/format/job_record.hpp"

namespace haricot::binlog {
namespace {

// Runs a server that stores ten jobs on the disk and stops.
void keep_ten_jobs(SimDisk& disk) {
  World world(disk, kSmallFiles);
  for (int i = 0; i < 10; ++i) world.put();
  world.end_turn();
  EXPECT_TRUE(world.close());
}

TEST(BinlogSpace, FullDiskAcceptsAReasonableNumberOfPuts) {
  SimDisk disk;
  disk.set_capacity(kFullDiskBytes);
  World world(disk, kSmallFiles);
  const std::size_t jobs = fill(world, 400).size();
  EXPECT_GT(jobs * 500, kFullDiskBytes * 6 / 10);
  EXPECT_EQ(world.notices.size(), 1U);
  EXPECT_NE(world.try_put({.body_bytes = 400}), Outcome::done);
  EXPECT_NE(world.try_put({.body_bytes = 60000}), Outcome::done);
}

TEST(BinlogSpace, ShortageIsReportedAtItsBeginAndEnd) {
  const std::string kBegin = "no space: jobs are refused until there is some";
  const std::string kEnd = "there is space again: jobs are taken";
  for (const std::size_t body_bytes : {0U, 400U, 3000U, 30000U}) {
    SCOPED_TRACE(body_bytes);
    SimDisk disk;
    disk.set_capacity(kFullDiskBytes);
    World world(disk, kSmallFiles);
    EXPECT_FALSE(world.binlog.numbers().no_space);
    const std::vector<JobId> ids = fill(world, body_bytes);
    EXPECT_TRUE(world.binlog.numbers().no_space);
    EXPECT_EQ(world.binlog.numbers().refused_puts, 1U);
    // No more puts come, and the disk stays full.
    world.idle(Duration::seconds(60));
    EXPECT_TRUE(world.binlog.numbers().no_space);
    EXPECT_EQ(world.notices, std::vector<std::string>{kBegin});
    EXPECT_EQ(world.try_put({.body_bytes = body_bytes}), Outcome::out_of_memory);
    EXPECT_EQ(world.binlog.numbers().refused_puts, 2U);
    world.end_turn();
    EXPECT_EQ(world.notices, (std::vector<std::string>{kBegin, kBegin})) << "30 seconds are over";
    // Other programs free space, and still no put comes.
    disk.set_capacity(4 * kFullDiskBytes);
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

TEST(BinlogSpace, ShortageEndsWhenWorkersMakeRoom) {
  SimDisk disk;
  disk.set_capacity(kFullDiskBytes);
  World world(disk, kSmallFiles);
  const std::vector<JobId> ids = fill(world, 400);
  ASSERT_TRUE(world.binlog.numbers().no_space);
  for (const JobId id : ids) ASSERT_EQ(world.delete_job(id), Outcome::done);
  world.idle();
  EXPECT_FALSE(world.binlog.numbers().no_space);
  EXPECT_EQ(world.notices.size(), 2U);
  EXPECT_EQ(world.try_put({.body_bytes = 400}), Outcome::done);
}

// A shortage that comes and goes must not fill the log.
TEST(BinlogSpace, ManyShortShortagesAreReportedOnce) {
  SimDisk disk;
  disk.set_capacity(kFullDiskBytes);
  World world(disk, kSmallFiles);
  for (int i = 0; i < 20; ++i) {
    disk.set_capacity(kFullDiskBytes);
    const std::vector<JobId> ids = fill(world, 400);
    disk.set_capacity(4 * kFullDiskBytes);
    world.idle(Duration::milliseconds(600));
    for (const JobId id : ids) ASSERT_EQ(world.delete_job(id), Outcome::done);
    world.idle(Duration::milliseconds(600));
    EXPECT_FALSE(world.binlog.numbers().no_space);
  }
  EXPECT_EQ(world.notices.size(), 2U);
  EXPECT_EQ(world.binlog.numbers().refused_puts, 20U);
}

TEST(BinlogSpace, ShortageEndsWhenTheDiskHasSpaceAgain) {
  SimDisk disk;
  disk.set_capacity(kFullDiskBytes);
  World world(disk, kSmallFiles);
  const std::size_t jobs = fill(world, 400).size();
  disk.set_capacity(2 * kFullDiskBytes);
  world.idle(Duration::seconds(2));
  EXPECT_EQ(world.try_put({.body_bytes = 400}), Outcome::done);
  EXPECT_GT(fill(world, 400).size(), jobs / 2);
}

TEST(BinlogSpace, ShortageAtTheStartLeavesTheJobsToWorkers) {
  SimDisk disk;
  keep_ten_jobs(disk);
  disk.set_capacity(disk.used_bytes());
  World world(disk, kSmallFiles, kWallBegin + 1);
  EXPECT_EQ(world.engine.jobs().size(), 10U);
  world.idle(Duration::seconds(3));
  EXPECT_TRUE(world.binlog.numbers().refusing);
  const JobId id = world.reserve();
  EXPECT_NE(id, 0U);
  EXPECT_EQ(world.try_put(), Outcome::out_of_memory);
  EXPECT_EQ(world.delete_job(id), Outcome::journal_failed);
  disk.set_capacity({});
  world.idle(Duration::seconds(3));
  EXPECT_FALSE(world.binlog.numbers().refusing);
  EXPECT_EQ(world.delete_job(id), Outcome::done);
  EXPECT_TRUE(world.close());
}

// Returns the number of jobs that beanstalkd accepts in that space: it keeps room for the record of
// each job and for its deletion.
std::uint64_t jobs_of_beanstalkd(std::uint64_t space, std::size_t body_bytes) {
  return space / (full_record_bytes(7, body_bytes) + kShortRecordBytes);
}

// Holds for any configured size of file, even one larger than the disk.
TEST(BinlogSpace, FullDiskTakesNearlyAsManyJobsAsBeanstalkd) {
  constexpr std::uint64_t kDisk = 1024 * 1024;
  for (const std::uint64_t file_bytes : {kDisk / 4, kDisk, 64 * kDisk}) {
    for (const std::size_t body_bytes : {50U, 300U}) {
      SCOPED_TRACE(std::to_string(file_bytes) + " a file, body " + std::to_string(body_bytes));
      SimDisk disk;
      disk.set_capacity(kDisk);
      World world(disk, {.file_bytes = file_bytes, .sync = SyncPolicy::every_turn});
      const std::uint64_t jobs = fill(world, body_bytes).size();
      EXPECT_GE(jobs * 10, jobs_of_beanstalkd(kDisk, body_bytes) * 7);
      const std::uint64_t kept = kDisk - jobs * full_record_bytes(7, body_bytes);
      EXPECT_LE(kept, (body_bytes == 50 ? 2 : 5) * jobs * kShortRecordBytes);
    }
  }
}

// The disk reports no number that includes a quota.
TEST(BinlogSpace, QuotaIsFoundByAttempts) {
  SimDisk disk;
  disk.set_capacity(1024 * 1024);
  disk.set_tells_space(false);
  World world(disk, {.file_bytes = 64 * 1024 * 1024, .sync = SyncPolicy::every_turn});
  EXPECT_GE(fill(world, 300).size(), 1000U);
  const std::uint64_t calls = disk.calls(DiskCall::create);
  world.idle(Duration::seconds(10));
  EXPECT_LE(disk.calls(DiskCall::create) - calls, 210U);  // One for each attempt.
}

TEST(BinlogSpace, IsNotTakenBeforeAJobNeedsIt) {
  for (const std::uint64_t capacity : {65536U, 1048576U, 16777216U}) {
    SimDisk disk;
    disk.set_capacity(capacity);
    disk.put("other", std::string(capacity / 2, 'o'));
    World world(disk, {.file_bytes = std::uint64_t{1} << 40, .sync = SyncPolicy::every_turn});
    world.idle();
    EXPECT_LE(disk.used_bytes(), capacity - capacity / 20) << capacity;
    EXPECT_EQ(world.try_put({.body_bytes = 400}), Outcome::done);
  }
}

TEST(BinlogSpace, ReturnedSpaceIsUsedWithinATenthOfASecond) {
  for (const bool tells_space : {true, false}) {
    SimDisk disk;
    disk.set_tells_space(tells_space);
    disk.set_capacity(kFullDiskBytes);
    World world(disk, kSmallFiles);
    fill(world, 400);
    for (int i = 0; i < 20; ++i) {
      EXPECT_NE(world.try_put({.body_bytes = 400}), Outcome::done);
      world.idle(Duration::milliseconds(30));
    }
    disk.set_capacity(4 * kFullDiskBytes);
    world.idle(Duration::milliseconds(100));
    EXPECT_EQ(world.try_put({.body_bytes = 400}), Outcome::done);
  }
}

TEST(BinlogSpace, ReturnedSpaceEndsAFailureWithinATenthOfASecond) {
  SimDisk disk;
  keep_ten_jobs(disk);
  disk.set_capacity(disk.used_bytes());
  World world(disk, kSmallFiles, kWallBegin + 1);
  world.idle(Duration::seconds(3));
  EXPECT_TRUE(world.binlog.numbers().refusing);
  const std::uint64_t calls = disk.calls();
  world.idle(Duration::seconds(10));
  EXPECT_EQ(disk.calls(), calls);  // Only the free space is queried, without another call.
  disk.set_capacity(4 * kFullDiskBytes);
  world.idle(Duration::milliseconds(100));
  EXPECT_FALSE(world.binlog.numbers().refusing);
  EXPECT_EQ(world.try_put(), Outcome::done);
}

TEST(BinlogSpace, SparesNeedNoDescriptor) {
  SimDisk disk;
  World world(disk, kSmallFiles);
  for (int i = 0; i < 5000; ++i) {
    world.put({.body_bytes = 10});
    if (i % 100 == 0) world.end_turn();
    ASSERT_LE(disk.open_files(), 6U);
  }
  world.put({.body_bytes = 4000000});
  for (int i = 0; i < 10; ++i) {
    world.end_turn();
    ASSERT_LE(disk.open_files(), 6U);
  }
  world.idle();
  std::vector<std::string> names;
  ASSERT_EQ(disk.list(names), DiskStatus::ok);
  const auto spares = std::count_if(names.begin(), names.end(),
                                    [](const std::string& name) { return name.ends_with(".tmp"); });
  EXPECT_LT(spares, 90);  // With files of 4096 bytes there would be more than a hundred.
  EXPECT_EQ(world.delete_job(5001), Outcome::done);
  EXPECT_TRUE(world.close());
  EXPECT_EQ(disk.open_files(), 0U);
}

TEST(BinlogSpace, IsAllocatedOverManyTurns) {
  SimDisk disk;
  World world(disk, {.file_bytes = 64 * 1024 * 1024, .sync = SyncPolicy::every_turn});
  world.idle();
  std::uint64_t most = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t before = disk.used_bytes();
    world.put({.body_bytes = 100000});
    world.end_turn();
    const std::uint64_t after = disk.used_bytes();
    most = std::max(most, after - std::min(before, after));
  }
  EXPECT_GT(most, 0U);  // It does grow.
  EXPECT_LE(most, 4U * 1024 * 1024);
}

TEST(BinlogSpace, IsAllocatedInATurnOfItsOwn) {
  SimDisk disk;
  World world(disk, {.file_bytes = 64 * 1024 * 1024, .sync = SyncPolicy::every_turn});
  for (int i = 0; i < 300; ++i) world.put({.body_bytes = 100000});
  world.end_turn();
  const std::uint64_t before = disk.used_bytes();
  EXPECT_EQ(world.binlog.next_event(), Instant{});
  world.idle();
  EXPECT_GT(disk.used_bytes(), before + 10 * 1024 * 1024);
}

TEST(BinlogSpace, UnsyncedFilesAreFew) {
  SimDisk disk;
  BinlogOptions options = kSmallFiles;
  options.open_files_max = 8;
  World world(disk, options);
  disk.set_sync_mode(SyncMode::when_told);
  for (int i = 0; i < 200; ++i) {
    world.put({.body_bytes = 2000});
    world.end_turn();
    ASSERT_LE(disk.open_files(), 8U);
  }
  disk.set_sync_mode(SyncMode::at_once);
  disk.complete_syncs();
  world.idle();
  EXPECT_EQ(world.binlog.safe_records(), world.binlog.records());
}

// A folder without write permission is not a full disk.
TEST(BinlogSpace, FailureToCreateIsNoShortage) {
  SimDisk disk;
  World world(disk, kSmallFiles);
  disk.inject({.call = DiskCall::create, .lasts = true});
  Outcome outcome = Outcome::done;
  for (int i = 0; i < 100 && outcome == Outcome::done; ++i) {
    outcome = world.try_put({.body_bytes = 300});
    world.end_turn();
  }
  EXPECT_EQ(outcome, Outcome::journal_failed);
  world.idle();
  ASSERT_EQ(world.notices.size(), 1U);
  EXPECT_NE(world.notices[0].find("injected fault"), std::string::npos) << world.notices[0];
  disk.clear_faults();
  world.idle(Duration::milliseconds(100));
  EXPECT_EQ(world.try_put({.body_bytes = 300}), Outcome::done);
}

TEST(BinlogSpace, FailureToRenameIsNoShortage) {
  SimDisk disk;
  World world(disk, kSmallFiles);
  disk.inject({.call = DiskCall::rename});
  while (disk.faults_hit() == 0) {
    (void)world.try_put({.body_bytes = 900});
    world.end_turn();
  }
  ASSERT_FALSE(world.notices.empty());
  EXPECT_NE(world.notices[0].find("injected fault"), std::string::npos) << world.notices[0];
  world.idle();
  EXPECT_FALSE(world.binlog.numbers().refusing);
}

// Other programs take all free space while the server does not run.
TEST(BinlogSpace, RoomForDeletionsSurvivesARestartOnAFullDisk) {
  for (const bool cleanly : {true, false}) {
    SCOPED_TRACE(cleanly);
    SimDisk first;
    first.set_capacity(kFullDiskBytes);
    std::vector<JobId> ids;
    std::unique_ptr<SimDisk> disk;
    {
      World world(first, kSmallFiles);
      ids = fill(world, 400);
      EXPECT_TRUE(!cleanly || world.close());
      SimDisk::Random chance(1);
      disk = first.crash(chance, {Unsynced::kept, UnsyncedNames::kept});
    }
    disk->set_capacity(disk->used_bytes());
    World world(*disk, kSmallFiles, kWallBegin + 1'000'000'000);
    EXPECT_FALSE(world.binlog.numbers().refusing);
    EXPECT_EQ(world.engine.jobs().size(), ids.size());
    for (const JobId id : ids) {
      ASSERT_EQ(world.delete_job(id), Outcome::done);
      world.end_turn();
    }
    world.idle();
    EXPECT_EQ(world.try_put({.body_bytes = 400}), Outcome::done);
    EXPECT_TRUE(world.close());
  }
}

// A killed server leaves its preallocated space in its last file.
TEST(BinlogSpace, SpaceAfterTheLastRecordIsFoundByTheNextStart) {
  constexpr BinlogOptions kOptions{.file_bytes = 65536, .sync = SyncPolicy::every_turn};
  SimDisk first;
  std::unique_ptr<SimDisk> disk;
  {
    World world(first, kOptions);
    for (int i = 0; i < 20; ++i) world.put();
    world.end_turn();
    SimDisk::Random chance(1);
    disk = first.crash(chance, {Unsynced::kept, UnsyncedNames::kept});
  }
  disk->set_capacity(disk->used_bytes());
  World world(*disk, kOptions, kWallBegin + 1);
  EXPECT_FALSE(world.binlog.numbers().refusing);
  EXPECT_EQ(world.engine.jobs().size(), 20U);
  for (JobId id = 1; id <= 20; ++id) EXPECT_EQ(world.delete_job(id), Outcome::done);
  world.end_turn();
  EXPECT_TRUE(world.close());
  const World again(*disk, kOptions, world.wall());
  EXPECT_EQ(world.compare(again, world.binlog.records(), true), "");
}

}  // namespace
}  // namespace haricot::binlog
