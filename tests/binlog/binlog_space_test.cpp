// A disk that is full.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "binlog_world.hpp"
#include "folder_proportion.hpp"
#include "haricot/binlog/job_record.hpp"
#include "support/random.hpp"

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

// The same with bodies of any size up to that one. Returns how many jobs there are.
std::size_t fill_mixed(World& world, test::Random& random, std::size_t body_bytes_max) {
  for (int refused = 0, puts = 0; refused < 20 && puts < 10000; ++puts) {
    const std::size_t body_bytes = random.below(body_bytes_max + 1);
    refused += world.try_put({.body_bytes = body_bytes}) != Outcome::done;
    if (random.one_in(4)) world.end_turn();
  }
  world.end_turn();
  return world.engine.jobs().size();
}

// Has a server keep ten jobs on the disk and end.
void keep_ten_jobs(SimDisk& disk) {
  World world(disk, kSmallFiles);
  for (int i = 0; i < 10; ++i) world.put();
  world.end_turn();
  EXPECT_TRUE(world.close());
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
  for (const JobId id : ids) ASSERT_EQ(world.delete_job(id), Outcome::done);
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
    for (const JobId id : ids) ASSERT_EQ(world.delete_job(id), Outcome::done);
    world.idle(Duration::milliseconds(600));
    EXPECT_FALSE(world.binlog.numbers().no_space);
  }
  EXPECT_EQ(world.notices.size(), 2U);
  EXPECT_EQ(world.binlog.numbers().refused_puts, 20U);
}

// The records of a batch have to stand together, which a full disk may have no room for. Then
// nothing is deleted, and the jobs can be deleted one by one.
TEST(BinlogSpace, ABatchOfDeletesIsDoneOrRefusedAsAWhole) {
  for (const std::size_t body_bytes : {0U, 100U, 900U, 3000U}) {
    SCOPED_TRACE(body_bytes);
    SimDisk disk;
    disk.set_capacity(kCapacity);
    World world(disk, kSmallFiles);
    std::vector<JobId> left = fill(world, body_bytes);
    for (const std::size_t part : {std::size_t{1}, left.size() / 4, left.size()}) {
      const std::size_t size =
          std::clamp<std::size_t>(part, 1, std::min<std::size_t>(left.size(), 1000));
      const std::vector<JobId> ids(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(size));
      const DeleteResult result = world.delete_batch(ids);
      world.end_turn();
      if (result.outcome == Outcome::done) {
        EXPECT_EQ(result.deleted, size);
        left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(size));
        if (left.empty()) break;
      } else {
        EXPECT_EQ(result.outcome, Outcome::journal_failed);
      }
      ASSERT_EQ(world.engine.jobs().size(), left.size());
    }
    EXPECT_FALSE(world.binlog.numbers().refusing);
    for (const JobId id : left) ASSERT_EQ(world.delete_job(id), Outcome::done);
    world.idle();
    EXPECT_EQ(world.binlog.safe_records(), world.binlog.records());
    EXPECT_TRUE(world.close());
    World again(disk, kSmallFiles);
    EXPECT_EQ(again.engine.jobs().size(), 0U);
  }
}

TEST(BinlogSpace, OfAFullDiskIsEnoughForAFlush) {
  for (const std::size_t body_bytes : {0U, 100U, 900U, 3000U}) {
    SCOPED_TRACE(body_bytes);
    SimDisk disk;
    disk.set_capacity(kCapacity);
    World world(disk, kSmallFiles);
    EXPECT_FALSE(fill(world, body_bytes).empty());
    EXPECT_TRUE(world.flush("default", {.ready = true, .delayed = true, .buried = true}));
    EXPECT_EQ(world.engine.jobs().size(), 0U);
    world.idle();
    EXPECT_TRUE(world.close());
    World again(disk, kSmallFiles);
    EXPECT_EQ(again.engine.jobs().size(), 0U);
  }
}

