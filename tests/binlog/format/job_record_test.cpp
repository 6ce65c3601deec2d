#include "haricot/binlog/format/job_record.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace haricot::binlog {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
const Duration kOffset = Duration::nanoseconds(1'700'000'000 * kSecond);

class JobRecordTest : public ::testing::Test {
 protected:
  JobRecordTest() : ref_(store_.create(9, NewBody{.bytes = "12345", .blob = {}})) {
    Job& job = store_[ref_];
    job.created = Instant::at(7 * kSecond);
    job.priority = 4'000'000'000;
    job.delay_s = 30;
    job.ttr_s = 60;
    job.set_state(JobState::ready);
    store_.set_counted(ref_, {5000, 10'000, 15'000, 20'000, 25'000});
  }
  Record record(JobState state, std::int64_t stamp = 0) {
    store_[ref_].set_state(state);
    return change_of({ref_, store_[ref_], "tube", Instant::at(90 * kSecond)}, store_, kOffset,
                     stamp);
  }

  JobStore store_{true};
  JobRef ref_;
};

TEST_F(JobRecordTest, HasAllRestoredFields) {
  const Record written = record(JobState::delayed);
  EXPECT_EQ(written.id, 9U);
  EXPECT_EQ(written.body_bytes, 7U);
  EXPECT_EQ(written.created_at, 1'700'000'007 * kSecond);
  EXPECT_EQ(written.deadline_at, 1'700'000'090 * kSecond);
  EXPECT_FALSE(written.is_full());
  const RestoredJob restored = restored_from(written, kOffset);
  EXPECT_EQ(restored.id, 9U);
  EXPECT_EQ(restored.created, Instant::at(7 * kSecond));
  EXPECT_EQ(restored.priority, 4'000'000'000U);
  EXPECT_EQ(restored.delay_s, 30U);
  EXPECT_EQ(restored.ttr_s, 60U);
  EXPECT_EQ(restored.state, JobState::delayed);
  EXPECT_EQ(restored.counters, (std::array<std::uint32_t, 5>{5000, 10000, 15000, 20000, 25000}));
}

TEST_F(JobRecordTest, AReservedJobIsWrittenAsReady) {
  EXPECT_EQ(record(JobState::reserved).state, RecordState::ready);
  Record other = record(JobState::ready);
  other.state = RecordState::reserved;  // As beanstalkd writes it.
  EXPECT_EQ(restored_from(other, kOffset).state, JobState::ready);
}

TEST_F(JobRecordTest, ABuriedJobHasAStampInsteadOfADeadline) {
  const Record written = record(JobState::buried, 1234);
  EXPECT_EQ(written.state, RecordState::buried);
  EXPECT_EQ(written.deadline_at, 1234);
  EXPECT_EQ(record(JobState::ready, 1234).deadline_at, 0);
}

TEST_F(JobRecordTest, ADeletionHasOnlyTheId) {
  const Record deleted = deletion_of(9);
  EXPECT_EQ(deleted.id, 9U);
  EXPECT_EQ(deleted.state, RecordState::deleted);
  EXPECT_FALSE(deleted.is_full());
}

TEST_F(JobRecordTest, AMarkerDiffersFromAnyJob) {
  EXPECT_TRUE(is_marker(marker_of(9)));
  for (const JobState state : {JobState::ready, JobState::delayed, JobState::buried}) {
    Record full = record(state, std::numeric_limits<std::int64_t>::min());
    full.tube_name = "default";
    EXPECT_FALSE(is_marker(full));
  }
}

TEST_F(JobRecordTest, RoundsSecondsUpToTheMaximum) {
  Record odd = record(JobState::ready);
  odd.delay_ns = 1;
  odd.ttr_ns = 2 * kSecond + 1;
  EXPECT_EQ(restored_from(odd, kOffset).delay_s, 1U);
  EXPECT_EQ(restored_from(odd, kOffset).ttr_s, 3U);
  odd.delay_ns = -5;
  odd.ttr_ns = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(restored_from(odd, kOffset).delay_s, 0U);
  EXPECT_EQ(restored_from(odd, kOffset).ttr_s, std::numeric_limits<std::uint32_t>::max());
}

TEST_F(JobRecordTest, AcceptsImpossibleTimes) {
  Record odd = record(JobState::delayed);
  for (const std::int64_t time : {std::numeric_limits<std::int64_t>::min(), std::int64_t{0},
                                  std::numeric_limits<std::int64_t>::max()}) {
    odd.created_at = time;
    for (const Duration offset : {kOffset, Duration::nanoseconds(-kOffset.count()), Duration{}}) {
      (void)restored_from(odd, offset);
      const Instant deadline = restored_deadline(time, 10, offset, Instant::at(kSecond));
      EXPECT_LE(deadline, Instant::at(11 * kSecond));
    }
  }
}

TEST(RestoredDeadline, FollowsTheWallClock) {
  const Instant now = Instant::at(100 * kSecond);
  const std::int64_t wall = (now + kOffset).count();
  EXPECT_EQ(restored_deadline(wall + 5 * kSecond, 10, kOffset, now), Instant::at(105 * kSecond));
  EXPECT_EQ(restored_deadline(wall - 5 * kSecond, 10, kOffset, now), Instant::at(95 * kSecond));
}

TEST(RestoredDeadline, IsNoLaterThanTheDelayAllows) {
  const Instant now = Instant::at(100 * kSecond);
  const std::int64_t wall = (now + kOffset).count();
  // The wall clock was set back by a day.
  EXPECT_EQ(restored_deadline(wall + 86400 * kSecond, 10, kOffset, now),
            Instant::at(110 * kSecond));
}

TEST(FullRecordBytes, MatchTheRecord) {
  Record record;
  record.tube_name = "abc";
  record.body_bytes = 12;
  EXPECT_EQ(full_record_bytes(3, 10), record.bytes());
}

}  // namespace
}  // namespace haricot::binlog
