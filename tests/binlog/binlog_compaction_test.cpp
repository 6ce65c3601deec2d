// What stays of the folder when jobs come and go.

#include <gtest/gtest.h>

#include "binlog_world.hpp"

namespace haricot::binlog {
namespace {

constexpr BinlogOptions kSmallFiles{.file_bytes = 4096, .sync = SyncPolicy::every_turn};

TEST(BinlogCompaction, RemovesAFileOnlyWhenTheOneBeforeIsGoneForGood) {
  SimDisk disk;
  World world(disk, kSmallFiles);
  while (world.binlog.numbers().current_index < 5) {
    world.put({.body_bytes = 1000});
    world.end_turn();
  }
  disk.set_sync_mode(SyncMode::when_told);
  for (JobId id = 1; id < world.engine.next_id(); ++id) {
    ASSERT_EQ(world.remove(id), Outcome::done);
  }
  int removed = 0;
  for (int turn = 0; turn < 60; ++turn) {
    const std::uint64_t oldest = world.binlog.numbers().oldest_index;
    world.end_turn();
    if (world.binlog.numbers().oldest_index != oldest) {
      ++removed;
      EXPECT_EQ(world.binlog.numbers().oldest_index, oldest + 1);
      EXPECT_TRUE(oldest == 1 || !disk.has_durable(segment_name(oldest - 1)));
    }
    if (turn % 3 == 2) disk.complete_syncs(1);
  }
  EXPECT_EQ(removed, 4);
}

}  // namespace
}  // namespace haricot::binlog