TEST(BinlogSpace, OfAFullDiskIsEnoughToDeleteAllJobsInAnyOrder) {
  test::Random random;
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
        ASSERT_EQ(world.delete_job(id), Outcome::done);
        if (random.one_in(3)) world.end_turn();
      }
      world.idle();
      EXPECT_EQ(world.binlog.safe_records(), world.binlog.records());
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
      disk.set_block_bytes(4096);
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

// Many clients change their jobs in one turn. So compaction is in the middle of a file, often a
// small one, when most of the changes come, and must have what the next file needs all the same.
TEST(BinlogSpace, OfAFullDiskIsEnoughToChangeAllJobsAtOnce) {
  test::Random random;
  for (const std::uint64_t capacity : {65536U, 100000U, 200000U, 524288U}) {
    for (const std::size_t body_bytes : {0U, 100U, 400U, 900U, 3000U}) {
      if (body_bytes > capacity / 128) continue;  // A sixteenth of a file of that disk.
      for (const bool is_mixed : {false, true}) {
        SCOPED_TRACE(std::to_string(capacity) + " bytes, bodies of " + std::to_string(body_bytes) +
                     (is_mixed ? " at most" : ""));
        SimDisk disk;
        disk.set_block_bytes(4096);
        disk.set_capacity(capacity);
        World world(disk, {.file_bytes = 10485760, .sync = SyncPolicy::every_turn});
        const std::size_t jobs =
            is_mixed ? fill_mixed(world, random, body_bytes) : fill(world, body_bytes).size();
        int refused = 0;
        std::vector<JobId> all;
        for (int round = 0; round < 4 && refused == 0; ++round) {
          for (std::size_t i = 0; i < jobs; ++i) {
            const JobId id = world.reserve();
            ASSERT_NE(id, 0U);
            const Outcome outcome = round % 2 == 0 ? world.bury(id) : world.release(id);
            refused += outcome != Outcome::done;
            if (round == 0) all.push_back(id);
          }
          for (const JobId id : round % 2 == 0 ? all : std::vector<JobId>()) {
            refused += world.kick_job(id) != Outcome::done;
          }
          world.end_turn();
        }
        EXPECT_EQ(refused, 0) << "of " << jobs;
        EXPECT_FALSE(world.binlog.numbers().refusing);
      }
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

// How many jobs beanstalkd takes where it gets that much space: it keeps room for the record of a
// job and for that of its deletion.
std::uint64_t jobs_of_beanstalkd(std::uint64_t space, std::size_t body_bytes) {
  return space / (full_record_bytes(7, body_bytes) + kShortRecordBytes);
}

// Whatever size of file was asked for, also one that is larger than the disk.
TEST(BinlogSpace, OfAFullDiskIsKeptInProportionToWhatBeanstalkdKeeps) {
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

// A quota is in no number that the disk tells.
TEST(BinlogSpace, ThatAQuotaLimitsIsFoundByTrying) {
  SimDisk disk;
  disk.set_capacity(1024 * 1024);
  disk.set_tells_space(false);
  World world(disk, {.file_bytes = 64 * 1024 * 1024, .sync = SyncPolicy::every_turn});
  EXPECT_GE(fill(world, 300).size(), 1000U);
  const std::uint64_t calls = disk.calls(DiskCall::create);
  world.idle(Duration::seconds(10));
  EXPECT_LE(disk.calls(DiskCall::create) - calls, 210U);  // One for each try.
}

TEST(BinlogSpace, IsNotTakenAsLongAsNoJobNeedsIt) {
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

TEST(BinlogSpace, ThatIsThereAgainIsUsedWithinATenthOfASecond) {
  for (const bool tells_space : {true, false}) {
    SimDisk disk;
    disk.set_tells_space(tells_space);
    disk.set_capacity(kCapacity);
    World world(disk, kSmallFiles);
    fill(world, 400);
    for (int i = 0; i < 20; ++i) {
      EXPECT_NE(world.try_put({.body_bytes = 400}), Outcome::done);
      world.idle(Duration::milliseconds(30));
    }
    disk.set_capacity(4 * kCapacity);
    world.idle(Duration::milliseconds(100));
    EXPECT_EQ(world.try_put({.body_bytes = 400}), Outcome::done);
  }
}

TEST(BinlogSpace, ThatIsThereAgainEndsAFailureWithinATenthOfASecond) {
  SimDisk disk;
  keep_ten_jobs(disk);
  disk.set_capacity(disk.used_bytes());
  World world(disk, kSmallFiles, kWallBegin + 1);
  world.idle(Duration::seconds(3));
  EXPECT_TRUE(world.binlog.numbers().refusing);
  const std::uint64_t calls = disk.calls();
  world.idle(Duration::seconds(10));
  EXPECT_EQ(disk.calls(), calls);  // A disk that tells its space is only asked for it.
  disk.set_capacity(4 * kCapacity);
  world.idle(Duration::milliseconds(100));
  EXPECT_FALSE(world.binlog.numbers().refusing);
  EXPECT_EQ(world.try_put(), Outcome::done);
}

// A spare that is too small for a job must not stand in front of one that is not.
TEST(BinlogSpace, OfAFullDiskIsEnoughForJobsOfVeryDifferentSizes) {
  for (const std::size_t large : {3000U, 9000U}) {
    SimDisk disk;
    disk.set_capacity(kCapacity);
    World world(disk, kSmallFiles);
    for (int i = 0; i < 200; ++i) {
      (void)world.try_put({.body_bytes = i % 10 == 0 ? large : 30U});
      world.end_turn();
    }
    for (JobId id = 1; id < world.engine.next_id(); ++id) {
      EXPECT_NE(world.delete_job(id), Outcome::journal_failed);
      if (id % 3 == 0) world.end_turn();
    }
    world.idle();
    EXPECT_EQ(world.engine.jobs().size(), 0U);
    EXPECT_EQ(world.try_put({.body_bytes = large}), Outcome::done);
  }
}

TEST(BinlogSpace, IsInFilesThatNeedNoDescriptor) {
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
  EXPECT_LT(spares, 90);  // Files of 4096 bytes would be more than a hundred.
  EXPECT_EQ(world.delete_job(5001), Outcome::done);
  EXPECT_TRUE(world.close());
  EXPECT_EQ(disk.open_files(), 0U);
}

TEST(BinlogSpace, IsTakenInManyTurns) {
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

TEST(BinlogSpace, IsFoundByATurnThatNobodyAskedFor) {
  SimDisk disk;
  World world(disk, {.file_bytes = 64 * 1024 * 1024, .sync = SyncPolicy::every_turn});
  for (int i = 0; i < 300; ++i) world.put({.body_bytes = 100000});
  world.end_turn();
  const std::uint64_t before = disk.used_bytes();
  EXPECT_EQ(world.binlog.next_event(), Instant{});
  world.idle();
  EXPECT_GT(disk.used_bytes(), before + 10 * 1024 * 1024);
}

TEST(BinlogSpace, FilesThatWaitForTheirSyncAreFew) {
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

// A folder that may not be written to is no full disk.
TEST(BinlogSpace, IsNotBlamedWhereNoFileCanBeMade) {
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

TEST(BinlogSpace, FailureToRenameIsToldAsWhatItIs) {
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

// Others take all that is free while the server does not run.
TEST(BinlogSpace, ForDeletionsIsThereAfterARestartOnAFullDisk) {
  for (const bool cleanly : {true, false}) {
    SCOPED_TRACE(cleanly);
    SimDisk first;
    first.set_capacity(kCapacity);
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

// What a server that was killed had taken ahead is in its last file.
TEST(BinlogSpace, BehindTheLastRecordIsFoundByTheNextStart) {
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
