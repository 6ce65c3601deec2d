#include "haricot/binlog/write/record_collector.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "binlog/parts_world.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/binlog/format/job_record.hpp"
#include "haricot/binlog/read/file_scan.hpp"

namespace haricot::binlog {
namespace {

TEST(RecordCollector, ZerosFollowTheRecordsOnlyIfEachTurnIsSynced) {
  for (const SyncPolicy policy :
       {SyncPolicy::every_turn, SyncPolicy::interval, SyncPolicy::never}) {
    PartsWorld world(PartsWorld::options_with(policy));
    world.begin();
    for (const bool is_first : {true, false}) {
      world.put();
      const std::uint64_t expected = world.stream.writer().collected_bytes();
      const std::uint64_t before = world.disk.bytes_written();
      world.stream.records().flush();
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

TEST(RecordCollector, RecordsOfTextCountOnlyIfTheyStandAlone) {
  PartsWorld world;
  world.begin();
  RecordCollector& records = world.stream.records();
  const std::string text(100, 't');
  ASSERT_TRUE(records.prepare(text_record_bytes(text.size()), 0));
  records.append_text(TextKind::tags, 7, text);
  EXPECT_EQ(world.stream.progress().records(), 0U);
  EXPECT_EQ(records.total(), 3U);
  EXPECT_EQ(world.stream.writer().collected_bytes(), text_record_bytes(text.size()));
  ASSERT_TRUE(records.prepare(text_record_bytes(text.size()), 0));
  records.append_text_alone(TextKind::tombstone_alone, 8, text);
  EXPECT_EQ(world.stream.progress().records(), 1U);
  EXPECT_EQ(world.stream.progress().ids_at_risk()[0], 8U);
  EXPECT_EQ(records.total(), 6U);
}

TEST(RecordCollector, ARecordThatIsWrittenAgainIsNoNewRecord) {
  PartsWorld world;
  world.begin();
  RecordCollector& records = world.stream.records();
  ASSERT_TRUE(records.prepare_again(0, 0));
  records.append_again(deletion_of(7));
  records.count_again();
  EXPECT_EQ(world.stream.progress().records(), 0U);
  EXPECT_TRUE(world.stream.progress().ids_at_risk().empty());
  EXPECT_EQ(records.total(), 2U);
}

TEST(RecordCollector, CountsTheStepsOfATurn) {
  PartsWorld world;
  world.begin();
  RecordCollector& records = world.stream.records();
  world.put();
  const std::uint64_t bytes = world.stream.writer().collected_bytes();
  const std::uint64_t steps =
      turn_limits::kStepsPerRecord + bytes / turn_limits::kRecordBytesPerStep;
  EXPECT_EQ(records.steps_this_turn(), steps);
  records.count_bytes(10 * turn_limits::kRecordBytesPerStep);
  EXPECT_EQ(records.steps_this_turn(), steps + 10);
  records.end_turn();
  EXPECT_EQ(records.steps_this_turn(), 0U);
  EXPECT_EQ(records.total(), 1U);
}

TEST(RecordCollector, ManyBytesAreWrittenEarlyUnlessTheyBelongTogether) {
  const auto deletions_until_write = [](std::uint64_t bytes_together) {
    PartsWorld world({.file_bytes = 4 * RecordCollector::kCollectedBytesMax});
    world.begin();
    RecordCollector& records = world.stream.records();
    if (bytes_together > 0) records.write_together(bytes_together);
    std::uint64_t count = 0;
    do {
      EXPECT_TRUE(records.prepare(0, 0));
      records.append(deletion_of(7));
      ++count;
    } while (world.stream.writer().collected_bytes() > 0);
    return count;
  };
  constexpr std::uint64_t kMax = RecordCollector::kCollectedBytesMax;
  EXPECT_EQ(deletions_until_write(0), kMax / kShortRecordBytes + 1);
  EXPECT_EQ(deletions_until_write(kMax / 2), kMax / kShortRecordBytes + 1);
  EXPECT_EQ(deletions_until_write(2 * kMax), 2 * kMax / kShortRecordBytes + 1);
}

// Returns the records of the file that is being written.
std::vector<Record> written_records(PartsWorld& world) {
  world.settle();
  static std::string bytes;  // The records refer to it.
  bytes = world.disk.bytes_of(binlog_file_name(world.stream.writer().number()));
  FileScan scan(bytes, identify(bytes, {.number = world.stream.writer().number()}));
  std::vector<Record> records;
  while (const FileScan::Found* const found = scan.next()) records.push_back(found->record);
  return records;
}

// Buries a reserved job in the engine.
JobRef bury(PartsWorld& world, std::size_t body_bytes = 100) {
  const JobRef ref = world.put(body_bytes);
  const JobId id = world.engine.journaled(ref).job.id;
  EXPECT_EQ(world.engine.reserve_job(world.client, id, world.state.now).outcome, Outcome::done);
  EXPECT_EQ(world.engine.bury(world.client, id, 100), Outcome::done);
  return ref;
}

void append_change(PartsWorld& world, JobRef ref) {
  ASSERT_TRUE(world.stream.records().prepare(0, 0));
  world.stream.jobs().append_change(world.engine.journaled(ref));
}

TEST(JobRecorder, AFullRecordMovesTheJobToTheNewestFile) {
  PartsWorld world;
  world.begin();
  const JobRef ref = world.make_job(100);
  EXPECT_EQ(world.state.segments->of(ref), nullptr);
  const JournaledJob job = world.engine.journaled(ref);
  ASSERT_TRUE(world.stream.records().prepare(job.tube_name.size(), job.job.body_bytes));
  world.stream.jobs().append_full(job);
  ASSERT_NE(world.state.segments->of(ref), nullptr);
  EXPECT_EQ(world.state.segments->of(ref)->number, 1U);
  EXPECT_EQ(world.state.segments->newest().highest_id, job.job.id);
  EXPECT_EQ(world.state.segments->newest().highest_record, 1U);
  const std::vector<Record> records = written_records(world);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].tube_name, "default");
  EXPECT_EQ(records[0].body, std::string(100, 'b') + "\r\n");
}

TEST(JobRecorder, EachBurialGetsALaterStampAndACopyKeepsIt) {
  PartsWorld world;
  world.begin();
  world.stream.jobs().continue_after((world.state.now + Duration::seconds(10)).count());
  const JobRef first = bury(world);
  const JobRef second = bury(world);
  append_change(world, first);
  append_change(world, second);
  ASSERT_TRUE(world.stream.records().prepare(0, 0));
  world.stream.jobs().append_change_in_place(world.engine.journaled(first));
  const JournaledJob copied = world.engine.journaled(first);
  ASSERT_TRUE(world.stream.records().prepare(copied.tube_name.size(), copied.job.body_bytes));
  world.stream.jobs().append_full(copied);
  const std::vector<Record> records = written_records(world);
  ASSERT_EQ(records.size(), 6U);
  const std::int64_t stamp = records[2].deadline_at;
  EXPECT_GT(stamp, (world.state.now + Duration::seconds(10)).count()) << "after all that were read";
  EXPECT_GT(records[3].deadline_at, stamp);
  EXPECT_EQ(records[4].deadline_at, stamp) << "it kept its place";
  EXPECT_EQ(records[5].deadline_at, stamp) << "it was moved";
}

TEST(JobRecorder, AJobThatIsRecordedLaterKeepsTheStampOfItsBurial) {
  PartsWorld world;
  world.begin();
  const JobRef first = bury(world);
  world.stream.jobs().stamp_burial(world.engine.journaled(first));
  const JobRef second = bury(world);
  append_change(world, second);
  const std::int64_t stamp_of_second = written_records(world).back().deadline_at;
  const Record again = world.stream.jobs().full_record_again(world.engine.journaled(first));
  EXPECT_LT(again.deadline_at, stamp_of_second);
  EXPECT_GT(again.deadline_at, 0);
}

TEST(JobRecorder, ARecordInDoubtIsCollectedAgainAndIsNoNewRecord) {
  PartsWorld world;
  world.begin();
  const JobRef ref = world.put();
  const JournaledJob job = world.engine.journaled(ref);
  ASSERT_TRUE(world.stream.records().prepare_again(job.tube_name.size(), job.job.body_bytes));
  world.stream.jobs().append_full_again(job);
  ASSERT_TRUE(world.stream.records().prepare_again(0, 0));
  world.stream.jobs().append_deletion_again(job.job.id, nullptr);
  EXPECT_EQ(world.stream.progress().records(), 1U);
  const std::vector<Record> records = written_records(world);
  ASSERT_EQ(records.size(), 3U);
  EXPECT_TRUE(records[1].is_full());
  EXPECT_EQ(records[2].state, RecordState::deleted);
}

TEST(JobRecorder, AKeyComesInFrontOfTheDeletionOfItsJob) {
  for (const bool is_alone : {false, true}) {
    PartsWorld world;
    world.begin();
    const JobRef ref = world.restore_key();
    ASSERT_NE(ref, JobRef::none);
    const Tombstone left = world.engine.tombstone(ref);
    ASSERT_TRUE(world.stream.records().prepare(tombstone_record_bytes(left), 0));
    if (is_alone) {
      world.stream.jobs().append_tombstone_alone(left);
    } else {
      world.stream.jobs().append_deletion(77, &left);
    }
    EXPECT_EQ(world.stream.progress().records(), 1U);
    ASSERT_NE(world.state.segments->of(ref), nullptr);
    const std::vector<Record> records = written_records(world);
    ASSERT_EQ(records.size(), is_alone ? 1U : 2U);
    const std::optional<TextPart> part = text_part(records[0]);
    ASSERT_TRUE(part);
    EXPECT_EQ(part->kind, is_alone ? TextKind::tombstone_alone : TextKind::tombstone);
    EXPECT_EQ(part->id, 77U);
    EXPECT_EQ(records.back().id == 77U, !is_alone);
  }
}

}  // namespace

}  // namespace haricot::binlog
