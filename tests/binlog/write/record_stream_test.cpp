#include "haricot/binlog/write/record_stream.hpp"

#include <gtest/gtest.h>

#include "binlog/parts_world.hpp"

// Each part has a test of its own. This test follows records through all parts.

namespace haricot::binlog {
namespace {

TEST(RecordStream, ARecordIsCollectedWrittenSyncedAndSafe) {
  PartsWorld world;
  EXPECT_FALSE(world.stream.is_open());
  world.begin();
  EXPECT_TRUE(world.stream.is_open());
  world.settle();
  world.disk.set_sync_mode(SyncMode::when_told);
  world.put();
  EXPECT_EQ(world.stream.progress().records(), 1U);
  EXPECT_GT(world.stream.writer().collected_bytes(), 0U);
  world.stream.records().flush();
  EXPECT_EQ(world.stream.progress().written(), 1U);
  world.stream.syncs().request(false);
  EXPECT_EQ(world.stream.sync_line().length(), 1U);
  EXPECT_EQ(world.stream.progress().safe(), 0U);
  world.disk.complete_syncs();
  world.stream.syncs().take_ends();
  EXPECT_EQ(world.stream.progress().synced(), 1U);
  EXPECT_EQ(world.stream.progress().safe(), 1U);
  EXPECT_EQ(world.stream.note().note().newest, 1U) << "the note names the file from now on";
}

TEST(RecordStream, AFailureAnywhereStopsAllParts) {
  for (const DiskCall call : {DiskCall::write, DiskCall::start_sync}) {
    PartsWorld world;
    world.begin();
    world.settle();
    world.put();
    world.disk.inject({.call = call});
    world.settle();
    EXPECT_TRUE(world.stream.is_refusing());
    EXPECT_FALSE(world.stream.is_open());
    EXPECT_EQ(world.stream.sync_line().length(), 0U);
    EXPECT_EQ(world.stream.progress().safe(), 0U);
    EXPECT_EQ(world.stream.progress().ids_at_risk().size(), 1U);
    EXPECT_EQ(world.stream.syncs().next(), Instant::never());
  }
}

}  // namespace
}  // namespace haricot::binlog
