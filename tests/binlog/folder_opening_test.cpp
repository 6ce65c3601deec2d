#include "haricot/binlog/folder_opening.hpp"
#include "haricot/binlog/format/file_name.hpp"

#include <gtest/gtest.h>

#include "parts_world.hpp"

namespace haricot::binlog {
namespace {

// Runs a server that writes jobs to that disk and is stopped or killed.
void write_jobs(PartsWorld& world, int jobs, bool is_stopped) {
  world.begin();
  for (int i = 0; i < jobs; ++i) world.put();
  world.settle();
  if (!is_stopped) return;
  (void)world.stream.files().end_cleanly();
  world.stream.syncs().take_ends();
  world.room.end();
}

// A folder as another server finds it.
struct Opened {
  explicit Opened(PartsWorld& before) {
    SimDisk::Random random(1);
    disk = before.disk.crash(random, {Unsynced::kept, UnsyncedNames::kept});
    state.emplace(*disk, before.state.options);
    state->engine = &engine;
    state->now = before.state.now;
    state->segments.emplace(engine.jobs());
    opening.emplace(*state);
    good = opening->read({.store_id = 77}, {}, error);
  }

  std::unique_ptr<SimDisk> disk;
  NotesOnly journal;
  Engine engine{Instant::at(1), journal};
  std::optional<BinlogState> state;
  std::optional<FolderOpening> opening;
  std::string error;
  bool good = false;
};

TEST(FolderOpening, RestoresJobsAndContinuesAfterThem) {
  PartsWorld world;
  write_jobs(world, 5, true);
  Opened opened(world);
  ASSERT_TRUE(opened.good) << opened.error;
  EXPECT_EQ(opened.engine.jobs().size(), 5U);
  EXPECT_EQ(opened.opening->newest_with_records(), 1U);
  const FileSequence::Start start = opened.opening->start();
  opened.opening->keep_unreadable_data();
  EXPECT_EQ(start.number, 2U);
  EXPECT_FALSE(start.is_unsure);
  EXPECT_EQ(start.previous_number, 1U);
  ASSERT_TRUE(start.previous);
  EXPECT_EQ(start.previous->bytes, opened.disk->bytes_of("binlog.1").size());
}

TEST(FolderOpening, ReplacesAFileWithoutARecord) {
  PartsWorld world;
  write_jobs(world, 0, true);
  Opened opened(world);
  ASSERT_TRUE(opened.good) << opened.error;
  EXPECT_EQ(opened.opening->newest_with_records(), 0U);
  const FileSequence::Start start = opened.opening->start();
  opened.opening->keep_unreadable_data();
  EXPECT_EQ(start.number, 1U);
  EXPECT_TRUE(start.is_unsure);
  EXPECT_FALSE(start.previous);
  EXPECT_TRUE(opened.state->segments->empty());
}

TEST(FolderOpening, ReturnsTheSpaceAfterTheLastRecord) {
  for (const bool is_stopped : {true, false}) {
    PartsWorld world;
    write_jobs(world, 5, is_stopped);
    const std::uint64_t records_end = world.stream.writer().written().bytes;
    Opened opened(world);
    ASSERT_TRUE(opened.good) << opened.error;
    EXPECT_EQ(opened.opening->cut_off_zeros(), !is_stopped);
    EXPECT_EQ(opened.disk->bytes_of("binlog.1").size(), records_end);
  }
}

TEST(FolderOpening, KeepsACopyOfUnreadableData) {
  PartsWorld world;
  write_jobs(world, 5, true);
  Opened sound(world);
  EXPECT_TRUE(sound.opening->report().is_sound());
  world.disk.flip("binlog.1", kFirstRecordOffset + 300);
  Opened opened(world);
  ASSERT_TRUE(opened.good) << opened.error;
  EXPECT_FALSE(opened.opening->report().is_sound());
  EXPECT_FALSE(opened.disk->has(damaged_name(1, 1)));
  (void)opened.opening->start();
  opened.opening->keep_unreadable_data();
  EXPECT_TRUE(opened.disk->has(damaged_name(1, 1)));
  EXPECT_FALSE(opened.state->segments->at(0).has_to_be_kept);
}

TEST(FolderOpening, FailsIfTheFilesCannotBeMadeDurable) {
  PartsWorld world;
  write_jobs(world, 5, false);
  SimDisk::Random random(1);
  const auto disk = world.disk.crash(random, {Unsynced::kept, UnsyncedNames::kept});
  disk->inject({.call = DiskCall::sync_folder});
  BinlogState state(*disk, world.state.options);
  NotesOnly journal;
  Engine engine(Instant::at(1), journal);
  state.engine = &engine;
  state.segments.emplace(engine.jobs());
  FolderOpening opening(state);
  std::string error;
  EXPECT_FALSE(opening.read({}, {}, error));
  EXPECT_EQ(error, "the sync failed");
}

}  // namespace
}  // namespace haricot::binlog
