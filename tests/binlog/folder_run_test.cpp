#include "haricot/binlog/folder_run.hpp"

#include <gtest/gtest.h>

#include <string>

#include "binlog/parts_world.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/read/file_scan.hpp"

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
  // `is_torn`: a loss of power has taken a sector of the first file.
  explicit Opened(PartsWorld& before, bool is_torn = false) {
    SimDisk::Random random(1);
    disk = before.disk.crash(random, {Unsynced::kept, UnsyncedNames::kept});
    if (is_torn) disk->zero("binlog.1", 2 * kSectorBytes, kSectorBytes);
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

// The marks of a run state what is durable of all its files.
TEST(FolderOpening, ContinuesTheNewestFileUnlessAnOlderOneIsTorn) {
  for (const bool is_torn : {true, false}) {
    PartsWorld world;
    world.disk.set_sync_mode(SyncMode::when_told);
    world.begin();
    while (world.stream.writer().number() < 2) world.put(300);
    world.put();
    world.stream.records().flush();
    Opened opened(world, is_torn);
    ASSERT_TRUE(opened.good) << opened.error;
    EXPECT_TRUE(opened.opening->report().is_sound());
    EXPECT_EQ(opened.opening->report().problems.size(), is_torn ? 1U : 0U);
    (void)opened.opening->start();
    EXPECT_EQ(opened.opening->open_last_file().has_value(), !is_torn);
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

struct RunWorld : PartsWorld {
  // Closes the parts again, because the run opens the folder.
  RunWorld() {
    state.engine = nullptr;
    state.segments.reset();
    stream.note().set({});
  }
  bool begin_run(bool has_to = false) {
    return run.read(engine, Duration{}, state.now, {}, error) && run.begin(12345, has_to, error);
  }

  std::string error;
  FolderRun run{{.state = state,
                 .stream = stream,
                 .room = room,
                 .bodies = bodies,
                 .watch = watch,
                 .recovery = recovery,
                 .restored = restored}};
};

TEST(FolderRun, BeginsAFileAndEndsItWithASealAndANote) {
  RunWorld world;
  ASSERT_TRUE(world.begin_run()) << world.error;
  EXPECT_TRUE(world.state.is_in_use());
  EXPECT_TRUE(world.disk.has("binlog.1"));
  EXPECT_NE(world.stream.note().note().store_id, 0U);
  world.put();
  ASSERT_TRUE(world.run.end(world.state.now));
  EXPECT_FALSE(world.state.is_in_use());
  const std::string bytes = world.disk.bytes_of("binlog.1");
  FileScan scan(bytes, identify(bytes, {.number = 1}));
  scan.run_to_end();
  EXPECT_EQ(scan.records(), 1U);
  ASSERT_TRUE(scan.seal());
  EXPECT_TRUE(scan.seal()->clean_exit);
  EXPECT_EQ(world.disk.folder_note().newest, 1U);
  EXPECT_EQ(world.disk.folder_note().end, bytes.size());
  EXPECT_EQ(world.disk.open_files(), 0U);
  EXPECT_TRUE(world.run.end(world.state.now)) << "it has ended";
}

TEST(FolderRun, ATrialLeavesNoFileAndReportsFailures) {
  RunWorld world;
  ASSERT_TRUE(world.run.read(world.engine, Duration{}, world.state.now, {}, world.error));
  EXPECT_TRUE(world.run.can_begin(world.error));
  std::vector<std::string> names;
  ASSERT_EQ(world.disk.list(names), DiskStatus::ok);
  EXPECT_TRUE(names.empty());
  world.disk.set_capacity(0);
  EXPECT_TRUE(world.run.can_begin(world.error)) << "a full disk is no obstacle";
  EXPECT_EQ(world.error, "");
  world.disk.set_capacity({});
  for (const DiskCall call : {DiskCall::create, DiskCall::write, DiskCall::sync}) {
    world.disk.inject({.call = call});
    EXPECT_FALSE(world.run.can_begin(world.error));
    EXPECT_NE(world.error, "");
  }
  ASSERT_EQ(world.disk.list(names), DiskStatus::ok);
  EXPECT_TRUE(names.empty());
}

TEST(FolderRun, BeginsLaterOnAFailingDiskOnlyIfItHasTo) {
  for (const bool has_to : {false, true}) {
    RunWorld world;
    world.disk.inject({.call = DiskCall::create, .lasts = true});
    EXPECT_EQ(world.begin_run(has_to), has_to);
    EXPECT_EQ(world.error.empty(), has_to);
    if (!has_to) continue;
    EXPECT_TRUE(world.stream.is_refusing());
    world.disk.clear_faults();
    world.recovery.advance(world.budget());
    world.stream.syncs().take_ends();
    EXPECT_FALSE(world.stream.is_refusing());
    EXPECT_TRUE(world.disk.has("binlog.1"));
  }
}

TEST(FolderRun, WritesRecordsInDoubtAgainBeforeItEnds) {
  for (const bool lasts : {false, true}) {
    RunWorld world;
    ASSERT_TRUE(world.begin_run()) << world.error;
    world.put();
    world.disk.inject({.call = DiskCall::write, .lasts = lasts});
    EXPECT_EQ(world.run.end(world.state.now), !lasts);
    EXPECT_EQ(world.stream.progress().doubtful() > 0, lasts);
    EXPECT_EQ(world.jobs_on_disk(), lasts ? 0U : 1U);
  }
}

TEST(FolderRun, TheNextRunFindsTheJobs) {
  RunWorld world;
  ASSERT_TRUE(world.begin_run()) << world.error;
  for (int i = 0; i < 20; ++i) world.put(500);
  ASSERT_TRUE(world.run.end(world.state.now));
  EXPECT_EQ(world.jobs_on_disk(), 20U);
}

}  // namespace

}  // namespace haricot::binlog
