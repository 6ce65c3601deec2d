#include "haricot/binlog/format/text_record.hpp"
#include "haricot/base/name_bytes.hpp"
#include "haricot/queue/job.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace haricot::binlog {
namespace {

// Returns a text of different bytes, so that no byte can replace another.
std::string varied_text(std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>('!' + i % 90);
  return text;
}

std::vector<TextPart> parts_of(TextKind kind, std::uint64_t id, std::string_view text) {
  std::vector<TextPart> parts;
  for (std::size_t i = 0; i < text_parts(text.size()); ++i) {
    parts.push_back(*text_part(text_record(kind, id, text, i)));
  }
  return parts;
}

TEST(TextRecord, IsReadAsWritten) {
  for (const TextKind kind : {TextKind::tags, TextKind::tombstone, TextKind::tombstone_alone}) {
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
  for (const TextKind kind : {TextKind::tags, TextKind::tombstone, TextKind::tombstone_alone}) {
    EXPECT_FALSE(text_part(text_record(kind, 0, "text", 0)));
    EXPECT_TRUE(text_part(text_record(kind, 1, "text", 0)));
    EXPECT_TRUE(text_part(text_record(kind, kJobIdLast, "text", 0)));
    EXPECT_FALSE(text_part(text_record(kind, kJobIdLast + 1, "text", 0)));
  }
}

// beanstalkd, and versions that do not know these records, read them as a change of an unknown job.
TEST(TextRecord, IsAChangeOfNoJob) {
  for (const TextKind kind : {TextKind::tags, TextKind::tombstone, TextKind::tombstone_alone}) {
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

}  // namespace
}  // namespace haricot::binlog
