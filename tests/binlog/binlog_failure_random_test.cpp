// Random commands on a disk with random failures of every kind.

#include <gtest/gtest.h>

#include <memory>

#include "binlog_world.hpp"
#include "support/random.hpp"

namespace haricot::binlog {
namespace {

Fault random_fault(test::Random& random) {
  Fault fault;
  fault.nth = 1 + random.below(30);
  if (random.one_in(2)) fault.call = static_cast<DiskCall>(random.below(kDiskCalls));
  if (fault.call == DiskCall::close) fault.call.reset();
  fault.status = random.one_in(2) ? DiskStatus::full : DiskStatus::failed;
  fault.lasts = random.one_in(4);
  fault.takes_effect = random.one_in(4);
  fault.pieces_written = random.below(3);
  fault.bytes_written = random.below(300);
  return fault;
}

// Runs one server. After each turn a crash must not lose a job that the server holds.
void play(SimDisk& disk, const BinlogOptions& options, std::int64_t& wall, test::Random& random) {
  World world(disk, options, wall);
  SimDisk::Random chance(random.bits());
  const auto check = [&](const char* when, CrashPolicy policy, bool exactly) {
    const auto crashed = disk.crash(chance, policy);
    crashed->set_capacity({});
    const World again(*crashed, options, world.wall() + 1);
    const std::uint64_t safe = world.binlog.safe_records();
    ASSERT_EQ(world.compare(again, safe, exactly), "") << when << "\n" << again.replay_text();
  };
  for (int turn = 0; turn < 60 && !::testing::Test::HasFatalFailure(); ++turn) {
    if (random.one_in(6)) disk.inject(random_fault(random));
    if (random.one_in(6)) disk.clear_faults();
    if (random.one_in(10)) disk.set_capacity(disk.used_bytes() + random.below(20000));
    if (random.one_in(10)) disk.set_capacity({});
    world.pass(Duration::milliseconds(static_cast<std::int64_t>(random.below(800))));
    for (std::uint64_t i = random.below(8); i > 0; --i) (void)world.random_command(random, 6000);
    if (random.one_in(2)) {
      disk.complete_syncs(random.below(4), random.one_in(8) ? DiskStatus::failed : DiskStatus::ok);
    }
    world.end_turn();
    if (options.sync == SyncPolicy::every_turn) check("in between", {}, false);
    if (random.one_in(8)) {
      disk.clear_faults();
      disk.set_capacity({});
      world.idle();
      ASSERT_FALSE(world.binlog.numbers().refusing);
      ASSERT_EQ(world.binlog.safe_records(), world.binlog.records());
      check("behind a recovery", {Unsynced::kept, UnsyncedNames::kept}, true);
    }
  }
  if (random.one_in(2)) {
    disk.clear_faults();
    disk.set_capacity({});
  }
  const bool good = world.close();
  EXPECT_EQ(disk.open_files(), 0U);
  disk.clear_faults();
  disk.set_capacity({});
  if (good) check("behind the end", {Unsynced::kept, UnsyncedNames::kept}, true);
  wall = world.wall() + 1'000'000;
}

TEST(BinlogFailureRandom, LosesNoHeldJob) {
  test::Random random;
  for (int i = 0; i < 30 && !HasFailure(); ++i) {
    auto disk = std::make_unique<SimDisk>();
    BinlogOptions options{.file_bytes = random.one_in(2) ? 4096U : 16384U,
                          .sync = static_cast<SyncPolicy>(random.below(3))};
    if (random.one_in(2)) {
      options.large_body_bytes = 1100 + random.below(2000);
      options.slice_bytes = 200 + random.below(1000);
    }
    disk->set_sync_mode(random.one_in(2) ? SyncMode::at_once : SyncMode::when_told);
    std::int64_t wall = kWallBegin;
    for (int life = 0; life < 3 && !HasFailure(); ++life) {
      SCOPED_TRACE("disk " + std::to_string(i) + ", life " + std::to_string(life) + ", policy " +
                   std::to_string(static_cast<int>(options.sync)));
      play(*disk, options, wall, random);
      SimDisk::Random chance(random.bits());
      disk = disk->crash(chance);
    }
  }
}

}  // namespace
}  // namespace haricot::binlog
