// The binlog as the service uses it: when answers may be sent, which jobs come back, and the
// notices for the log.

#include "haricot/binlog/binlog.hpp"

#include <gtest/gtest.h>

#include "binlog_world.hpp"
#include "support/random.hpp"

namespace haricot::binlog {
namespace {

constexpr BinlogOptions kEveryTurn{.file_bytes = 16384, .sync = SyncPolicy::every_turn};
constexpr BinlogOptions kInterval{.file_bytes = 16384, .sync = SyncPolicy::interval};
constexpr BinlogOptions kNever{.file_bytes = 16384, .sync = SyncPolicy::never};

// Returns the disk as another server would find it if this one were killed.
std::unique_ptr<SimDisk> copy_of(const SimDisk& disk) {
  SimDisk::Random chance(1);
  return disk.crash(chance, {Unsynced::kept, UnsyncedNames::kept});
}

TEST(BinlogStart, SyncsFilesOfAKilledServer) {
  SimDisk disk;
  {
    World world(disk, {.file_bytes = 16384, .sync = SyncPolicy::interval});
    world.put();
    world.end_turn();
    // The server is killed, and its last record is not durable.
  }
  ASSERT_NE(disk.bytes_of("binlog.1"), disk.durable_bytes_of("binlog.1"));
  World next(disk, {.file_bytes = 16384, .sync = SyncPolicy::interval}, kWallBegin + 1);
  EXPECT_EQ(disk.bytes_of("binlog.1"), disk.durable_bytes_of("binlog.1"));
  EXPECT_TRUE(disk.has_durable("binlog.1"));
  EXPECT_EQ(next.engine.jobs().size(), 1U);
}

TEST(Binlog, HoldsAnswersBackUntilTheSyncEnds) {
  SimDisk disk;
  World world(disk, kEveryTurn);
  disk.set_sync_mode(SyncMode::when_told);
  world.put();
  world.end_turn();
  EXPECT_EQ(world.binlog.safe_records(), 0U);
  world.end_turn();
  EXPECT_EQ(world.binlog.safe_records(), 0U);
  disk.complete_syncs();
  world.end_turn();
  EXPECT_EQ(world.binlog.safe_records(), 1U);
}

TEST(Binlog, CoversLaterRecordsWithTheNextSync) {
  SimDisk disk;
  World world(disk, kEveryTurn);
  world.end_turn();
  disk.set_sync_mode(SyncMode::when_told);
  const std::uint64_t before = disk.calls(DiskCall::start_sync);
  for (int i = 0; i < 10; ++i) {
    world.put();
    world.end_turn();
  }
  EXPECT_EQ(disk.calls(DiskCall::start_sync), before + 1);
  disk.complete_syncs();
  world.end_turn();
  EXPECT_EQ(world.binlog.safe_records(), 1U);
  disk.complete_syncs();
  world.end_turn();
  EXPECT_EQ(world.binlog.safe_records(), 10U);
}

TEST(Binlog, SyncsTheEndOfABurstWithinTheInterval) {
  SimDisk disk;
  World world(disk, kInterval);
  world.end_turn();
  const std::uint64_t before = disk.calls(DiskCall::start_sync);
  world.put();
  world.end_turn();
  EXPECT_EQ(world.binlog.safe_records(), 1U);
  EXPECT_EQ(disk.calls(DiskCall::start_sync), before);
  EXPECT_EQ(world.binlog.next_event(), world.now + kInterval.sync_interval);
  world.pass(kInterval.sync_interval);
  world.end_turn();
  EXPECT_EQ(disk.calls(DiskCall::start_sync), before + 1);
  EXPECT_EQ(world.binlog.next_event(), Instant::never());
}

TEST(Binlog, NeverSyncsWithPolicyNever) {
  SimDisk disk;
  World world(disk, kNever);
  for (int i = 0; i < 100; ++i) {
    world.put({.body_bytes = 1000});
    world.end_turn();
    EXPECT_EQ(world.binlog.safe_records(), world.binlog.records());
  }
  EXPECT_TRUE(world.close());
  EXPECT_EQ(disk.calls(DiskCall::start_sync) + disk.calls(DiskCall::sync) +
                disk.calls(DiskCall::sync_folder),
            0U);
}

TEST(Binlog, WritesATurnWithOneCall) {
  SimDisk disk;
  World world(disk, kEveryTurn);
  world.end_turn();
  const std::uint64_t before = disk.calls(DiskCall::write);
  for (int i = 0; i < 20; ++i) world.put();
  EXPECT_EQ(disk.calls(DiskCall::write), before);
  world.end_turn();
  EXPECT_EQ(disk.calls(DiskCall::write), before + 1);
  world.end_turn();
  EXPECT_EQ(disk.calls(DiskCall::write), before + 1);
}

TEST(Binlog, RestoresAllJobsAfterACleanEnd) {
  for (const BinlogOptions& options : {kEveryTurn, kInterval, kNever}) {
    test::Random random;
    SimDisk disk;
    std::int64_t wall = kWallBegin;
    for (int life = 0; life < 5 && !HasFailure(); ++life) {
      World world(disk, options, wall);
      EXPECT_TRUE(world.binlog.replayed().is_sound()) << world.replay_text();
      for (int turn = 0; turn < 50; ++turn) {
        world.pass(Duration::milliseconds(70));
        for (int i = 0; i < 5; ++i) EXPECT_TRUE(world.random_command(random, 3000));
        world.end_turn();
      }
      EXPECT_TRUE(world.close());
      EXPECT_EQ(disk.open_files(), 0U);
      wall = world.wall() + 1'000'000'000;
      const auto copy = copy_of(disk);
      const World again(*copy, options, wall);
      EXPECT_EQ(world.compare(again, world.binlog.records(), true), "");
      // Compares with the engine as well as with the history.
      EXPECT_EQ(again.engine.jobs().size(), world.engine.jobs().size());
    }
  }
}

TEST(Binlog, ReusesNoIdAfterARestart) {
  SimDisk disk;
  for (int life = 0; life < 5; ++life) {
    World world(disk, kEveryTurn, kWallBegin + life);
    const JobId id = world.put();
    EXPECT_EQ(id, static_cast<JobId>(life) + 1);
    EXPECT_EQ(world.delete_job(id), Outcome::done);
    world.end_turn();
    EXPECT_TRUE(world.close());
  }
}

TEST(Binlog, KeepsTheOrderOfBuriedJobs) {
  SimDisk disk;
  std::int64_t wall = kWallBegin;
  {
    World world(disk, kEveryTurn, wall);
    for (int i = 0; i < 6; ++i) world.put();
    for (int i = 0; i < 6; ++i) world.reserve();
    for (const JobId id : {4U, 1U, 6U, 2U, 5U, 3U}) EXPECT_EQ(world.bury(id), Outcome::done);
    world.end_turn();
    EXPECT_TRUE(world.close());
    // The wall clock is set back between the burials.
    wall -= 3'600'000'000'000;
  }
  World world(disk, kEveryTurn, wall);
  EXPECT_EQ(world.reserve(2), Outcome::done);
  EXPECT_EQ(world.bury(2), Outcome::done);  // Now it is the last one.
  world.end_turn();
  EXPECT_TRUE(world.close());
  World again(disk, kEveryTurn, wall);
  for (const JobId id : {4U, 1U, 6U, 5U, 3U, 2U}) {
    EXPECT_EQ(again.kick(1).jobs, 1U);
    EXPECT_EQ(again.reserve(), id);
    EXPECT_EQ(again.delete_job(id), Outcome::done);
  }
}

TEST(Binlog, IgnoresOnlySmallStepsOfTheWallClock) {
  SimDisk disk;
  World world(disk, kEveryTurn);
  const JobId id = world.put();
  world.binlog.set_wall_offset(world.wall_offset);
  const auto created_after = [&](std::int64_t step) {
    world.binlog.set_wall_offset(Duration::nanoseconds(world.wall_offset.count() + step));
    EXPECT_EQ(world.reserve(id), Outcome::done);
    EXPECT_EQ(world.release(id), Outcome::done);
    world.end_turn();
    const auto copy = copy_of(disk);
    const World again(*copy, kEveryTurn, world.wall());
    return all_jobs(again.engine, again.wall_offset).at(id).created_at - kWallBegin;
  };
  EXPECT_EQ(created_after(50'000'000), 0);
  EXPECT_EQ(created_after(-50'000'000), 0);
  EXPECT_EQ(created_after(5'000'000'000), 5'000'000'000);
}

TEST(Binlog, LimitsNoticesOfAFailingDisk) {
  SimDisk disk;
  World world(disk, kEveryTurn);
  world.end_turn();
  disk.inject({.call = DiskCall::write, .lasts = true});
  world.put();
  world.end_turn();
  EXPECT_TRUE(world.binlog.numbers().refusing);
  world.idle(Duration::seconds(300));
  EXPECT_GE(world.notices.size(), 9U);
  EXPECT_LE(world.notices.size(), 12U);
  for (std::size_t i = 1; i < world.notice_times.size(); ++i) {
    EXPECT_GE(world.notice_times[i] - world.notice_times[i - 1], 30'000'000'000);
  }
  EXPECT_GT(world.binlog.numbers().errors, 100U);
  EXPECT_EQ(world.binlog.progress().doubtful, 1U);
  EXPECT_EQ(world.binlog.safe_records(), 0U);
  disk.clear_faults();
  world.idle();
  EXPECT_EQ(world.binlog.safe_records(), world.binlog.records());
  EXPECT_NE(world.notices.back().find("recorded again"), std::string::npos);
}

TEST(Binlog, WaitsForASlowSyncWithFewTurns) {
  SimDisk disk;
  World world(disk, kEveryTurn);
  world.end_turn();
  disk.set_sync_mode(SyncMode::when_told);
  world.put();
  world.end_turn();
  disk.complete_syncs(1, DiskStatus::failed);
  world.end_turn();
  EXPECT_TRUE(world.binlog.numbers().refusing);
  // The records in doubt are written again, and their sync takes long.
  int turns = 0;
  for (const Instant end = world.now + Duration::seconds(20); world.now < end && turns < 1000;
       ++turns) {
    world.now = std::max(world.now, std::min(end, world.binlog.next_event()));
    world.end_turn();
  }
  EXPECT_LT(turns, 100);
  world.idle();
  EXPECT_FALSE(world.binlog.numbers().refusing);
  EXPECT_EQ(world.binlog.safe_records(), world.binlog.records());
}

TEST(Binlog, ClosesAllFilesOnAFailedDisk) {
  SimDisk disk;
  World world(disk, kInterval);
  for (int i = 0; i < 50; ++i) world.put({.body_bytes = 900});
  disk.inject({.lasts = true});
  world.end_turn();
  EXPECT_FALSE(world.close());
  EXPECT_EQ(disk.open_files(), 0U);
  EXPECT_EQ(world.binlog.progress().doubtful, world.binlog.records());
  EXPECT_TRUE(world.binlog.close(world.now));  // The second call does nothing.
}

TEST(Binlog, RefusesBeforeItIsOpen) {
  SimDisk disk;
  Binlog binlog(disk, kEveryTurn);
  EXPECT_NE(binlog.take_room_for_put({7, 10}, {}), JournalStatus::ok);
  EXPECT_NE(binlog.take_room_for_update(Promise::nothing), JournalStatus::ok);
  EXPECT_NE(binlog.take_promised_room({.deletions = 1}), JournalStatus::ok);
  binlog.end_turn(Instant::at(5));
  EXPECT_EQ(binlog.next_event(), Instant::never());
  EXPECT_TRUE(binlog.close(Instant::at(6)));
}

TEST(Binlog, AcceptsJobsLargerThanAFile) {
  SimDisk disk;
  World world(disk, kEveryTurn);
  for (const std::size_t bytes : {16300U, 16384U, 16385U, 100000U, 2000000U}) {
    world.put({.body_bytes = bytes});
    world.put();
    world.end_turn();
  }
  EXPECT_EQ(world.binlog.safe_records(), world.binlog.records());
  const auto crashed = copy_of(disk);
  const World again(*crashed, kEveryTurn, world.wall());
  EXPECT_EQ(world.compare(again, world.binlog.records(), true), "");
}

TEST(Binlog, AnInterruptedReadLeavesTheFolderUnchanged) {
  SimDisk disk;
  {
    World world(disk, {.file_bytes = 4194304, .sync = SyncPolicy::never});
    for (int i = 0; i < 10000; ++i) world.put({.body_bytes = 1});
    world.end_turn();
    EXPECT_TRUE(world.close());
  }
  Binlog binlog(disk, kEveryTurn);
  Engine engine(Instant{}, binlog);
  std::string error;
  const ReplayWatcher watcher{[](void*, const ReplayProgress&) { return false; }, nullptr};
  const std::uint64_t creates = disk.calls(DiskCall::create);
  EXPECT_FALSE(binlog.open(engine, Duration{}, Instant{}, 1, watcher, error));
  EXPECT_FALSE(error.empty());
  EXPECT_EQ(disk.calls(DiskCall::create), creates);
}

}  // namespace
}  // namespace haricot::binlog
