#include "haricot/binlog/write/changes.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "binlog/parts_world.hpp"

namespace haricot::binlog {
namespace {

constexpr PutRoom kSmallPut{.tube_name_bytes = 7, .body_bytes = 100};

TEST(Changes, APutTakesRoomIsRecordedAndPromisesADeletion) {
  PartsWorld world;
  world.begin();
  ASSERT_EQ(world.changes.take_room_for_put(kSmallPut, {}), JournalStatus::ok);
  const JobRef ref = world.put_in_engine(100);
  world.changes.record(JobChange::put, world.engine.journaled(ref));
  EXPECT_EQ(world.stream.progress().records(), 1U);
  EXPECT_EQ(world.state.promises.bytes(), kShortRecordBytes);
  ASSERT_NE(world.state.segments->of(ref), nullptr);
  ASSERT_EQ(world.changes.take_promised_room({.deletions = 1}), JournalStatus::ok);
  world.changes.record_deletion(world.engine.journaled(ref), nullptr);
  EXPECT_EQ(world.stream.progress().records(), 2U);
  EXPECT_EQ(world.state.promises.bytes(), 0U);
  EXPECT_EQ(world.state.segments->of(ref), nullptr);
  EXPECT_EQ(world.changes.refused_puts(), 0U);
}

TEST(Changes, AKickPromisesTheNextBurial) {
  PartsWorld world;
  world.begin();
  const JobRef ref = world.put();
  const std::uint64_t before = world.state.promises.bytes();
  ASSERT_EQ(world.changes.take_room_for_update(Promise::burial), JournalStatus::ok);
  world.changes.record(JobChange::update, world.engine.journaled(ref));
  EXPECT_EQ(world.state.promises.bytes(), before + kShortRecordBytes);
  ASSERT_EQ(world.changes.take_room_for_update(Promise::nothing), JournalStatus::ok);
  world.changes.record(JobChange::in_place, world.engine.journaled(ref));
  EXPECT_EQ(world.state.promises.bytes(), before + kShortRecordBytes);
}

TEST(Changes, APutWithoutSpaceIsCountedAndRetried) {
  PartsWorld world;
  world.disk.set_capacity(32768);
  world.begin();
  PutRoom put = kSmallPut;
  put.body_bytes = 40000;
  EXPECT_EQ(world.changes.take_room_for_put(put, {}), JournalStatus::full);
  EXPECT_EQ(world.changes.refused_puts(), 1U);
  EXPECT_TRUE(world.room.is_missing());
  EXPECT_FALSE(world.changes.is_waited_for());
}

TEST(Changes, ACommandRunsAgainWhenASyncHasEnded) {
  PartsWorld world(
      {.file_bytes = PartsWorld::kFileBytes, .sync = SyncPolicy::every_turn, .open_files_max = 6});
  world.begin();
  world.disk.set_sync_mode(SyncMode::when_told);
  PutRoom put = kSmallPut;
  put.body_bytes = PartsWorld::kFileBytes - 1000;
  JournalStatus status = JournalStatus::ok;
  for (int i = 0; i < 20 && status == JournalStatus::ok; ++i) {
    status = world.changes.take_room_for_put(put, {});
    if (status != JournalStatus::ok) break;
    const JobRef ref = world.put_in_engine(put.body_bytes);
    world.changes.record(JobChange::put, world.engine.journaled(ref));
    world.stream.records().flush();
  }
  ASSERT_EQ(status, JournalStatus::later);
  EXPECT_TRUE(world.changes.is_waited_for());
  EXPECT_FALSE(world.changes.may_try_again());
  world.disk.complete_syncs(1);
  world.stream.syncs().take_ends();
  EXPECT_TRUE(world.changes.may_try_again());
  EXPECT_FALSE(world.changes.is_waited_for());
  EXPECT_FALSE(world.changes.may_try_again()) << "the caller was notified";
}

TEST(Changes, SeveralDeletionsAreWrittenTogether) {
  PartsWorld world({.file_bytes = 4 * RecordCollector::kCollectedBytesMax});
  world.begin();
  constexpr std::uint32_t kDeletions = RecordCollector::kCollectedBytesMax / kShortRecordBytes + 10;
  ASSERT_EQ(world.changes.take_promised_room({.deletions = kDeletions}), JournalStatus::ok);
  for (std::uint32_t i = 0; i < kDeletions - 1; ++i)
    world.stream.jobs().append_deletion(7, nullptr);
  EXPECT_EQ(world.stream.writer().collected_bytes(), (kDeletions - 1) * kShortRecordBytes);
}

TEST(Changes, ARefusingStreamRefusesEachChangeWithItsReason) {
  PartsWorld world;
  world.begin();
  world.stream.refusal().begin(DiskStatus::full, "write");
  EXPECT_EQ(world.changes.take_room_for_put(kSmallPut, {}), JournalStatus::full);
  EXPECT_EQ(world.changes.take_room_for_update(Promise::nothing), JournalStatus::full);
  EXPECT_EQ(world.changes.take_promised_room({.deletions = 1}), JournalStatus::failed);
  EXPECT_EQ(world.changes.refused_puts(), 1U);
}

TEST(RestoredJobs, JobsInNoFileAreRecordedInTheirOrder) {
  PartsWorld world;
  world.begin();
  const JobRef known = world.put();
  std::vector<JobId> buried;
  for (int i = 0; i < 3; ++i) {
    const JobRef ref = world.put_in_engine(100);
    const JobId id = world.engine.journaled(ref).job.id;
    ASSERT_EQ(world.engine.reserve_job(world.client, id, world.state.now).outcome, Outcome::done);
    buried.insert(buried.begin(), id);
  }
  for (const JobId id : buried) {
    ASSERT_EQ(world.engine.bury(world.client, id, 100), Outcome::done);
  }
  world.put_in_engine(6000);
  ASSERT_TRUE(world.restored.record_all());
  EXPECT_EQ(world.stream.progress().safe(), world.stream.progress().records());
  EXPECT_EQ(world.stream.sync_line().length(), 0U);
  EXPECT_EQ(world.state.segments->of(known)->number, 1U);
  EXPECT_EQ(world.jobs_on_disk(), 5U);
  world.state.promises.check_invariants(world.engine);
  std::int64_t stamp = 0;
  for (const JobId id : buried) {
    const JobRef ref = world.engine.jobs().find(id);
    EXPECT_GT(world.engine.jobs().journal_fields(ref).stamp(), stamp);
    stamp = world.engine.jobs().journal_fields(ref).stamp();
  }
  const std::uint64_t records = world.stream.progress().records();
  ASSERT_TRUE(world.restored.record_all());
  EXPECT_EQ(world.stream.progress().records(), records) << "all are in files";
}

TEST(RestoredJobs, AKeyInNoFileIsRecordedWithoutADeletion) {
  PartsWorld world;
  world.begin();
  const JobRef ref = world.restore_key();
  ASSERT_NE(ref, JobRef::none);
  ASSERT_TRUE(world.restored.record_all());
  ASSERT_NE(world.state.segments->of(ref), nullptr);
  EXPECT_NE(world.disk.bytes_of("binlog.1").find("KEPA"), std::string::npos);
}

TEST(RestoredJobs, AFailingDiskIsReported) {
  PartsWorld world;
  world.begin();
  world.put_in_engine(100);
  world.disk.inject({.call = DiskCall::write, .lasts = true});
  EXPECT_FALSE(world.restored.record_all());
  EXPECT_TRUE(world.stream.is_refusing());
}

TEST(RestoredJobs, TheHighestIdIsRecordedOnceIfNoFileHasIt) {
  PartsWorld world;
  world.begin();
  const JobRef ref = world.put();
  ASSERT_TRUE(world.restored.remember_last_id());
  EXPECT_EQ(world.stream.progress().records(), 1U) << "the job has it";
  world.delete_job(ref);
  (void)world.engine.take_id();
  ASSERT_TRUE(world.restored.remember_last_id());
  EXPECT_EQ(world.stream.progress().records(), 4U) << "a job and its deletion";
  EXPECT_EQ(world.state.segments->newest().highest_id, world.engine.next_id() - 1);
  ASSERT_TRUE(world.restored.remember_last_id());
  EXPECT_EQ(world.stream.progress().records(), 4U);
}

TEST(RestoredJobs, EachRestoredJobGetsItsPromises) {
  PartsWorld world;
  world.begin();
  for (int i = 0; i < 5; ++i) {
    const JobRef ref = world.put_in_engine(100);
    world.state.segments->attach(ref, 100);
  }
  world.restored.promise_room();
  world.state.promises.check_invariants(world.engine);
  EXPECT_EQ(world.state.promises.bytes(), 5 * kShortRecordBytes);
}

}  // namespace

}  // namespace haricot::binlog
