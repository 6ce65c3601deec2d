// Jobs whose body is written in slices: no turn writes much of it, no other record waits behind it,
// and the folder has all of it or nothing.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "binlog_world.hpp"
#include "haricot/binlog/format/file_identity.hpp"

namespace haricot::binlog {
namespace {

constexpr std::size_t kLarge = 2000;
constexpr std::uint64_t kSlice = 500;
constexpr std::size_t kBody = 100'000;

class LargeJobs : public ::testing::TestWithParam<SyncPolicy> {
 protected:
  BinlogOptions options(std::uint64_t file_bytes = 16384) const {
    return {.file_bytes = file_bytes,
            .sync = GetParam(),
            .large_body_bytes = kLarge,
            .slice_bytes = kSlice};
  }

  // Runs turns until the put is done, like a server. Calls `each` before a turn ends.
  template <typename Each>
  static Outcome turns_until_put(World& world, World::PendingPut& put, Each each) {
    Outcome outcome = world.try_once(put);
    for (int turn = 0; outcome == Outcome::not_yet && turn < 10'000; ++turn) {
      EXPECT_LE(world.binlog.next_event(), world.now) << "no turn is requested";
      each(turn);
      world.end_turn();
      if (world.binlog.may_try_again()) outcome = world.try_once(put);
    }
    return outcome;
  }

