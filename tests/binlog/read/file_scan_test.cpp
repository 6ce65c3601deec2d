#include "haricot/binlog/read/file_scan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "haricot/base/little_endian.hpp"
#include "support/log_maker.hpp"
#include "support/random.hpp"
#include "support/sanitized.hpp"

namespace haricot::binlog {
namespace {

struct Scanned {
  std::vector<std::uint64_t> ids;         // Ids of good records, in order.
  std::vector<std::uint64_t> bodies_bad;  // Ids of records with only the body damaged.
};

Scanned read_all(FileScan& scan) {
  Scanned outcome;
  while (const auto found = scan.next()) {
    (found->body_is_damaged ? outcome.bodies_bad : outcome.ids).push_back(found->record.id);
  }
  return outcome;
}

std::uint32_t lost(const FileScan& scan) {
  std::uint32_t count = 0;
  for (const Damage& damage : scan.damages()) count += damage.records;
  return count;
}

constexpr std::uint64_t kJobs = 8;

LogMaker small_log() {
  LogMaker log(1);
  for (std::uint64_t id = 1; id <= kJobs; ++id) {
    log.add(full_record(id, "tube-" + std::to_string(id), std::string(id * 5, 'b') + "\r\n"));
    if (id % 3 == 0) log.add(change_record(id, RecordState::deleted));
  }
  return log;
}

TEST(FileScan, ReadsRecordsAsWritten) {
  LogMaker log = small_log();
  log.pad(4096);
  FileScan scan = scan_of(log.bytes(), 1);
  ASSERT_EQ(scan.kind(), FileKind::checked);
  EXPECT_EQ(read_all(scan).ids, (std::vector<std::uint64_t>{1, 2, 3, 3, 4, 5, 6, 6, 7, 8}));
  EXPECT_TRUE(scan.damages().empty());
  EXPECT_EQ(scan.tail().bytes, 0U);
  EXPECT_EQ(scan.records(), 10U);
  EXPECT_EQ(scan.accepted_bytes(), log.bytes().size() - 4096);
  EXPECT_FALSE(scan.seal());
}

TEST(FileScan, EndsAtTheSeal) {
  LogMaker log = small_log();
  log.seal();
  log.pad(100);
  FileScan scan = scan_of(log.bytes(), 1);
  EXPECT_EQ(read_all(scan).ids.size(), 10U);
  ASSERT_TRUE(scan.seal());
  EXPECT_EQ(scan.seal()->records, 10U);
  EXPECT_TRUE(scan.seal()->clean_exit);
  EXPECT_EQ(scan.accepted_bytes(), log.bytes().size() - 100);
}

// If a file is truncated anywhere, each whole record is read, and the rest is a torn end.
TEST(FileScan, ReadsAllWholeRecordsOfATruncatedFile) {
  LogMaker log = small_log();
  const std::string whole = log.bytes();
  std::vector<std::size_t> ends(log.offsets().begin() + 1, log.offsets().end());
  ends.push_back(whole.size());
  for (std::size_t length = kFirstRecordOffset; length <= whole.size(); ++length) {
    for (const std::size_t zeros : {std::size_t{0}, std::size_t{300}}) {
      const std::string bytes = whole.substr(0, length) + std::string(zeros, '\0');
      FileScan scan = scan_of(bytes, 1);
      // A record whose missing end was zeros anyway is whole again with zeros after it.
      std::size_t wanted = 0;
      while (wanted < ends.size() && bytes.size() >= ends[wanted] &&
             std::string_view(bytes).substr(0, ends[wanted]) ==
                 std::string_view(whole).substr(0, ends[wanted])) {
        ++wanted;
      }
      const Scanned outcome = read_all(scan);
      // A body whose missing end is in the preallocated zeros is damaged.
      EXPECT_EQ(outcome.ids.size(), wanted) << "cut at " << length << " and " << zeros << " zeros";
      EXPECT_LE(outcome.bodies_bad.size(), zeros > 0 ? 1U : 0U) << "cut at " << length;
    }
  }
}

// A flipped bit loses the record that has it, and no other. It is detected.
TEST(FileScan, AFlippedBitLosesOneRecordAndIsDetected) {
  LogMaker log = small_log();
  log.seal();
  const std::string good = log.bytes();
  for (std::size_t bit = kFirstRecordOffset * 8; bit < (good.size() - kShortRecordBytes) * 8;
       ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    FileScan scan = scan_of(bytes, 1);
    const Scanned outcome = read_all(scan);
    ASSERT_EQ(outcome.ids.size(), 9U) << "bit " << bit;
    ASSERT_EQ(scan.damages().size(), 1U) << "bit " << bit;
    ASSERT_EQ(lost(scan), 1U) << "bit " << bit;
    ASSERT_TRUE(scan.seal()) << "bit " << bit;
  }
}

TEST(FileScan, AZeroedSectorLosesOnlyItsRecords) {
  LogMaker log(1);
  for (std::uint64_t id = 1; id <= 200; ++id) log.add(full_record(id, "t", "0123456789\r\n"));
  log.pad(2000);
  for (std::size_t sector = 512; sector + 512 <= log.bytes().size() - 2000; sector += 512) {
    std::string bytes = log.bytes();
    bytes.replace(sector, 512, 512, '\0');
    FileScan scan = scan_of(bytes, 1);
    const Scanned outcome = read_all(scan);
    std::size_t touched = 0;
    for (const std::size_t offset : log.offsets()) {
      const std::size_t end = offset + full_record(1, "t", "0123456789\r\n").bytes();
      if (offset < sector + 512 && end > sector) ++touched;
    }
    // At the end of the log no later record shows how many are missing.
    if (outcome.ids.back() != 200) continue;
    EXPECT_EQ(outcome.ids.size() + touched, 200U) << "sector at " << sector;
    EXPECT_EQ(lost(scan), touched) << "sector at " << sector;
  }
}

// Sectors of this file in another place, and sectors of an older file with this number, are never
// read as records, although each is whole.
TEST(FileScan, RejectsStaleDuplicatedAndShiftedRecords) {
  LogMaker log = small_log();
  LogMaker older(1, 0x5555);
  for (std::uint64_t id = 100; id < 130; ++id) older.add(full_record(id, "old", "stale\r\n"));

  const std::string stale = log.bytes() + older.bytes().substr(log.bytes().size());
  FileScan with_stale = scan_of(stale, 1);
  EXPECT_EQ(read_all(with_stale).ids.size(), 10U);
  EXPECT_GT(with_stale.tail().bytes, 0U);

  const std::size_t third = log.offsets()[2];
  const std::string repeated = log.bytes() + log.bytes().substr(third);
  FileScan with_repeated = scan_of(repeated, 1);
  EXPECT_EQ(read_all(with_repeated).ids.size(), 10U);

  std::string shifted = log.bytes();
  shifted.insert(third, "x");
  FileScan with_shifted = scan_of(shifted, 1);
  EXPECT_EQ(read_all(with_shifted).ids, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_GT(with_shifted.tail().bytes, 0U);
}

TEST(FileScan, ReturnsNoWrongRecordAfterRandomDamage) {
  test::Random random;
  LogMaker log(1);
  std::set<std::string> bodies;
  for (std::uint64_t id = 1; id <= 60; ++id) {
    const std::string body = random.bytes(random.below(300)) + "\r\n";
    bodies.insert(body);
    log.add(full_record(id, "tube", body));
  }
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = log.bytes();
    for (unsigned i = 0; i < 1 + random.below(6); ++i) {
      const std::size_t at = random.below(bytes.size());
      const std::size_t length = std::min<std::size_t>(random.below(700), bytes.size() - at);
      switch (random.below(4)) {
        case 0:
          bytes.replace(at, length, length, '\0');
          break;
        case 1:
          bytes.erase(at, length);
          break;
        case 2:
          bytes.insert(at, bytes.substr(random.below(bytes.size()), length));
          break;
        default:
          bytes[at] = static_cast<char>(random.bits());
          break;
      }
      if (bytes.empty()) bytes = "x";
    }
    FileScan scan = scan_of(bytes, 1);
    if (scan.kind() != FileKind::checked) continue;
    std::uint64_t last_id = 0;
    while (const auto found = scan.next()) {
      ASSERT_GT(found->record.id, last_id) << "round " << round;
      last_id = found->record.id;
      if (!found->body_is_damaged) {
        ASSERT_TRUE(bodies.contains(std::string(found->record.body))) << "round " << round;
      }
    }
  }
}

// Returns a record as beanstalkd writes it, with zeros as padding.
std::string record_of_beanstalkd(const Record& record) {
  const std::size_t name_bytes = record.tube_name.size();
  std::string raw(header_bytes(name_bytes), '\0');
  write_header(record, Position{}, 0, raw.data());
  raw.replace(4 + name_bytes + 12, 4, 4, '\0');
  raw.replace(4 + name_bytes + 77, 3, 3, '\0');
  return raw.append(record.body);
}

std::string begin_of_beanstalkd() {
  std::string bytes(kVersionBytes, '\0');
  store_little_endian(bytes.data(), kVersion);
  return bytes;
}

TEST(FileScan, ReadsFilesOfBeanstalkdUpToTheirZeros) {
  std::string bytes = begin_of_beanstalkd();
  for (std::uint64_t id = 1; id <= 3; ++id) {
    bytes += record_of_beanstalkd(full_record(id, "tube", "abc\r\n"));
  }
  const std::size_t end = bytes.size();
  bytes.append(5000, '\0');
  FileScan scan = scan_of(bytes, 1);
  ASSERT_EQ(scan.kind(), FileKind::beanstalkd_v7);
  EXPECT_EQ(read_all(scan).ids, (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(scan.accepted_bytes(), end);
  EXPECT_EQ(scan.tail().bytes, 0U);
}

// Returns a file of jobs, changes and deletions, damaged in some places and torn at its end. Bytes
// too many or too few between two records shift a record to another place.
std::string hurt_file_of_beanstalkd(test::Random& random) {
  std::string bytes = begin_of_beanstalkd();
  const auto add = [&](const std::string& record) {
    if (random.below(8) == 0) bytes.append(1 + random.below(2), '\0');
    if (random.below(16) == 0) bytes.resize(bytes.size() - random.below(3));
    bytes += record;
  };
  for (std::uint64_t id = 1; id <= 6; ++id) {
    add(record_of_beanstalkd(full_record(id, "tube", "abc\r\n")));
    const bool is_deleted = random.below(2) == 0;
    const auto state = is_deleted ? RecordState::deleted : RecordState::buried;
    add(record_of_beanstalkd(change_record(1 + random.below(id), state)));
  }
  for (std::uint64_t hurts = random.below(4); hurts > 0; --hurts) {
    const std::size_t at = kVersionBytes + random.below(bytes.size() - kVersionBytes);
    bytes[at] = static_cast<char>(random.below(2) * random.below(256));
  }
  bytes.resize(bytes.size() - random.below(kShortRecordBytes));
  return bytes.append(random.below(200), '\0');
}

TEST(FileScan, CountsNoLostRecordBeforeATornBody) {
  LogMaker log(1);
  for (std::uint64_t id = 1; id <= 3; ++id) log.add(full_record(id, "tube", "some bytes\r\n"));
  std::string bytes = log.bytes();
  const std::size_t first = log.offsets()[0];
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(first), log.offsets()[2] - first, '\0');
  bytes.resize(bytes.size() - 4);
  FileScan scan = scan_of(bytes, 1);
  EXPECT_FALSE(scan.next());
  EXPECT_EQ(scan.records(), 0U);
  EXPECT_EQ(scan.accepted_bytes(), first);
  EXPECT_TRUE(scan.damages().empty());
  EXPECT_EQ(scan.tail().offset, first);
  EXPECT_EQ(scan.tail().bytes, bytes.size() - first);
}

// At the next start a later file states how far this one was read.
TEST(FileScan, ReadsADamagedFileOfBeanstalkdEquallyWithAKnownEnd) {
  constexpr int kRounds = test::kIsSanitized ? 2'000 : 20'000;
  test::Random random;
  for (int round = 0; round < kRounds; ++round) {
    const std::string bytes = hurt_file_of_beanstalkd(random);
    const FileIdentity identity = identify(bytes, {.number = 1});
    ASSERT_EQ(identity.kind, FileKind::beanstalkd_v7);
    FileScan first(bytes, identity);
    std::vector<FileScan::Found> found;
    while (const auto one = first.next()) found.push_back(*one);
    FileScan again(bytes, identity, first.accepted_bytes());
    for (const FileScan::Found& expected : found) {
      const auto one = again.next();
      ASSERT_TRUE(one) << "round " << round;
      ASSERT_EQ(one->offset, expected.offset) << "round " << round;
      ASSERT_EQ(one->record.id, expected.record.id) << "round " << round;
    }
    ASSERT_FALSE(again.next()) << "round " << round;
    ASSERT_EQ(again.accepted_bytes(), first.accepted_bytes()) << "round " << round;
    ASSERT_EQ(again.damages().size(), first.damages().size()) << "round " << round;
    ASSERT_EQ(again.tail().bytes, 0U) << "round " << round;
  }
}

TEST(FileScan, DistinguishesUnknownVersionsFromEmptyFiles) {
  const auto kind_of = [](const std::string& bytes) { return scan_of(bytes, 1).kind(); };
  EXPECT_EQ(kind_of(""), FileKind::empty);
  EXPECT_EQ(kind_of("\0\0"), FileKind::empty);
  EXPECT_EQ(kind_of(std::string(4096, '\0')), FileKind::empty);
  EXPECT_EQ(kind_of(std::string("\x08\0\0\0", 4)), FileKind::unknown_version);
  EXPECT_EQ(kind_of(std::string("\x05\0\0\0", 4)), FileKind::beanstalkd_v5);
  EXPECT_EQ(kind_of(std::string("\x07\0\0\0", 4)), FileKind::beanstalkd_v7);
  EXPECT_EQ(kind_of("text file"), FileKind::unknown_version);
}

}  // namespace
}  // namespace haricot::binlog
