#include "haricot/binlog/write/record_syncs.hpp"

#include <gtest/gtest.h>

#include <string>

#include "binlog/parts_world.hpp"
#include "haricot/binlog/read/file_scan.hpp"

namespace haricot::binlog {
namespace {

TEST(RecordSyncs, RecordsAreSafeByThePolicy) {
  for (const SyncPolicy policy :
       {SyncPolicy::every_turn, SyncPolicy::interval, SyncPolicy::never}) {
    PartsWorld world(PartsWorld::options_with(policy));
    world.begin();
    world.disk.set_sync_mode(SyncMode::when_told);
    world.put();
    EXPECT_EQ(world.stream.progress().safe(), 0U);
    world.stream.records().flush();
    EXPECT_EQ(world.stream.progress().written(), 1U);
    EXPECT_EQ(world.stream.progress().safe(), policy == SyncPolicy::every_turn ? 0U : 1U);
    EXPECT_EQ(world.stream.progress().ids_at_risk().size(), policy == SyncPolicy::never ? 0U : 1U);
    world.stream.syncs().request(true);
    world.disk.complete_syncs();
    world.stream.syncs().take_ends();
    EXPECT_EQ(world.stream.progress().safe(), 1U);
    EXPECT_TRUE(world.stream.progress().ids_at_risk().empty());
    world.stream.progress().check_invariants();
  }
}

TEST(RecordSyncs, OneSyncIsUnderWayAndTheNextCoversLaterRecords) {
  PartsWorld world;
  world.begin();
  world.settle();
  world.disk.set_sync_mode(SyncMode::when_told);
  world.put();
  world.stream.records().flush();
  world.stream.syncs().request(false);
  world.put();
  world.stream.records().flush();
  world.stream.syncs().request(false);
  EXPECT_EQ(world.disk.syncs_under_way(), 1U);
  world.disk.complete_syncs();
  world.stream.syncs().take_ends();
  EXPECT_EQ(world.stream.progress().safe(), 1U);
  world.stream.syncs().request(false);
  world.disk.complete_syncs();
  world.stream.syncs().take_ends();
  EXPECT_EQ(world.stream.progress().safe(), 2U);
}

// The sync of the last record may be under way when the file is ended. The seal after that record
// is in the next sync.
TEST(RecordSyncs, AFileIsDurableOnlyWithItsSeal) {
  PartsWorld world;
  world.begin();
  world.settle();
  world.disk.set_sync_mode(SyncMode::when_told);
  const auto put_and_check = [&world] {
    world.put();
    world.stream.records().flush();
    const std::string bytes = world.disk.bytes_of("binlog.2");
    FileScan scan(bytes, identify(bytes, {.number = 2}));
    scan.run_to_end();
    return scan.marks().has_durable_past;
  };
  world.put(PartsWorld::kFileBytes / 2);
  world.stream.records().flush();
  world.stream.syncs().request(true);
  world.put(PartsWorld::kFileBytes / 2);
  ASSERT_EQ(world.stream.writer().number(), 2U);
  world.disk.complete_syncs(1);
  world.stream.syncs().take_ends();
  ASSERT_EQ(world.stream.progress().synced(), 1U);
  EXPECT_FALSE(put_and_check());
  while (world.disk.syncs_under_way() > 0) {
    world.disk.complete_syncs();
    world.stream.syncs().take_ends();
  }
  EXPECT_TRUE(put_and_check());
}

TEST(RecordSyncs, ReportsTheOldestUnsyncedWrite) {
  for (const SyncPolicy policy : {SyncPolicy::every_turn, SyncPolicy::interval}) {
    PartsWorld world(PartsWorld::options_with(policy));
    world.begin();
    world.settle();
    world.disk.set_sync_mode(SyncMode::when_told);
    EXPECT_EQ(world.stream.state().oldest_unsynced(), Instant::never());
    const auto write_a_second_later = [&world] {
      world.state.now = world.state.now + Duration::seconds(1);
      world.put();
      world.stream.records().flush();
      return world.state.now;
    };
    const Instant first = write_a_second_later();
    EXPECT_EQ(world.stream.state().oldest_unsynced(), first)
        << "it is written, and no sync was asked for";
    world.stream.syncs().request(true);
    const Instant second = write_a_second_later();
    write_a_second_later();
    EXPECT_EQ(world.stream.state().oldest_unsynced(), first) << "its sync is under way";
    world.disk.complete_syncs();
    world.stream.syncs().take_ends();
    EXPECT_EQ(world.stream.state().oldest_unsynced(), second)
        << "they came while the sync was under way";
    world.stream.syncs().request(true);
    world.disk.complete_syncs();
    world.stream.syncs().take_ends();
    EXPECT_EQ(world.stream.state().oldest_unsynced(), Instant::never());
  }
}

TEST(RecordSyncs, WithoutSyncsNoRecordWaitsForOne) {
  PartsWorld world(PartsWorld::options_with(SyncPolicy::never));
  world.begin();
  world.put();
  EXPECT_EQ(world.stream.state().oldest_unsynced(), Instant::never());
  world.stream.records().flush();
  EXPECT_EQ(world.stream.state().oldest_unsynced(), Instant::never());
}

TEST(RecordSyncs, AWaitingAnswerEndsTheInterval) {
  PartsWorld world(PartsWorld::options_with(SyncPolicy::interval));
  world.begin();
  world.put();
  world.stream.records().flush();
  EXPECT_EQ(world.stream.syncs().next(), world.state.now + world.state.options.sync_interval);
  world.stream.syncs().request(false);
  world.stream.syncs().take_ends();
  EXPECT_EQ(world.stream.progress().synced(), 0U);
  world.stream.syncs().request(true);
  world.stream.syncs().take_ends();
  EXPECT_EQ(world.stream.progress().synced(), 1U);
  EXPECT_EQ(world.stream.syncs().next(), Instant::never());
}

}  // namespace
}  // namespace haricot::binlog
