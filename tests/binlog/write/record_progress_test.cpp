#include "haricot/binlog/write/record_progress.hpp"

#include <gtest/gtest.h>

#include <vector>

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

}  // namespace
}  // namespace haricot::binlog
