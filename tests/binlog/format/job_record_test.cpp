#include "haricot/binlog/format/job_record.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/name_bytes.hpp"
#include "haricot/queue/job.hpp"

namespace haricot::binlog {
namespace {

// Returns a text of different bytes, so that no byte can replace another.
std::string varied_text(std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>('!' + i % 90);
  return text;
}

constexpr TextKind kEachTextKind[] = {TextKind::tags, TextKind::tombstone,
                                      TextKind::tombstone_alone, TextKind::note, TextKind::facts};

std::vector<TextPart> parts_of(TextKind kind, std::uint64_t id, std::string_view text) {
  std::vector<TextPart> parts;
  for (std::size_t i = 0; i < text_parts(text.size()); ++i) {
    parts.push_back(*text_part(text_record(kind, id, text, i)));
  }
  return parts;
}

TEST(TextRecord, IsReadAsWritten) {
  for (const TextKind kind : kEachTextKind) {
    for (std::size_t bytes = 1; bytes <= kTombstoneTextBytesMax; ++bytes) {
      const std::string text = varied_text(bytes);
      std::string read;
      for (std::size_t i = 0; i < text_parts(bytes); ++i) {
        std::string record(kShortRecordBytes, '\0');
        const Position position{7, 1000, 3};
        write_header(text_record(kind, 55, text, i), position, 0, record.data());
        const auto parsed = parse_record(record);
        ASSERT_TRUE(parsed && header_fits(record, *parsed, position));
        ASSERT_TRUE(body_fits(*parsed, position));
        const auto part = text_part(parsed->record);
        ASSERT_TRUE(part);
        EXPECT_EQ(part->kind, kind);
        EXPECT_EQ(part->id, 55U);
        EXPECT_EQ(part->number, i);
        EXPECT_EQ(part->parts, text_parts(bytes));
        EXPECT_FALSE(needed_from(parsed->record));
        read += part->view();
      }
      EXPECT_EQ(read, text);
    }
  }
  EXPECT_FALSE(text_part(needed_from(3)));
}

TEST(TextRecord, HasAPossibleId) {
  for (const TextKind kind : kEachTextKind) {
    EXPECT_FALSE(text_part(text_record(kind, 0, "text", 0)));
    EXPECT_TRUE(text_part(text_record(kind, 1, "text", 0)));
    EXPECT_TRUE(text_part(text_record(kind, kJobIdLast, "text", 0)));
    EXPECT_FALSE(text_part(text_record(kind, kJobIdLast + 1, "text", 0)));
  }
}

// beanstalkd, and versions that do not know these records, read them as a change of an unknown job.
TEST(TextRecord, IsAChangeOfNoJob) {
  for (const TextKind kind : kEachTextKind) {
    const Record record = text_record(kind, 55, varied_text(60), 1);
    EXPECT_EQ(record.id, kPseudoId);
    EXPECT_FALSE(record.is_full());
    EXPECT_EQ(record.bytes(), kShortRecordBytes);
    EXPECT_EQ(record.state, RecordState::deleted);
  }
}

TEST(TombstoneText, IsReadAsWritten) {
  const std::string key(kKeyBytesMax, 'k');
  const std::string name(kTubeNameBytesMax, 't');
  for (const TombstoneText& tombstone :
       {TombstoneText{1, 1, "a", "b"}, TombstoneText{-5, 4294967295, key, name},
        TombstoneText{1'700'000'000'123'456'789, 60, "42", name},
        TombstoneText{0, 7, key, "default"}}) {
    TombstoneTextBytes bytes;
    const std::string_view text = write_tombstone(tombstone, bytes);
    EXPECT_EQ(text.size(), tombstone_text_bytes(tombstone.key.size(), tombstone.tube_name.size()));
    const auto read = read_tombstone(text);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->end_at, tombstone.end_at);
    EXPECT_EQ(read->seconds, tombstone.seconds);
    EXPECT_EQ(read->key, tombstone.key);
    EXPECT_EQ(read->tube_name, tombstone.tube_name);
  }
}

// Pins the format, because folders have these bytes.
TEST(TombstoneText, HasItsFormat) {
  TombstoneTextBytes bytes;
  const TombstoneText tombstone{0x0102030405060708, 0x11121314, "key", "mail"};
  EXPECT_EQ(write_tombstone(tombstone, bytes),
            std::string_view("\x08\x07\x06\x05\x04\x03\x02\x01\x14\x13\x12\x11\x03keymail", 20));
  EXPECT_EQ(kTombstoneTextBytesMax, 313U);
  EXPECT_EQ(text_parts(kTombstoneTextBytesMax), 7U);
  const Record record = text_record(TextKind::tombstone, 9, write_tombstone(tombstone, bytes), 0);
  EXPECT_EQ(record.priority, 0x5450454bU);  // "KEPT"
  const Record alone =
      text_record(TextKind::tombstone_alone, 9, write_tombstone(tombstone, bytes), 0);
  EXPECT_EQ(alone.priority, 0x4150454bU);  // "KEPA"
  EXPECT_EQ(record.delay_ns, 9);
}

TEST(TombstoneText, ImpossibleTextIsNotRead) {
  TombstoneTextBytes bytes;
  const std::string good(write_tombstone({5, 60, "key", "mail"}, bytes));
  ASSERT_TRUE(read_tombstone(good));
  // Truncated before the first byte of the name.
  for (std::size_t size = 0; size <= 16; ++size) EXPECT_FALSE(read_tombstone(good.substr(0, size)));
  for (const int length : {0, 7, 8, 101, 255}) {
    std::string text = good;
    text[12] = static_cast<char>(length);
    EXPECT_FALSE(read_tombstone(text)) << length;
  }
  for (const std::size_t at : {13U, 15U, 16U, 19U}) {
    std::string text = good;
    text[at] = ' ';
    EXPECT_FALSE(read_tombstone(text)) << at;
  }
  EXPECT_FALSE(read_tombstone(std::string(write_tombstone({5, 0, "key", "mail"}, bytes))));
  const std::string long_key = std::string(12, '\1') + '\x65' + std::string(101, 'k') + "mail";
  EXPECT_FALSE(read_tombstone(long_key));
  EXPECT_FALSE(read_tombstone(good + std::string(200, 't')));
}

TEST(TextParts, MakeTheText) {
  const std::string text = varied_text(kTombstoneTextBytesMax);
  TextParts parts;
  EXPECT_FALSE(parts.is_whole(TextKind::tombstone, 5));
  const auto all = parts_of(TextKind::tombstone, 5, text);
  for (const TextPart& part : all) {
    EXPECT_FALSE(parts.is_whole(TextKind::tombstone, 5));
    parts.add(part);
  }
  EXPECT_TRUE(parts.is_whole(TextKind::tombstone, 5));
  EXPECT_FALSE(parts.is_whole(TextKind::tags, 5));
  EXPECT_FALSE(parts.is_whole(TextKind::tombstone, 6));
  EXPECT_EQ(parts.text(), text);
  parts.clear();
  EXPECT_FALSE(parts.is_whole(TextKind::tombstone, 5));
}

// Parts that are missing, duplicated, or of another text.
TEST(TextParts, MustBeInSequence) {
  const auto all = parts_of(TextKind::tombstone, 5, varied_text(130));
  ASSERT_EQ(all.size(), 3U);
  const auto others = parts_of(TextKind::tombstone, 6, varied_text(130));
  const auto tags = parts_of(TextKind::tags, 5, varied_text(130));
  const auto fewer = parts_of(TextKind::tombstone, 5, varied_text(90));
  const std::vector<std::vector<TextPart>> orders = {{all[1], all[2]},
                                                     {all[0], all[2]},
                                                     {all[0], all[0], all[2]},
                                                     {all[0], all[1], all[1]},
                                                     {all[0], others[1], all[2]},
                                                     {all[0], tags[1], all[2]},
                                                     {all[0], fewer[1], all[2]},
                                                     {all[0], all[1], all[2], all[2]}};
  for (const auto& order : orders) {
    TextParts parts;
    for (const TextPart& part : order) parts.add(part);
    EXPECT_FALSE(parts.is_whole(TextKind::tombstone, 5)) << &order - orders.data();
  }
  TextParts parts;
  for (const TextPart& part : {all[0], all[1], others[0], all[0], all[1], all[2]}) parts.add(part);
  EXPECT_TRUE(parts.is_whole(TextKind::tombstone, 5));
}

// Parts that no server writes must not cause writes outside of the buffer.
TEST(TextParts, AreNotLongerThanTheMaximum) {
  TextPart part{.kind = TextKind::tombstone, .id = 5, .number = 0, .parts = 255, .text_bytes = 45};
  TextParts parts;
  for (; part.number < 255; ++part.number) parts.add(part);
  EXPECT_FALSE(parts.is_whole(TextKind::tombstone, 5));
}

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
