#include "haricot/binlog/write/stream_state.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "binlog/parts_world.hpp"
#include "haricot/base/time.hpp"

namespace haricot::binlog {
namespace {

Instant at(std::int64_t seconds) {
  return Instant::at(seconds * 1'000'000'000);
}

// Counts records with the ids 1, 2, ….
void count(RecordProgress& progress, std::uint32_t records) {
  ASSERT_TRUE(progress.prepare(records));
  for (std::uint32_t i = 0; i < records; ++i) progress.count(progress.records() + 1);
}

std::vector<JobId> ids_at_risk(const RecordProgress& progress) {
  return {progress.ids_at_risk().begin(), progress.ids_at_risk().end()};
}

TEST(RecordProgress, RecordsStayAtRiskUntilTheyAreSafe) {
  RecordProgress progress;
  count(progress, 3);
  EXPECT_EQ(ids_at_risk(progress), (std::vector<JobId>{1, 2, 3}));
  progress.mark_written();
  EXPECT_EQ(progress.written(), 3U);
  EXPECT_EQ(progress.safe(), 0U);
  progress.mark_safe(2);
  EXPECT_EQ(progress.safe(), 2U);
  EXPECT_EQ(ids_at_risk(progress), (std::vector<JobId>{3}));
  progress.mark_safe(1);
  EXPECT_EQ(progress.safe(), 2U) << "a record that was safe stays safe";
  progress.check_invariants();
}

TEST(RecordProgress, ARecordReportedEarlyIsStillAtRisk) {
  RecordProgress progress;
  count(progress, 2);
  progress.mark_safe_at_risk();
  EXPECT_EQ(progress.safe(), 2U);
  EXPECT_EQ(ids_at_risk(progress), (std::vector<JobId>{1, 2}));
  progress.mark_safe(2);
  EXPECT_TRUE(ids_at_risk(progress).empty());
}

TEST(RecordProgress, ARequestedSyncCoversWrittenRecords) {
  RecordProgress progress;
  count(progress, 1);
  progress.mark_written();
  progress.begin_to_wait(at(5));
  progress.begin_to_wait(at(6));
  EXPECT_EQ(progress.unsynced_since(), at(5));
  progress.request_sync();
  EXPECT_TRUE(progress.is_sync_under_way());
  EXPECT_EQ(progress.unsynced_since(), Instant::never());
  count(progress, 1);
  progress.mark_written();
  progress.begin_to_wait(at(7));
  progress.end_sync(1);
  EXPECT_FALSE(progress.is_sync_under_way());
  EXPECT_EQ(progress.synced(), 1U);
  EXPECT_EQ(progress.unsynced_since(), at(7));
}

TEST(RecordProgress, AFailureEndsRequestsAndRecoveryEndsTheDoubt) {
  RecordProgress progress;
  count(progress, 2);
  progress.mark_written();
  progress.begin_to_wait(at(5));
  progress.request_sync();
  progress.doubt_since(at(5));
  progress.fail(progress.doubtful_since());
  EXPECT_FALSE(progress.is_sync_under_way());
  EXPECT_EQ(progress.unsynced_since(), Instant::never());
  EXPECT_EQ(progress.doubtful_since(), at(5));
  EXPECT_EQ(progress.doubtful(), 0U) << "answers wait for the first attempt to recover";
  progress.mark_doubtful();
  EXPECT_EQ(progress.for_journal().doubtful, 2U);
  progress.recover();
  EXPECT_EQ(progress.doubtful_since(), Instant::never());
  EXPECT_EQ(progress.synced(), 2U);
  EXPECT_EQ(progress.safe(), 0U);
  progress.check_invariants();
}

TEST(RecordProgress, RecordsBelongToTheFileThatWasBegunBeforeThem) {
  RecordProgress progress;
  count(progress, 2);
  progress.begin_file();
  EXPECT_FALSE(progress.is_in_newest_file(2));
  count(progress, 1);
  EXPECT_TRUE(progress.is_in_newest_file(3));
}

TEST(StreamState, TheOldestNeededFileIsNeitherRemovedNorSkipped) {
  PartsWorld world;
  const StreamState& state = world.stream.state();
  EXPECT_EQ(state.oldest_needed(), 0U);
  for (const std::uint64_t number : {3U, 4U, 5U}) world.state.segments->add(number);
  EXPECT_EQ(state.oldest_needed(), 3U);
  world.disk.set_sync_mode(SyncMode::when_told);
  world.stream.sync_line().remove_first("binlog.3", true);
  EXPECT_EQ(state.oldest_needed(), 4U) << "binlog.3 is being removed";
  world.state.segments->at(1).was_passed_over = true;
  EXPECT_EQ(state.oldest_needed(), 5U);
  world.state.segments->at(2).was_passed_over = true;
  EXPECT_EQ(state.oldest_needed(), 5U) << "the newest file is needed in any case";
}

TEST(StreamState, TheNoteGetsTheFilesAndTheNextId) {
  PartsWorld world;
  EXPECT_EQ(world.stream.state().noted_files().newest, 0U);
  world.begin();
  world.put();
  const NoteWriter::Files files = world.stream.state().noted_files();
  EXPECT_EQ(files.oldest_needed, 1U);
  EXPECT_EQ(files.newest, 1U);
  EXPECT_EQ(files.next_id, world.engine.next_id());
}

TEST(StreamState, TheOldestUnsyncedWriteIsTheFirstOfThreeKinds) {
  PartsWorld world;
  world.begin();
  world.settle();
  world.disk.set_sync_mode(SyncMode::when_told);
  const StreamState& state = world.stream.state();
  EXPECT_EQ(state.oldest_unsynced(), Instant::never());
  const Instant first = world.state.now;
  world.stream.progress().begin_to_wait(first + Duration::seconds(3));
  EXPECT_EQ(state.oldest_unsynced(), first + Duration::seconds(3)) << "no sync was requested";
  world.stream.sync_line().sync_file(world.stream.writer().file(), 1, false,
                                     first + Duration::seconds(2));
  EXPECT_EQ(state.oldest_unsynced(), first + Duration::seconds(2)) << "its sync is in line";
  world.stream.progress().doubt_since(first + Duration::seconds(1));
  EXPECT_EQ(state.oldest_unsynced(), first + Duration::seconds(1)) << "it is in doubt";
}

TEST(Refusal, AFailureReleasesAndTruncatesTheFile) {
  PartsWorld world;
  world.begin();
  world.put();
  world.settle();
  const std::uint64_t good = world.stream.writer().written().bytes;
  world.put();
  world.disk.inject({.call = DiskCall::write, .status = DiskStatus::full, .bytes_written = 50});
  world.stream.records().flush();
  EXPECT_TRUE(world.stream.refusal().is_on());
  EXPECT_EQ(world.stream.refusal().status(), JournalStatus::full);
  EXPECT_FALSE(world.stream.is_open());
  EXPECT_EQ(world.disk.bytes_of("binlog.1").size(), good);
  EXPECT_EQ(world.state.segments->newest().bytes, good);
  EXPECT_EQ(world.stream.progress().ids_at_risk().size(), 1U);
  EXPECT_EQ(world.stream.progress().doubtful(), 0U) << "the first attempt to recover comes at once";
  ASSERT_EQ(world.failures.size(), 1U);
  EXPECT_FALSE(world.failures[0].was_refusing);
  EXPECT_EQ(world.take_notices().size(), 1U);
}

TEST(Refusal, AFailureDuringARefusalFailsTheAnswersThatWait) {
  PartsWorld world;
  world.begin();
  world.put();
  world.stream.refusal().begin(DiskStatus::full, "write");
  EXPECT_EQ(world.stream.progress().doubtful(), 0U);
  world.disk.set_capacity(world.disk.used_bytes() + 1000);
  world.stream.refusal().begin(DiskStatus::failed, "write", "the reason");
  EXPECT_EQ(world.stream.refusal().status(), JournalStatus::failed);
  EXPECT_EQ(world.stream.refusal().why(), "the reason");
  EXPECT_EQ(world.stream.progress().doubtful(), 1U);
  ASSERT_EQ(world.failures.size(), 2U);
  EXPECT_TRUE(world.failures[1].was_refusing);
  EXPECT_EQ(world.failures[1].free_bytes, 1000U);
}

TEST(Refusal, AFailedTruncationIsRetried) {
  PartsWorld world;
  world.begin();
  world.put();
  world.settle();
  const std::uint64_t good = world.stream.writer().written().bytes;
  world.disk.inject({.call = DiskCall::truncate});
  world.stream.refusal().begin(DiskStatus::failed, "write");
  EXPECT_TRUE(world.state.segments->has_to_cut());
  EXPECT_EQ(world.state.segments->newest().cut_to, good);
}

TEST(Refusal, DoesNotTruncateASharedFile) {
  PartsWorld world;
  world.state.epoch = 7;
  world.begin();
  world.put();
  const std::uint64_t calls = world.disk.calls(DiskCall::truncate);
  world.stream.refusal().begin(DiskStatus::failed, "write");
  EXPECT_EQ(world.disk.calls(DiskCall::truncate), calls);
  EXPECT_FALSE(world.state.segments->has_to_cut());
}

TEST(Refusal, ItsEndAcceptsChangesAndEndsTheDoubt) {
  PartsWorld world;
  world.begin();
  world.settle();
  world.disk.set_sync_mode(SyncMode::when_told);
  world.pass(Duration::seconds(1));
  world.put();
  world.stream.records().flush();
  world.stream.syncs().request(true);
  const Instant first = world.state.now;
  world.pass(Duration::seconds(1));
  world.disk.complete_syncs(1, DiskStatus::failed);
  world.stream.syncs().take_ends();
  ASSERT_TRUE(world.stream.is_refusing());
  EXPECT_EQ(world.stream.state().oldest_unsynced(), first);
  world.stream.refusal().end();
  EXPECT_FALSE(world.stream.is_refusing());
  EXPECT_FALSE(world.stream.refusal().is_for_space());
  EXPECT_EQ(world.stream.state().oldest_unsynced(), Instant::never());
}

}  // namespace

}  // namespace haricot::binlog
