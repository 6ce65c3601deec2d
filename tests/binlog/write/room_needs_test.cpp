#include "haricot/binlog/write/room_needs.hpp"

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

}  // namespace
}  // namespace haricot::binlog
