// The runs in the note of a folder, as consecutive servers find them.

#include "haricot/binlog/format/folder_note.hpp"

#include <gtest/gtest.h>

#include "binlog/binlog_world.hpp"

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

}  // namespace
}  // namespace haricot::binlog
