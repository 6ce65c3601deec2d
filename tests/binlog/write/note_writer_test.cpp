#include "haricot/binlog/write/note_writer.hpp"

#include <gtest/gtest.h>

#include "support/sim_disk.hpp"

namespace haricot::binlog {
namespace {

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
