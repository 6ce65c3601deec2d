// The runs in the note of a folder, as consecutive servers find them.

#include "haricot/binlog/folder_note.hpp"

#include <gtest/gtest.h>

#include "binlog/binlog_world.hpp"
#include "support/sim_disk.hpp"

namespace haricot::binlog {
namespace {

TEST(FolderNote, HasTheRunsOfTheServerAndOfTheNewestFile) {
  SimDisk disk;
  EXPECT_EQ(disk.folder_note(), FolderNote{});
  FolderNote first;
  {
    World world(disk, kSmallFiles);
    first = disk.folder_note();
    EXPECT_NE(first.store_id, 0U);
    EXPECT_NE(first.run, 0U);
    EXPECT_LT(first.run, kRunsEnd);
    EXPECT_EQ(first.run_before, 0U) << "there was no file";
    world.put();
    world.end_turn();
    world.close();
  }
  {
    World world(disk, kSmallFiles);
    world.close();
  }
  const FolderNote second = disk.folder_note();
  EXPECT_EQ(second.store_id, first.store_id);
  EXPECT_NE(second.run, first.run);
  EXPECT_EQ(second.run_before, first.run);
  // The second server has recorded nothing, so its file does not count.
  World world(disk, kSmallFiles);
  EXPECT_EQ(disk.folder_note().run_before, first.run);
  EXPECT_TRUE(world.binlog.replayed().is_sound()) << world.replay_text();
}

TEST(FolderNote, HasTheNewestFileItsEndAndABoundOfIds) {
  SimDisk disk;
  {
    World world(disk, kSmallFiles);
    EXPECT_EQ(disk.folder_note().newest, 0U) << "nothing is recorded yet";
    EXPECT_EQ(disk.folder_note().ids_end, 1U);
    while (world.binlog.numbers().current_index < 3) {
      world.put({.body_bytes = 600});
      world.end_turn();
      EXPECT_GT(disk.folder_note().ids_end, world.engine.next_id());
    }
    world.idle();
    EXPECT_EQ(disk.folder_note().newest, 3U);
    EXPECT_EQ(disk.folder_note().oldest_needed, 1U);
    EXPECT_EQ(disk.folder_note().end, 0U) << "nothing is known of a server that is killed";
    EXPECT_TRUE(world.close());
    EXPECT_EQ(disk.folder_note().end, disk.bytes_of("binlog.3").size());
    EXPECT_EQ(disk.folder_note().ids_end, world.engine.next_id()) << "no id is left out for it";
  }
  World world(disk, kSmallFiles);
  EXPECT_EQ(disk.folder_note().newest, 3U);
  EXPECT_EQ(disk.folder_note().end, 0U) << "the next file says it from here on";
}

TEST(FolderNote, IsNotNeeded) {
  SimDisk disk;
  {
    World world(disk, kSmallFiles);
    world.put();
    world.end_turn();
  }
  disk.set_folder_note({});
  World world(disk, kSmallFiles);
  EXPECT_TRUE(world.binlog.replayed().is_sound()) << world.replay_text();
}

// A note that came with another folder does not apply to this one.
TEST(FolderNote, ANoteOfAnotherFolderIsIgnored) {
  SimDisk disk;
  {
    World world(disk, kSmallFiles);
    world.put();
    world.end_turn();
    world.close();
  }
  disk.set_folder_note({.store_id = 12345, .run = 1, .run_before = 2});
  World world(disk, kSmallFiles);
  for (const Problem& problem : world.binlog.replayed().problems) {
    EXPECT_NE(problem.kind, Problem::Kind::unfit) << to_sentence(problem);
  }
  EXPECT_EQ(world.engine.jobs().size(), 1U);
}

constexpr std::uint64_t kIdsAhead = 50;

class NoteWriterTest : public ::testing::Test {
 protected:
  NoteWriterTest() {
    writer_.begin_run(77, 1, 2);
    writer_.set_read_files({.oldest_needed = 3, .newest = 4, .next_id = 10});
  }
  const FolderNote& on_disk() const { return disk_.folder_note(); }

  SimDisk disk_;
  NoteWriter writer_{disk_, kIdsAhead};
};

TEST_F(NoteWriterTest, WritesTheFilesOfTheStart) {
  EXPECT_EQ(on_disk(), (FolderNote{.store_id = 77,
                                   .run = 2,
                                   .run_before = 1,
                                   .oldest_needed = 3,
                                   .newest = 4,
                                   .ids_end = 10}));
}

// A folder without a file leaves the field unchanged.
TEST_F(NoteWriterTest, KeepsTheOldestFileIfThereIsNone) {
  writer_.set_read_files({.oldest_needed = 0, .newest = 0, .next_id = 10});
  EXPECT_EQ(on_disk().oldest_needed, 3U);
}

TEST_F(NoteWriterTest, NamesAFileWhenItsFirstRecordsAreSafe) {
  writer_.set_safe_files({.oldest_needed = 3, .newest = 5, .next_id = 11}, false);
  EXPECT_EQ(on_disk().newest, 4U);
  EXPECT_EQ(on_disk().run_before, 2U) << "no other run can have begun the newest file";
  EXPECT_EQ(on_disk().ids_end, 11 + kIdsAhead);
  writer_.set_safe_files({.oldest_needed = 3, .newest = 5, .next_id = 11}, true);
  EXPECT_EQ(on_disk().newest, 5U);
}

TEST_F(NoteWriterTest, WritesOnlyChanges) {
  writer_.set_safe_files({.oldest_needed = 3, .newest = 5, .next_id = 11}, true);
  disk_.set_folder_note({});
  writer_.set_safe_files({.oldest_needed = 3, .newest = 5, .next_id = 11 + kIdsAhead}, true);
  EXPECT_EQ(on_disk(), FolderNote{});
  writer_.set_safe_files({.oldest_needed = 3, .newest = 5, .next_id = 12 + kIdsAhead}, true);
  EXPECT_EQ(on_disk().ids_end, 12 + 2 * kIdsAhead);
}

TEST_F(NoteWriterTest, WritesARemovalAndTheEnd) {
  writer_.set_removal(4);
  EXPECT_EQ(on_disk().oldest_needed, 4U);
  writer_.set_clean_stop({.oldest_needed = 4, .newest = 6, .next_id = 20}, 900, true);
  EXPECT_EQ(on_disk().newest, 6U);
  EXPECT_EQ(on_disk().end, 900U);
  EXPECT_EQ(on_disk().ids_end, 20U);
}

TEST_F(NoteWriterTest, WritesNoEndOfAFileWithoutARecord) {
  writer_.set_clean_stop({.oldest_needed = 4, .newest = 6, .next_id = 20}, 0, false);
  EXPECT_EQ(on_disk().newest, 4U);
  EXPECT_EQ(on_disk().end, 0U);
}

}  // namespace

}  // namespace haricot::binlog
