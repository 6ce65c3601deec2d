// Notes of jobs in the binlog: each change of a note is recorded, and copies of the job keep it.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "binlog_world.hpp"
#include "haricot/queue/job_store.hpp"

namespace haricot::binlog {
namespace {

const std::string kLongestNote(JobStore::kNoteBytesMax, 'n');

class BinlogNotes : public ::testing::TestWithParam<SyncPolicy> {
 protected:
  static BinlogOptions options(std::uint64_t file_bytes = 4096) {
    return {.file_bytes = file_bytes,
            .sync = GetParam(),
            .large_body_bytes = 5000,
            .slice_bytes = 1000};
  }
  static void expect_same(World& world) {
    world.idle();
    EXPECT_TRUE(world.close());
    const World again(world.disk, options(), world.wall());
    EXPECT_TRUE(again.binlog.replayed().is_sound()) << again.replay_text();
    EXPECT_EQ(world.compare(again, world.binlog.records(), true), "") << again.replay_text();
    again.binlog.check_invariants();
  }
  static void make_garbage(World& world, std::uint64_t oldest) {
    for (int i = 0; i < 600 && world.binlog.numbers().oldest_index < oldest; ++i) {
      EXPECT_EQ(world.delete_job(world.put({.body_bytes = 1000})), Outcome::done);
      world.idle(Duration::milliseconds(1));
    }
    EXPECT_GE(world.binlog.numbers().oldest_index, oldest);
  }
};

TEST_P(BinlogNotes, SurviveARestart) {
  SimDisk disk;
  World world(disk, options());
  const std::string odd("a\0\r\n=", 5);
  const JobId ids[] = {world.put(), world.put({.tags = "try:3"}), world.put({.body_bytes = 3000}),
                       world.put({.delay_s = 100})};
  const std::string_view notes[] = {odd, kLongestNote, "=", "x"};
  for (std::size_t i = 0; i < std::size(ids); ++i) {
    ASSERT_EQ(world.set_note(ids[i], "before"), Outcome::done);
    ASSERT_EQ(world.set_note(ids[i], notes[i]), Outcome::done);
  }
  ASSERT_EQ(world.reserve(ids[0]), Outcome::done);
  ASSERT_EQ(world.bury(ids[0]), Outcome::done);
  expect_same(world);
  const World again(disk, options(), world.wall());
  for (std::size_t i = 0; i < std::size(ids); ++i) EXPECT_EQ(again.note_of(ids[i]), notes[i]);
}

TEST_P(BinlogNotes, ARemovedOneStaysRemoved) {
  SimDisk disk;
  World world(disk, options());
  const JobId id = world.put();
  const std::uint64_t before = world.binlog.records();
  ASSERT_EQ(world.set_note(id, ""), Outcome::done);
  EXPECT_EQ(world.binlog.records(), before);  // Nothing has changed.
  ASSERT_EQ(world.set_note(id, "x"), Outcome::done);
  world.end_turn();
  ASSERT_EQ(world.set_note(id, ""), Outcome::done);
  EXPECT_EQ(world.binlog.records(), before + 2);
  expect_same(world);
  const World again(disk, options(), world.wall());
  EXPECT_EQ(again.note_of(id), "");
}

// The note may be in another file than the job.
TEST_P(BinlogNotes, CompactionMovesThem) {
  SimDisk disk;
  World world(disk, options());
  const JobId plain = world.put();
  const JobId removed = world.put();
  const JobId large = world.put({.body_bytes = 9000});
  for (const JobId id : {plain, removed, large}) {
    ASSERT_EQ(world.set_note(id, "first"), Outcome::done);
  }
  make_garbage(world, 4);
  ASSERT_EQ(world.set_note(plain, kLongestNote), Outcome::done);
  ASSERT_EQ(world.set_note(removed, ""), Outcome::done);
  ASSERT_EQ(world.set_note(large, kLongestNote), Outcome::done);
  make_garbage(world, 12);
  expect_same(world);
  const World again(disk, options(), world.wall());
  EXPECT_EQ(again.note_of(plain), kLongestNote);
  EXPECT_EQ(again.note_of(removed), "");
  EXPECT_EQ(again.note_of(large), kLongestNote);
}

TEST_P(BinlogNotes, AreRewrittenAfterAFailure) {
  for (const DiskCall call : {DiskCall::write, DiskCall::start_sync}) {
    if (call == DiskCall::start_sync && GetParam() == SyncPolicy::never) continue;
    for (const std::string_view note : {std::string_view(kLongestNote), std::string_view()}) {
      SimDisk disk;
      World world(disk, options(65536));
      const JobId small = world.put();
      const JobId large = world.put({.body_bytes = 9000});
      ASSERT_EQ(world.set_note(small, "before"), Outcome::done);
      ASSERT_EQ(world.set_note(large, "before"), Outcome::done);
      world.idle();
      disk.inject({.call = call});
      ASSERT_EQ(world.set_note(small, note), Outcome::done);
      ASSERT_EQ(world.set_note(large, note), Outcome::done);
      world.idle();
      EXPECT_GT(disk.faults_hit(), 0U);
      EXPECT_FALSE(world.binlog.numbers().refusing);
      expect_same(world);
      const World again(disk, options(), world.wall());
      EXPECT_EQ(again.note_of(small), note);
      EXPECT_EQ(again.note_of(large), note);
    }
  }
}

TEST_P(BinlogNotes, AFullDiskRefusesThemAndKeepsTheFormer) {
  SimDisk disk;
  World world(disk, options());
  const JobId id = world.put();
  ASSERT_EQ(world.set_note(id, "before"), Outcome::done);
  world.idle();
  disk.set_capacity(disk.used_bytes());
  Outcome outcome = Outcome::done;
  for (int i = 0; i < 100 && outcome == Outcome::done; ++i) {
    outcome = world.set_note(id, i % 2 == 0 ? std::string_view(kLongestNote) : "before");
    world.end_turn();
  }
  EXPECT_EQ(outcome, Outcome::out_of_memory);
  EXPECT_EQ(world.delete_job(id), Outcome::done);
  expect_same(world);
}

INSTANTIATE_TEST_SUITE_P(With, BinlogNotes, kEachSyncPolicy, name_of_policy);

// A flipped bit costs the note, not the job.
TEST(BinlogNotesDamage, LosesTheNoteOfOneJob) {
  SimDisk disk;
  World world(disk, kSmallFiles);
  const JobId id = world.put();
  const JobId other = world.put();
  ASSERT_EQ(world.set_note(other, "other"), Outcome::done);
  ASSERT_EQ(world.set_note(id, "a note of more than one part, which is damaged"), Outcome::done);
  world.end_turn();
  EXPECT_TRUE(world.close());
  const std::size_t at = disk.bytes_of("binlog.1").rfind("NOTE");
  ASSERT_NE(at, std::string::npos);
  disk.flip("binlog.1", at + 20);
  const World again(disk, kSmallFiles, world.wall());
  EXPECT_FALSE(again.binlog.replayed().is_sound());
  EXPECT_NE(again.engine.peek(id), JobRef::none);
  EXPECT_EQ(again.note_of(id), "");
  EXPECT_EQ(again.note_of(other), "other");
}

}  // namespace
}  // namespace haricot::binlog