  static void expect_all_there(World& world, const BinlogOptions& options) {
    world.idle();
    EXPECT_EQ(world.binlog.safe_records(), world.binlog.records());
    EXPECT_TRUE(world.close());
    EXPECT_EQ(world.disk.open_files(), 0U);
    EXPECT_FALSE(world.disk.has(spare_name(LargeBody::kNumber)));
    const World again(world.disk, options, world.wall());
    EXPECT_EQ(world.compare(again, world.binlog.records(), true), "") << again.replay_text();
    EXPECT_TRUE(again.binlog.replayed().is_sound()) << again.replay_text();
  }
};

TEST_P(LargeJobs, NoTurnWritesMuchOfABody) {
  for (const std::uint64_t file_bytes : {std::uint64_t{4096}, std::uint64_t{1} << 20}) {
    SimDisk disk;
    World world(disk, options(file_bytes));
    World::PendingPut put(world.engine.take_id(), {.body_bytes = kBody});
    int turns = 0;
    std::uint64_t before = disk.bytes_written();
    std::uint64_t most = 0;
    const Outcome outcome = turns_until_put(world, put, [&](int) {
      most = std::max(most, disk.bytes_written() - before);
      before = disk.bytes_written();
      ++turns;
    });
    EXPECT_EQ(outcome, Outcome::done);
    most = std::max(most, disk.bytes_written() - before);
    EXPECT_LE(most, kSlice + 1000);
    EXPECT_GE(turns, static_cast<int>(kBody / kSlice));
    // The last write is its header, with the head of its file and the end of the file before.
    before = disk.bytes_written();
    world.end_turn();
    EXPECT_LE(disk.bytes_written() - before, 1000U);
    expect_all_there(world, options(file_bytes));
  }
}

// Records of other jobs go to the file that is being written, and are as safe as usual.
TEST_P(LargeJobs, OtherJobsDoNotWait) {
  SimDisk disk;
  World world(disk, options());
  World::PendingPut put(world.engine.take_id(), {.body_bytes = kBody});
  const Outcome outcome = turns_until_put(world, put, [&](int turn) {
    world.pass(Duration::milliseconds(1));
    if (turn % 10 == 0) {
      EXPECT_EQ(world.put_at_once(), Outcome::done);
    }
    if (turn % 20 == 5) {
      EXPECT_EQ(world.engine.delete_job(world.client, world.reserve()), Outcome::done);
    }
    if (turn % 10 == 1 && GetParam() != SyncPolicy::interval) {
      EXPECT_EQ(world.binlog.safe_records(), world.binlog.records());
    }
  });
  EXPECT_EQ(outcome, Outcome::done);
  expect_all_there(world, options());
}

TEST_P(LargeJobs, TakeTurns) {
  SimDisk disk;
  World world(disk, options());
  std::vector<std::unique_ptr<World::PendingPut>> puts;
  for (int i = 0; i < 5; ++i) {
    puts.push_back(std::make_unique<World::PendingPut>(
        world.engine.take_id(),
        PutOptions{.body_bytes = 3000U + 1000U * static_cast<unsigned>(i)}));
  }
  std::size_t left = puts.size();
  for (int turn = 0; turn < 1000 && left > 0; ++turn) {
    for (auto& put : puts) {
      if (put && world.try_once(*put) == Outcome::done) put.reset(), --left;
    }
    if (left == 0) break;
    do {
      ASSERT_LE(world.binlog.next_event(), world.now);
      world.end_turn();
    } while (!world.binlog.may_try_again());
  }
  EXPECT_EQ(left, 0U);
  expect_all_there(world, options());
}

TEST_P(LargeJobs, ABodyWithoutAClientIsDropped) {
  SimDisk disk;
  World world(disk, options());
  auto put =
      std::make_unique<World::PendingPut>(world.engine.take_id(), PutOptions{.body_bytes = kBody});
  EXPECT_EQ(world.try_once(*put), Outcome::not_yet);
  for (int i = 0; i < 50; ++i) world.end_turn();
  EXPECT_TRUE(disk.has(spare_name(LargeBody::kNumber)));
  put.reset();  // Its client has disconnected.
  const std::uint64_t written = disk.bytes_written();
  while (disk.has(spare_name(LargeBody::kNumber)) && !HasFailure()) {
    ASSERT_LE(world.binlog.next_event(), world.now);
    world.end_turn();
  }
  EXPECT_TRUE(world.binlog.may_try_again());
  world.idle(Duration::milliseconds(1));
  EXPECT_EQ(disk.bytes_written(), written);
  EXPECT_FALSE(disk.has(spare_name(LargeBody::kNumber)));
  EXPECT_NE(world.put({.body_bytes = kBody}), 0U);
  expect_all_there(world, options());
}

// A complete body whose client does not return for it blocks no other put.
TEST_P(LargeJobs, AnUnclaimedBodyIsDropped) {
  SimDisk disk;
  World world(disk, options());
  World::PendingPut lazy(world.engine.take_id(), {.body_bytes = 5000});
  EXPECT_EQ(world.try_once(lazy), Outcome::not_yet);
  EXPECT_NE(world.put({.body_bytes = 6000}), 0U);
  EXPECT_EQ(world.engine.jobs().size(), 1U);
  EXPECT_EQ(turns_until_put(world, lazy, [](int) {}), Outcome::done);
  expect_all_there(world, options());
}

TEST_P(LargeJobs, CompactionMovesThemSliceBySlice) {
  SimDisk disk;
  World world(disk, options(4096));
  const JobId large = world.put({.body_bytes = kBody});
  const JobId other = world.put({.body_bytes = kBody});
  world.end_turn();
  // Makes several times as much garbage, so that the file of the large job is compacted.
  std::uint64_t most = 0;
  int turns = 0;
  const std::uint64_t file_before = world.binlog.file_of(world.engine.peek(large));
  while (world.binlog.file_of(world.engine.peek(large)) == file_before && ++turns < 20'000) {
    const JobId id = world.put({.body_bytes = 900});
    EXPECT_EQ(world.delete_job(id), Outcome::done);
    const std::uint64_t before = disk.bytes_written();
    world.end_turn();
    most = std::max(most, disk.bytes_written() - before);
    world.pass(Duration::milliseconds(10));
  }
  EXPECT_LT(turns, 20'000);
  EXPECT_LT(most, 10'000U);  // Records of the turn, three times as much moved, and a slice.
  EXPECT_NE(world.engine.peek(other), JobRef::none);
  expect_all_there(world, options(4096));
}

TEST_P(LargeJobs, AJobDeletedWhileItMovesIsDropped) {
  SimDisk disk;
  World world(disk, options(4096));
  const JobId large = world.put({.body_bytes = kBody});
  world.end_turn();
  const std::string name = spare_name(LargeBody::kNumber);
  for (int turns = 0; !disk.has(name) && turns < 20'000; ++turns) {
    EXPECT_EQ(world.delete_job(world.put({.body_bytes = 900})), Outcome::done);
    world.end_turn();
    world.pass(Duration::milliseconds(10));
  }
  ASSERT_TRUE(disk.has(name)) << "compaction has never come to it";
  EXPECT_EQ(world.delete_job(large), Outcome::done);
  world.idle();
  EXPECT_FALSE(disk.has(name));
  expect_all_there(world, options(4096));
}

// Endless puts do not keep compaction from moving a large job, and compaction does not block puts.
TEST_P(LargeJobs, NeitherPutsNorCompactionStarveTheOther) {
  SimDisk disk;
  World world(disk, options(4096));
  std::vector<JobId> kept;
  for (int i = 0; i < 4; ++i) kept.push_back(world.put({.body_bytes = 10'000}));
  for (int i = 0; i < 400; ++i) {
    const JobId id = world.put({.body_bytes = 5000});
    EXPECT_EQ(world.delete_job(id), Outcome::done);
    world.end_turn();
    EXPECT_LE(world.file_bytes(), 4 * 3 * (4 * 10'200U + 5'200U) + 100'000U);
    world.pass(Duration::milliseconds(60));
  }
  EXPECT_GT(world.binlog.numbers().records_migrated, 4U);
  expect_all_there(world, options(4096));
}

TEST_P(LargeJobs, AFullDiskRefusesAPutAndChangesNothing) {
  SimDisk disk;
  World world(disk, options());
  world.put();
  world.end_turn();
  disk.set_capacity(disk.used_bytes() + 60'000);
  for (const bool tells : {true, false}) {
    disk.set_tells_space(tells);
    EXPECT_EQ(world.try_put({.body_bytes = kBody}), Outcome::out_of_memory);
    world.idle(Duration::milliseconds(100));
    EXPECT_FALSE(disk.has(spare_name(LargeBody::kNumber)));
    EXPECT_EQ(world.engine.jobs().size(), 1U);
    EXPECT_NE(world.put(), 0U);
    EXPECT_EQ(world.delete_job(world.engine.next_id() - 1), Outcome::done);
  }
  EXPECT_FALSE(world.binlog.numbers().refusing);
  disk.set_capacity({});
  world.idle();
  EXPECT_NE(world.put({.body_bytes = kBody}), 0U);
  expect_all_there(world, options());
}

// If a write between slices fails, only this put is refused.
TEST_P(LargeJobs, AFailedSliceRefusesOnlyThePut) {
  SimDisk disk;
  World world(disk, options());
  World::PendingPut put(world.engine.take_id(), {.body_bytes = kBody});
  const Outcome outcome = turns_until_put(world, put, [&](int turn) {
    if (turn == 30) disk.inject({.nth = 1, .call = DiskCall::write});
  });
  EXPECT_EQ(outcome, Outcome::journal_failed);
  EXPECT_FALSE(world.binlog.numbers().refusing);
  EXPECT_EQ(world.binlog.numbers().errors, 1U);
  EXPECT_NE(world.put(), 0U);
  EXPECT_NE(world.put({.body_bytes = kBody}), 0U);
  expect_all_there(world, options());
}

// Every call of the turns around the record fails once. Afterwards the job exists if the put
// succeeded, and does not if it was refused.
TEST_P(LargeJobs, AFailureLeavesAllOfAJobOrNothing) {
  bool was_hit = true;
  for (std::uint64_t nth = 1; was_hit && !HasFailure(); ++nth) {
    for (const bool takes_effect : {false, true}) {
      SCOPED_TRACE("call " + std::to_string(nth) + (takes_effect ? ", takes effect" : ""));
      SimDisk disk;
      World world(disk, options());
      world.put({.body_bytes = 3000});
      world.idle(Duration::milliseconds(200));
      disk.inject({.nth = nth, .takes_effect = takes_effect});
      const Outcome outcome = world.try_put({.body_bytes = 5000});
      world.end_turn();
      was_hit = disk.faults_hit() > 0;
      disk.clear_faults();
      world.idle();
      EXPECT_FALSE(world.binlog.numbers().refusing);
      EXPECT_EQ(world.engine.jobs().size(), outcome == Outcome::done ? 2U : 1U);
      EXPECT_NE(world.put({.body_bytes = 5000}), 0U);
      expect_all_there(world, options());
    }
  }
}

// Recovery also writes a large job in slices.
TEST_P(LargeJobs, RecoveryWritesThemSliceBySlice) {
  SimDisk disk;
  World world(disk, options());
  const JobId id = world.put({.body_bytes = kBody});
  world.put();  // It begins a file, which has room for more.
  world.idle();
  disk.take_away_all();
  world.pass(Duration::seconds(2));
  (void)world.put_at_once();
  std::uint64_t most = 0;
  int turns = 0;
  world.end_turn();
  EXPECT_TRUE(world.binlog.numbers().refusing);
  while (world.binlog.numbers().refusing && ++turns < 1000) {
    const std::uint64_t before = disk.bytes_written();
    world.end_turn();
    most = std::max(most, disk.bytes_written() - before);
    world.pass(Duration::milliseconds(10));
  }
  EXPECT_FALSE(world.binlog.numbers().refusing);
  EXPECT_LT(most, 5000U);
  EXPECT_NE(world.binlog.file_of(world.engine.peek(id)), 0U);
  expect_all_there(world, options());
}

// After a crash a partial body is in no file of jobs, and no problem is reported.
TEST_P(LargeJobs, ACrashBetweenSlicesLeavesNothing) {
  SimDisk disk;
  World world(disk, options());
  const JobId id = world.put();
  world.idle();
  World::PendingPut put(world.engine.take_id(), {.body_bytes = kBody});
  EXPECT_EQ(world.try_once(put), Outcome::not_yet);
  for (int i = 0; i < 20; ++i) world.end_turn();
  test::Random random;
  for (const CrashPolicy policy :
       {CrashPolicy{Unsynced::kept, UnsyncedNames::kept}, CrashPolicy{}}) {
    const bool by_power = policy.data == Unsynced::any;
    if (by_power && GetParam() == SyncPolicy::never) continue;
    const auto crashed = disk.crash(random, policy);
    World again(*crashed, options(), world.wall() + 1);
    EXPECT_EQ(again.engine.jobs().size(), 1U);
    EXPECT_NE(again.engine.peek(id), JobRef::none);
    EXPECT_TRUE(again.notices.empty()) << again.notices.front();
    EXPECT_FALSE(crashed->has(spare_name(LargeBody::kNumber)));
    EXPECT_FALSE(crashed->has(aside_name(LargeBody::kNumber, 1)));
  }
}

TEST_P(LargeJobs, AStopDoesNotWaitForABody) {
  SimDisk disk;
  World world(disk, options());
  World::PendingPut put(world.engine.take_id(), {.body_bytes = kBody});
  EXPECT_EQ(world.try_once(put), Outcome::not_yet);
  world.end_turn();
  const std::uint64_t written = disk.bytes_written();
  EXPECT_TRUE(world.close());
  EXPECT_LT(disk.bytes_written(), written + 1000);
  EXPECT_FALSE(disk.has(spare_name(LargeBody::kNumber)));
  EXPECT_EQ(disk.open_files(), 0U);
}

// If one turn gets too many bodies, none of them large, the rest waits for the next turn.
TEST_P(LargeJobs, ATurnRecordsALimitedNumberOfBodies) {
  SimDisk disk;
  World world(disk, {.file_bytes = std::uint64_t{64} << 20, .sync = GetParam()});
  constexpr std::size_t kBodyBytes = 512 * 1024;
  int done = 0;
  Outcome outcome = Outcome::done;
  while (outcome == Outcome::done && done < 100) {
    outcome = world.put_at_once({.body_bytes = kBodyBytes});
    if (outcome == Outcome::done) ++done;
  }
  EXPECT_EQ(outcome, Outcome::not_yet);
  EXPECT_EQ(done, 8);
  EXPECT_EQ(world.put_at_once(), Outcome::done);  // A job without a body of its own.
  EXPECT_FALSE(world.binlog.may_try_again());
  world.end_turn();
  EXPECT_LE(world.binlog.next_event(), world.now);
  EXPECT_TRUE(world.binlog.may_try_again());
  EXPECT_EQ(world.put_at_once({.body_bytes = kBodyBytes}), Outcome::done);
}

INSTANTIATE_TEST_SUITE_P(Each, LargeJobs, kEachSyncPolicy, name_of_policy);

}  // namespace
}  // namespace haricot::binlog
