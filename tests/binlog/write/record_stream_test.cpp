#include "haricot/binlog/write/record_stream.hpp"

#include <gtest/gtest.h>

#include <string>

#include "binlog/parts_world.hpp"
#include "haricot/binlog/read/file_scan.hpp"

namespace haricot::binlog {
namespace {

BinlogOptions with(SyncPolicy policy) {
  return {.file_bytes = PartsWorld::kFileBytes, .sync = policy};
}

TEST(RecordStream, RecordsAreSafeWhenTheirPolicySaysSo) {
  for (const SyncPolicy policy :
       {SyncPolicy::every_turn, SyncPolicy::interval, SyncPolicy::never}) {
    PartsWorld world(with(policy));
    world.begin();
    world.disk.set_sync_mode(SyncMode::when_told);
    world.put();
    EXPECT_EQ(world.stream.safe(), 0U);
    world.stream.flush();
    EXPECT_EQ(world.stream.written(), 1U);
    EXPECT_EQ(world.stream.safe(), policy == SyncPolicy::every_turn ? 0U : 1U);
    EXPECT_EQ(world.stream.unsafe().size(), policy == SyncPolicy::never ? 0U : 1U);
    world.stream.request_sync(true);
    world.disk.complete_syncs();
    world.stream.take_sync_ends();
    EXPECT_EQ(world.stream.safe(), 1U);
    EXPECT_TRUE(world.stream.unsafe().empty());
    world.stream.check_invariants();
  }
}

TEST(RecordStream, SpaceIsWrittenAheadOnlyWhereEachTurnIsSynced) {
  for (const SyncPolicy policy :
       {SyncPolicy::every_turn, SyncPolicy::interval, SyncPolicy::never}) {
    PartsWorld world(with(policy));
    world.begin();
    for (const bool is_first : {true, false}) {
      world.put();
      const std::uint64_t expected = world.stream.writer().collected_bytes();
      const std::uint64_t before = world.disk.bytes_written();
      world.stream.flush();
      const std::uint64_t written = world.disk.bytes_written() - before;
      if (policy == SyncPolicy::every_turn && is_first) {
        EXPECT_EQ(world.stream.writer().written().bytes - expected + written,
                  world.stream.writer().allocated());
      } else {
        EXPECT_EQ(written, expected);
      }
    }
  }
}

TEST(RecordStream, OneSyncIsUnderWayAndTheNextCoversWhatCameMeanwhile) {
  PartsWorld world;
  world.begin();
  world.settle();
  world.disk.set_sync_mode(SyncMode::when_told);
  world.put();
  world.stream.flush();
  world.stream.request_sync(false);
  world.put();
  world.stream.flush();
  world.stream.request_sync(false);
  EXPECT_EQ(world.disk.syncs_under_way(), 1U);
  world.disk.complete_syncs();
  world.stream.take_sync_ends();
  EXPECT_EQ(world.stream.safe(), 1U);
  world.stream.request_sync(false);
  world.disk.complete_syncs();
  world.stream.take_sync_ends();
  EXPECT_EQ(world.stream.safe(), 2U);
}

// The sync of the last record of a file may be under way when the file is ended. The seal behind
// that record is in the next sync.
TEST(RecordStream, AFileIsDurableWithItsSeal) {
  PartsWorld world;
  world.begin();
  world.settle();
  world.disk.set_sync_mode(SyncMode::when_told);
  const auto put_and_look = [&world] {
    world.put();
    world.stream.flush();
    const std::string bytes = world.disk.bytes_of("binlog.2");
    FileScan scan(bytes, identify(bytes, {.number = 2}));
    scan.run_to_end();
    return scan.marks().has_durable_past;
  };
  world.put(PartsWorld::kFileBytes / 2);
  world.stream.flush();
  world.stream.request_sync(true);
  world.put(PartsWorld::kFileBytes / 2);
  ASSERT_EQ(world.stream.writer().number(), 2U);
  world.disk.complete_syncs(1);
  world.stream.take_sync_ends();
  ASSERT_EQ(world.stream.synced(), 1U);
  EXPECT_FALSE(put_and_look());
  while (world.disk.syncs_under_way() > 0) {
    world.disk.complete_syncs();
    world.stream.take_sync_ends();
  }
  EXPECT_TRUE(put_and_look());
}

TEST(RecordStream, TellsSinceWhenTheOldestRecordIsNotSynced) {
  for (const SyncPolicy policy : {SyncPolicy::every_turn, SyncPolicy::interval}) {
    PartsWorld world(with(policy));
    world.begin();
    world.settle();
    world.disk.set_sync_mode(SyncMode::when_told);
    EXPECT_EQ(world.stream.oldest_unsynced(), Instant::never());
    const auto write_a_second_later = [&world] {
      world.state.now = world.state.now + Duration::seconds(1);
      world.put();
      world.stream.flush();
      return world.state.now;
    };
    const Instant first = write_a_second_later();
    EXPECT_EQ(world.stream.oldest_unsynced(), first) << "it is written, and no sync was asked for";
    world.stream.request_sync(true);
    const Instant second = write_a_second_later();
    write_a_second_later();
    EXPECT_EQ(world.stream.oldest_unsynced(), first) << "its sync is under way";
    world.disk.complete_syncs();
    world.stream.take_sync_ends();
    EXPECT_EQ(world.stream.oldest_unsynced(), second) << "they came while the sync was under way";
    world.stream.request_sync(true);
    world.disk.complete_syncs();
    world.stream.take_sync_ends();
    EXPECT_EQ(world.stream.oldest_unsynced(), Instant::never());
  }
}

TEST(RecordStream, WithoutSyncsNoRecordWaitsForOne) {
  PartsWorld world(with(SyncPolicy::never));
  world.begin();
  world.put();
  EXPECT_EQ(world.stream.oldest_unsynced(), Instant::never());
  world.stream.flush();
  EXPECT_EQ(world.stream.oldest_unsynced(), Instant::never());
}

TEST(RecordStream, ARecordInDoubtIsNotSyncedUntilAllIsWrittenAnew) {
  PartsWorld world;
  world.begin();
  world.settle();
  world.disk.set_sync_mode(SyncMode::when_told);
  world.state.now = world.state.now + Duration::seconds(1);
  world.put();
  world.stream.flush();
  world.stream.request_sync(true);
  const Instant first = world.state.now;
  world.state.now = world.state.now + Duration::seconds(1);
  world.disk.complete_syncs(1, DiskStatus::failed);
  world.stream.take_sync_ends();
  ASSERT_TRUE(world.stream.is_refusing());
  EXPECT_EQ(world.stream.oldest_unsynced(), first);
  world.stream.begin_anew();
  EXPECT_EQ(world.stream.oldest_unsynced(), Instant::never());
}

TEST(RecordStream, AnIntervalIsNotWaitedForIfSomebodyWaits) {
  PartsWorld world(with(SyncPolicy::interval));
  world.begin();
  world.put();
  world.stream.flush();
  EXPECT_EQ(world.stream.next_sync(), world.state.now + world.state.options.sync_interval);
  world.stream.request_sync(false);
  world.stream.take_sync_ends();
  EXPECT_EQ(world.stream.synced(), 0U);
  world.stream.request_sync(true);
  world.stream.take_sync_ends();
  EXPECT_EQ(world.stream.synced(), 1U);
  EXPECT_EQ(world.stream.next_sync(), Instant::never());
}

TEST(RecordStream, AFailureLetsGoOfTheFileAndRefuses) {
  PartsWorld world;
  world.begin();
  world.put();
  world.settle();
  const std::uint64_t good = world.stream.writer().written().bytes;
  world.put();
  world.disk.inject({.call = DiskCall::write, .status = DiskStatus::full, .bytes_written = 50});
  world.stream.flush();
  EXPECT_TRUE(world.stream.is_refusing());
  EXPECT_EQ(world.stream.refusal(), JournalStatus::full);
  EXPECT_FALSE(world.stream.is_open());
  EXPECT_EQ(world.disk.bytes_of("binlog.1").size(), good);
  EXPECT_EQ(world.stream.unsafe().size(), 1U);
  EXPECT_EQ(world.stream.doubtful(), 0U) << "the first try to recover comes at once";
  ASSERT_EQ(world.failures.size(), 1U);
  EXPECT_FALSE(world.failures[0].was_refusing);
  EXPECT_EQ(world.told().size(), 1U);
  world.stream.fail(DiskStatus::failed, "write");
  EXPECT_EQ(world.stream.refusal(), JournalStatus::failed);
  EXPECT_EQ(world.stream.doubtful(), 2U);
  EXPECT_TRUE(world.failures[1].was_refusing);
}

TEST(RecordStream, AFileThatCannotBeBegunIsNotThere) {
  for (const bool takes_effect : {false, true}) {
    PartsWorld world;
    bool is_enough = false;
    ASSERT_TRUE(world.room.make_first_spare(is_enough));
    ASSERT_TRUE(world.room.prepare_spare(0));
    world.disk.inject({.call = DiskCall::rename, .takes_effect = takes_effect});
    EXPECT_FALSE(world.room.begin_file());
    EXPECT_TRUE(world.stream.is_refusing());
    EXPECT_TRUE(world.state.segments->empty());
    EXPECT_EQ(world.stream.unsure_number(), 1U);
    EXPECT_EQ(world.stream.next_file_number(), 1U);
    EXPECT_FALSE(world.disk.has("binlog.1"));
    EXPECT_EQ(world.disk.open_files(), 0U);
  }
}

TEST(RecordStream, GoesOnFromWhatWasRead) {
  PartsWorld world;
  RecordStream::Start start;
  start.number = 9;
  start.is_unsure = true;
  world.stream.start_from(start);
  EXPECT_EQ(world.stream.unsure_number(), 9U);
  EXPECT_EQ(world.stream.oldest_needed(), 0U);
  world.begin();
  EXPECT_EQ(world.stream.writer().number(), 9U);
  EXPECT_EQ(world.stream.oldest_needed(), 9U);
  EXPECT_EQ(world.stream.next_file_number(), 10U);
  const WrittenPoint end = world.stream.end_cleanly();
  EXPECT_EQ(end.records, 0U);
  EXPECT_FALSE(world.stream.is_open());
}

}  // namespace
}  // namespace haricot::binlog
