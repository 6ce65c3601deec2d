#include "haricot/binlog/folder_run.hpp"

#include <gtest/gtest.h>

#include <string>

#include "binlog/parts_world.hpp"
#include "haricot/binlog/read/file_scan.hpp"

namespace haricot::binlog {
namespace {

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
