#include "haricot/binlog/write/record_collector.hpp"

#include <gtest/gtest.h>

#include <string>

#include "binlog/parts_world.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/binlog/format/job_record.hpp"
#include "haricot/binlog/format/text_record.hpp"

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

}  // namespace
}  // namespace haricot::binlog
