#include "haricot/binlog/record_way.hpp"

#include <gtest/gtest.h>

#include "parts_world.hpp"

namespace haricot::binlog {
namespace {

BinlogOptions with(SyncPolicy policy) {
  return {.file_bytes = PartsWorld::kFileBytes, .sync = policy};
}

TEST(RecordWay, RecordsAreSafeWhenTheirPolicySaysSo) {
  for (const SyncPolicy policy :
       {SyncPolicy::every_turn, SyncPolicy::interval, SyncPolicy::never}) {
    PartsWorld world(with(policy));
    world.begin();
    world.disk.set_sync_mode(SyncMode::when_told);
    world.put();
    EXPECT_EQ(world.way.safe(), 0U);
    world.way.flush();
    EXPECT_EQ(world.way.written(), 1U);
    EXPECT_EQ(world.way.safe(), policy == SyncPolicy::every_turn ? 0U : 1U);
    EXPECT_EQ(world.way.unsafe().size(), policy == SyncPolicy::never ? 0U : 1U);
    world.way.request_sync(true);
    world.disk.complete_syncs();
    world.way.take_sync_ends();
    EXPECT_EQ(world.way.safe(), 1U);
    EXPECT_TRUE(world.way.unsafe().empty());
    world.way.check_invariants();
  }
}

TEST(RecordWay, OneSyncIsUnderWayAndTheNextCoversWhatCameMeanwhile) {
  PartsWorld world;
  world.begin();
  world.settle();
  world.disk.set_sync_mode(SyncMode::when_told);
  world.put();
  world.way.flush();
  world.way.request_sync(false);
  world.put();
  world.way.flush();
  world.way.request_sync(false);
  EXPECT_EQ(world.disk.syncs_under_way(), 1U);
  world.disk.complete_syncs();
  world.way.take_sync_ends();
  EXPECT_EQ(world.way.safe(), 1U);
  world.way.request_sync(false);
  world.disk.complete_syncs();
  world.way.take_sync_ends();
  EXPECT_EQ(world.way.safe(), 2U);
}

TEST(RecordWay, TellsSinceWhenTheOldestRecordIsNotSynced) {
  for (const SyncPolicy policy : {SyncPolicy::every_turn, SyncPolicy::interval}) {
    PartsWorld world(with(policy));
    world.begin();
    world.settle();
    world.disk.set_sync_mode(SyncMode::when_told);
    EXPECT_EQ(world.way.oldest_unsynced(), Instant::never());
    const auto write_a_second_later = [&world] {
      world.ground.now = world.ground.now + Duration::seconds(1);
      world.put();
      world.way.flush();
      return world.ground.now;
    };
    const Instant first = write_a_second_later();
    EXPECT_EQ(world.way.oldest_unsynced(), first) << "it is written, and no sync was asked for";
    world.way.request_sync(true);
    const Instant second = write_a_second_later();
    write_a_second_later();
    EXPECT_EQ(world.way.oldest_unsynced(), first) << "its sync is under way";
    world.disk.complete_syncs();
    world.way.take_sync_ends();
    EXPECT_EQ(world.way.oldest_unsynced(), second) << "they came while the sync was under way";
    world.way.request_sync(true);
    world.disk.complete_syncs();
    world.way.take_sync_ends();
    EXPECT_EQ(world.way.oldest_unsynced(), Instant::never());
  }
}

TEST(RecordWay, WithoutSyncsNoRecordWaitsForOne) {
  PartsWorld world(with(SyncPolicy::never));
  world.begin();
  world.put();
  EXPECT_EQ(world.way.oldest_unsynced(), Instant::never());
  world.way.flush();
  EXPECT_EQ(world.way.oldest_unsynced(), Instant::never());
}

TEST(RecordWay, ARecordInDoubtIsNotSyncedUntilAllIsWrittenAnew) {
  PartsWorld world;
  world.begin();
  world.settle();
  world.disk.set_sync_mode(SyncMode::when_told);
  world.ground.now = world.ground.now + Duration::seconds(1);
  world.put();
  world.way.flush();
  world.way.request_sync(true);
  const Instant first = world.ground.now;
  world.ground.now = world.ground.now + Duration::seconds(1);
  world.disk.complete_syncs(1, DiskStatus::failed);
  world.way.take_sync_ends();
  ASSERT_TRUE(world.way.is_refusing());
  EXPECT_EQ(world.way.oldest_unsynced(), first);
  world.way.begin_anew();
  EXPECT_EQ(world.way.oldest_unsynced(), Instant::never());
}

TEST(RecordWay, AnIntervalIsNotWaitedForIfSomebodyWaits) {
  PartsWorld world(with(SyncPolicy::interval));
  world.begin();
  world.put();
  world.way.flush();
  EXPECT_EQ(world.way.next_sync(), world.ground.now + world.ground.options.sync_interval);
  world.way.request_sync(false);
  world.way.take_sync_ends();
  EXPECT_EQ(world.way.synced(), 0U);
  world.way.request_sync(true);
  world.way.take_sync_ends();
  EXPECT_EQ(world.way.synced(), 1U);
  EXPECT_EQ(world.way.next_sync(), Instant::never());
}

TEST(RecordWay, AFailureLetsGoOfTheFileAndRefuses) {
  PartsWorld world;
  world.begin();
  world.put();
  world.settle();
  const std::uint64_t good = world.way.writer().written().bytes;
  world.put();
  world.disk.inject({.call = DiskCall::write, .status = DiskStatus::full, .bytes_written = 50});
  world.way.flush();
  EXPECT_TRUE(world.way.is_refusing());
  EXPECT_EQ(world.way.refusal(), JournalStatus::full);
  EXPECT_FALSE(world.way.is_open());
  EXPECT_EQ(world.disk.bytes_of("binlog.1").size(), good);
  EXPECT_EQ(world.way.unsafe().size(), 1U);
  EXPECT_EQ(world.way.doubtful(), 0U) << "the first try to recover comes at once";
  ASSERT_EQ(world.failures.size(), 1U);
  EXPECT_FALSE(world.failures[0].was_refusing);
  EXPECT_EQ(world.told().size(), 1U);
  world.way.fail(DiskStatus::failed, "write");
  EXPECT_EQ(world.way.refusal(), JournalStatus::failed);
  EXPECT_EQ(world.way.doubtful(), 2U);
  EXPECT_TRUE(world.failures[1].was_refusing);
}

TEST(RecordWay, AFileThatCannotBeBegunIsNotThere) {
  for (const bool takes_effect : {false, true}) {
    PartsWorld world;
    bool is_enough = false;
    ASSERT_TRUE(world.room.make_first_spare(is_enough));
    ASSERT_TRUE(world.room.prepare_spare(0));
    world.disk.inject({.call = DiskCall::rename, .takes_effect = takes_effect});
    EXPECT_FALSE(world.room.begin_file());
    EXPECT_TRUE(world.way.is_refusing());
    EXPECT_TRUE(world.ground.segments->empty());
    EXPECT_EQ(world.way.unsure_number(), 1U);
    EXPECT_EQ(world.way.next_file_number(), 1U);
    EXPECT_FALSE(world.disk.has("binlog.1"));
    EXPECT_EQ(world.disk.open_files(), 0U);
  }
}

TEST(RecordWay, GoesOnFromWhatWasRead) {
  PartsWorld world;
  RecordWay::Start start;
  start.number = 9;
  start.is_unsure = true;
  world.way.start_from(start);
  EXPECT_EQ(world.way.unsure_number(), 9U);
  EXPECT_EQ(world.way.oldest_needed(), 0U);
  world.begin();
  EXPECT_EQ(world.way.writer().number(), 9U);
  EXPECT_EQ(world.way.oldest_needed(), 9U);
  EXPECT_EQ(world.way.next_file_number(), 10U);
  const WrittenPoint end = world.way.end_cleanly();
  EXPECT_EQ(end.records, 0U);
  EXPECT_FALSE(world.way.is_open());
}

}  // namespace
}  // namespace haricot::binlog
