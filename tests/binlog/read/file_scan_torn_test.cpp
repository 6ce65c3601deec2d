#include "haricot/binlog/read/file_scan.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/log_maker.hpp"

namespace haricot::binlog {
namespace {

constexpr std::size_t kDiskSector = 512;

// Torn parts of a file ---------------------------------------------------------------------------

struct Look {
  const char* what;
  std::size_t zeros_from;
  std::size_t zeros_to;
  std::size_t hole_begin;
  std::size_t hole_end;
  bool is_torn;
};

TEST(LooksTorn, ASectorEndsInZeros) {
  const Look looks[] = {
      {"a wrong bit", 0, 0, 700, 800, false},
      {"zeros in the middle of a sector", 700, 800, 700, 800, false},
      {"a sector from where the hole begins", 700, 1024, 700, 1100, true},
      {"all but its last byte", 700, 1023, 700, 1100, false},
      {"a whole sector behind the begin of the hole", 1024, 1536, 700, 1600, true},
      {"a sector in front of the hole", 512, 1024, 1024, 1100, false},
      {"the zeros of a change at the end of a sector", 1020, 1024, 1020, 1104, false},
      {"the end of the file is missing", 2000, 2048, 1900, 2100, true},
      {"the end of the tags in front of a large body", 512, 520, 424, 2000, true},
      {"as little behind a record of another kind", 512, 520, 430, 2000, false},
  };
  for (const Look& look : looks) {
    std::string file(4 * kDiskSector, 'x');
    file.replace(look.zeros_from, look.zeros_to - look.zeros_from, look.zeros_to - look.zeros_from,
                 '\0');
    EXPECT_EQ(looks_torn(file, look.hole_begin, look.hole_end, 1), look.is_torn) << look.what;
  }
}

TEST(LooksTorn, AFileEndingInTheHoleHasLostItsLength) {
  const std::string file(2000, 'x');
  EXPECT_TRUE(looks_torn(file, 1990, 2040, 1));
  EXPECT_FALSE(looks_torn(file, 1990, 2000, 1));
}

TEST(LooksTorn, TheLengthOfANameIsAloneAtTheEndOfASector) {
  LogMaker log(3);
  log.add(full_record(1, "default", std::string(329, 'b') + "\r\n"));
  const std::size_t at = log.add(full_record(2, "mail", "body\r\n"));
  ASSERT_EQ(at % kDiskSector, 510U);
  const std::uint32_t seed = seed_of(0x1234567890abcdef, 3);
  EXPECT_FALSE(looks_torn(log.bytes(), at, log.bytes().size(), seed));
  log.bytes()[at] = '\0';
  EXPECT_TRUE(looks_torn(log.bytes(), at, log.bytes().size(), seed));
  log.bytes()[at + 60] ^= 1;
  EXPECT_FALSE(looks_torn(log.bytes(), at, log.bytes().size(), seed));
}

// Marks -------------------------------------------------------------------------------------------

TEST(Mark, IsReadAsWritten) {
  Record ready = full_record(7, "default", "body\r\n");
  ready.state = RecordState::ready;
  ready.deadline_at = 0;
  const Mark mark{.has_durable_past = true, .durable_bytes = 123456789, .text_records = 5};
  const auto written = [&mark](const Record& record) {
    std::string bytes(header_bytes(record.tube_name.size()), '\0');
    write_header(record, Position{1, 2, 3}, 4, bytes.data(), &mark);
    return mark_of(parse_record(bytes)->record);
  };
  for (const Record& record : {ready, change_record(7, RecordState::deleted)}) {
    const auto read = written(record);
    ASSERT_TRUE(read);
    EXPECT_TRUE(read->has_durable_past);
    EXPECT_EQ(read->durable_bytes, mark.durable_bytes);
    EXPECT_EQ(read->text_records, mark.text_records);
  }
  EXPECT_FALSE(written(full_record(7, "default", "body\r\n")));
  EXPECT_FALSE(written(needed_from(3)));
  EXPECT_FALSE(mark_of(ready));
}

}  // namespace
}  // namespace haricot::binlog
