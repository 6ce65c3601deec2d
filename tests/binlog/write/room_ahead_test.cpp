#include "haricot/binlog/write/room_ahead.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "binlog/parts_world.hpp"

namespace haricot::binlog {
namespace {

TEST(RoomNeeds, RoomForDeletionsGrowsWithTheJobs) {
  PartsWorld world;
  world.begin();
  EXPECT_EQ(world.room.needs().for_ends_of_jobs(), 0U);
  const JobRef job = world.put();
  world.put();
  EXPECT_EQ(world.room.needs().for_ends_of_jobs(), 2 * kShortRecordBytes);
  EXPECT_EQ(world.room.needs().for_puts(), world.room.needs().for_ends_of_jobs() +
                                               world.room.needs().for_compaction() +
                                               world.room.needs().for_updates());
  world.delete_job(job);
  EXPECT_EQ(world.room.needs().for_ends_of_jobs(), kShortRecordBytes);
}

// A file whose jobs were moved, and which is about to be removed, returns its space once.
TEST(RoomNeeds, AnEmptiedFileIsCountedOnce) {
  PartsWorld world({.file_bytes = 4 * PartsWorld::kFileBytes, .sync = SyncPolicy::every_turn});
  world.begin();
  std::vector<JobRef> jobs;
  while (world.state.segments->size() < 3) jobs.push_back(world.put(200));
  Segment& oldest = world.state.segments->oldest();
  for (const JobRef job : jobs) {
    if (world.state.segments->of(job) == &oldest) world.delete_job(job);
  }
  ASSERT_EQ(oldest.live_jobs, 0U);
  ASSERT_GT(world.state.segments->at(1).live_jobs, 0U);
  const std::uint64_t before = world.room.needs().to_continue_compaction();
  ASSERT_GT(before, 0U);
  ASSERT_LT(before, world.room.needs().for_compaction());
  oldest.moved_until = 1;
  EXPECT_EQ(world.room.needs().to_continue_compaction(), before);
}

TEST(RoomNeeds, FilesAreSmallerOnASmallDisk) {
  constexpr std::uint64_t kMiB = 1024 * 1024;
  PartsWorld world({.file_bytes = 10 * kMiB});
  RoomNeeds needs(world.state);
  EXPECT_EQ(needs.file_bytes(), 10 * kMiB);
  EXPECT_FALSE(needs.has_small_files());
  struct {
    std::uint64_t space;
    std::uint64_t file_bytes;
  } const cases[] = {{1024 * kMiB, 10 * kMiB},   {320 * kMiB, 10 * kMiB}, {64 * kMiB, 2 * kMiB},
                     {2 * kMiB, 128 * 1024},   // The least that takes every job,
                     {512 * 1024, 64 * 1024},  // an eighth of a smaller disk,
                     {0, RoomNeeds::kBlockBytes}};
  for (const auto& [space, file_bytes] : cases) {
    needs.set_space(space);
    EXPECT_EQ(needs.file_bytes(), file_bytes) << space;
    EXPECT_EQ(needs.has_small_files(), file_bytes < 10 * kMiB);
  }
}

TEST(RoomNeeds, TheFolderMayHaveThreeFilesOrThreeTimesItsJobs) {
  PartsWorld world;
  world.begin();
  EXPECT_EQ(world.room.needs().folder_bytes_allowed(), 3 * PartsWorld::kFileBytes);
  for (int i = 0; i < 50; ++i) world.put(500);
  EXPECT_EQ(world.room.needs().folder_bytes_allowed(), 3 * world.state.segments->live_bytes());
}

TEST(RoomAhead, IsMadeForARecordAndTheReserve) {
  PartsWorld world;
  world.begin();
  EXPECT_EQ(world.room.make_room(100, 20000), JournalStatus::ok);
  EXPECT_GE(world.room.ahead(), 20100U);
  EXPECT_EQ(world.stream.writer().number(), 1U) << "the record fits the file";
  EXPECT_EQ(world.room.make_room(9000, 0), JournalStatus::ok);
  EXPECT_EQ(world.stream.writer().number(), 2U);
  EXPECT_GE(world.stream.writer().room(), 9000U);
  EXPECT_GE(world.room.folder_bytes(), 20100U);
}

TEST(RoomAhead, IsRefusedOnAFullDiskAndFoundAgain) {
  PartsWorld world;
  world.disk.set_capacity(32768);
  world.begin();
  EXPECT_EQ(world.room.make_room(100, 65536), JournalStatus::full);
  EXPECT_TRUE(world.room.is_short());
  EXPECT_LT(world.room.next_event(), Instant::never());
  world.room.count_refused_put(40000, 200);
  EXPECT_TRUE(world.room.is_missing());
  EXPECT_EQ(world.take_notices().size(), 1U);
  world.room.find_missing_room();
  EXPECT_TRUE(world.room.is_missing());
  world.disk.set_capacity(1024 * 1024);
  world.pass(Duration::milliseconds(100));
  world.room.find_missing_room();
  EXPECT_FALSE(world.room.is_missing());
  EXPECT_EQ(world.take_notices().size(), 1U);
}

TEST(RoomAhead, AnotherReasonIsAFailure) {
  PartsWorld world;
  world.begin();
  world.disk.inject({.call = DiskCall::create, .lasts = true});
  EXPECT_EQ(world.room.make_room(100, 65536), JournalStatus::failed);
  EXPECT_FALSE(world.room.is_short());
  EXPECT_EQ(world.state.check_files_at, world.state.now);
  EXPECT_EQ(world.take_notices().size(), 1U);
}

TEST(RoomAhead, WaitsForUnsyncedFiles) {
  PartsWorld world(
      {.file_bytes = PartsWorld::kFileBytes, .sync = SyncPolicy::every_turn, .open_files_max = 6});
  world.begin();
  world.disk.set_sync_mode(SyncMode::when_told);
  JournalStatus status = JournalStatus::ok;
  for (int i = 0; i < 10 && status == JournalStatus::ok; ++i) {
    status = world.room.make_room(world.stream.writer().room() + 1, 0);
  }
  EXPECT_EQ(status, JournalStatus::later);
  world.disk.complete_syncs();
  world.stream.syncs().take_ends();
  EXPECT_EQ(world.room.make_room(world.stream.writer().room() + 1, 0), JournalStatus::ok);
}

TEST(RoomAhead, TendMakesTheRoomForPuts) {
  PartsWorld world;
  world.begin();
  for (int i = 0; i < 30; ++i) world.put();
  do {
    world.room.tend(world.budget(2048));
  } while (world.room.is_left_to_tend());
  EXPECT_GE(world.room.ahead(), world.room.needs().for_puts());
  const std::uint64_t before = world.room.ahead();
  ASSERT_EQ(world.room.make_room_in_spares(10 * before), JournalStatus::ok);
  do {
    world.room.tend(world.budget(2048));
  } while (world.room.is_left_to_tend());
  EXPECT_LT(world.room.ahead(), 2 * before);
}

TEST(RoomAhead, AllocatesSpaceWithinTheBudget) {
  constexpr std::uint64_t kMiB = 1024 * 1024;
  PartsWorld world({.file_bytes = 16 * kMiB, .sync = SyncPolicy::every_turn});
  world.begin();
  const auto taken = [&world](std::uint64_t steps) {
    const std::uint64_t before = world.room.ahead();
    const std::uint64_t done = world.state.steps;
    world.room.tend(world.budget(steps));
    EXPECT_GE(world.state.steps - done, steps);
    return world.room.ahead() - before;
  };
  ASSERT_EQ(world.room.make_room_in_spares(1), JournalStatus::ok);
  while (world.room.is_left_to_tend()) world.room.tend(world.budget(2048));
  while (world.room.ahead() > world.room.needs().for_puts()) world.put(100'000);
  EXPECT_LE(taken(2048), 2 * kMiB) << "the first of its space";
  EXPECT_EQ(taken(1024), kMiB);
  EXPECT_EQ(taken(2048), 2 * kMiB);
}

// Removing a file takes the kernel long, however small the file is.
TEST(RoomAhead, RemovesAFewSmallSparesATurn) {
  PartsWorld world;
  world.begin();
  ASSERT_EQ(world.room.make_room_in_spares(20 * PartsWorld::kFileBytes), JournalStatus::ok);
  const auto files = [&world] {
    std::vector<std::string> names;
    EXPECT_EQ(world.disk.list(names), DiskStatus::ok);
    return names.size();
  };
  const std::size_t before = files();
  ASSERT_GT(before, 20U);
  world.room.tend(world.budget(2048));
  EXPECT_EQ(files(), before - 4);
  EXPECT_TRUE(world.room.is_left_to_tend());
}

TEST(RoomAhead, StaysOnAFullDiskAtTheEnd) {
  for (const bool is_full : {false, true}) {
    PartsWorld world;
    if (is_full) world.disk.set_capacity(32768);
    world.begin();
    EXPECT_EQ(world.room.make_room_in_spares(8192), JournalStatus::ok);
    if (is_full) {
      EXPECT_EQ(world.room.make_room_in_spares(65536), JournalStatus::full);
    }
    const std::string spare = "binlog.2.tmp";
    EXPECT_TRUE(world.disk.has(spare));
    world.room.end();
    EXPECT_EQ(world.disk.has(spare), is_full);
  }
}

}  // namespace

}  // namespace haricot::binlog
