// Held jobs in the binlog: a start restores their holds, and the ends of holds always have room.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "binlog_world.hpp"

namespace haricot::binlog {
namespace {

class BinlogGroups : public ::testing::Test {
 protected:
  static BinlogOptions options() { return {.file_bytes = 4096, .sync = SyncPolicy::every_turn}; }
  static bool is_held(const World& world, JobId id) {
    return world.engine.jobs().is_held(world.engine.peek(id));
  }
  static JobReport report(const World& world, JobId id) {
    return *world.engine.queries().report(id, world.now);
  }
  static void check(World& world) {
    world.engine.check_invariants();
    world.binlog.check_invariants();
  }
  // Returns the disk as a kill would leave it now.
  static std::unique_ptr<SimDisk> kill(SimDisk& disk) {
    SimDisk::Random chance(1);
    return disk.crash(chance, {Unsynced::kept, UnsyncedNames::kept});
  }
};

TEST_F(BinlogGroups, AJobStaysHeldAfterARestart) {
  SimDisk disk;
  World world(disk, options());
  const JobId member = world.put({.tags = "grp:g"});
  const JobId waits = world.put({.delay_s = 4'294'967'295, .tags = "aft:g"});
  const JobId kicked = world.put({.tags = "aft:g"});
  const JobId released = world.put({.tags = "aft:g"});
  ASSERT_EQ(world.kick_job(kicked), Outcome::done);
  ASSERT_EQ(world.reserve(released), Outcome::done);
  ASSERT_EQ(world.release(released, 1, 4'294'967'295), Outcome::done);
  world.end_turn();
  EXPECT_TRUE(world.close());
  World again(disk, options(), world.wall());
  check(again);
  EXPECT_TRUE(is_held(again, waits));
  EXPECT_EQ(report(again, waits).time_left_s, 0U);
  EXPECT_FALSE(is_held(again, kicked));
  EXPECT_EQ(report(again, kicked).state, JobState::ready);
  EXPECT_FALSE(is_held(again, released));
  EXPECT_EQ(report(again, released).state, JobState::delayed);
  ASSERT_EQ(again.delete_job(member), Outcome::done);
  EXPECT_FALSE(is_held(again, waits));
  check(again);
}

// Records written by compaction keep the hold too.
TEST_F(BinlogGroups, AHeldJobMovesWithItsHold) {
  SimDisk disk;
  World world(disk, options());
  const JobId member = world.put({.tags = "grp:g"});
  const JobId waits = world.put({.delay_s = 5, .tags = "aft:g"});
  for (int i = 0; i < 400 && world.binlog.numbers().oldest_index < 4; ++i) {
    EXPECT_EQ(world.delete_job(world.put({.body_bytes = 300})), Outcome::done);
    world.end_turn();
    disk.complete_syncs();
  }
  EXPECT_GE(world.binlog.numbers().oldest_index, 4U);
  check(world);
  const auto left = kill(disk);
  World again(*left, options(), world.wall());
  EXPECT_TRUE(is_held(again, waits)) << again.replay_text();
  EXPECT_EQ(again.engine.find_group("g")->held, 1U);
  EXPECT_EQ(again.delete_job(member), Outcome::done);
  check(again);
}

// The kill comes after the record of the last deletion, but before those of most ends of holds.
TEST_F(BinlogGroups, AGroupEmptiedBeforeAKillEndsAtTheStart) {
  const BinlogOptions large{.file_bytes = 1 << 20, .sync = SyncPolicy::every_turn};
  SimDisk disk;
  World world(disk, large);
  const JobId member = world.put({.tags = "grp:g"});
  std::vector<JobId> held;
  for (std::uint32_t i = 0; i < Engine::kJobsPerCall + 100; ++i) {
    held.push_back(world.put({.delay_s = 100, .tags = "aft:g"}));
  }
  world.end_turn();
  ASSERT_EQ(world.delete_job(member), Outcome::done);
  world.binlog.end_turn(world.now);
  EXPECT_FALSE(is_held(world, held.front()));
  EXPECT_TRUE(is_held(world, held.back()));
  const auto left = kill(disk);
  World again(*left, large, world.wall());
  EXPECT_FALSE(is_held(again, held.front()));
  EXPECT_TRUE(is_held(again, held.back()));
  EXPECT_EQ(again.engine.find_group("g"), nullptr);
  check(again);
  again.pass(Duration::milliseconds(1));
  again.end_turn();
  again.pass(Duration::seconds(60));
  EXPECT_EQ(report(again, held.back()).time_left_s, 40U);
  // The hold ends once: a later start does not begin it again.
  const auto left_again = kill(*left);
  World last(*left_again, large, again.wall());
  for (const JobId id : {held.front(), held.back()}) {
    EXPECT_FALSE(is_held(last, id));
    EXPECT_LE(report(last, id).time_left_s, 40U);
  }
  check(last);
}

// On a disk that accepts no more puts, the ends of holds are still recorded.
TEST_F(BinlogGroups, TheEndOfAHoldIsNeverRefusedForLackOfSpace) {
  SimDisk disk;
  disk.set_capacity(200'000);
  World world(disk, options());
  const JobId member = world.put({.tags = "grp:g"});
  std::vector<JobId> held;
  for (int i = 0; i < 60; ++i) held.push_back(world.put({.tags = "aft:g"}));
  while (world.try_put({.body_bytes = 500}) == Outcome::done) world.end_turn();
  check(world);
  ASSERT_EQ(world.delete_job(member), Outcome::done);
  EXPECT_TRUE(world.engine.is_at_rest());
  world.end_turn();
  EXPECT_EQ(world.binlog.numbers().errors, 0U);
  for (const JobId id : held) EXPECT_FALSE(is_held(world, id));
  check(world);
  const auto left = kill(disk);
  const World again(*left, options(), world.wall());
  for (const JobId id : held) {
    ASSERT_NE(again.engine.peek(id), JobRef::none);
    EXPECT_EQ(report(again, id).state, JobState::ready);
  }
}

}  // namespace
}  // namespace haricot::binlog
