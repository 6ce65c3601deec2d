#include "haricot/binlog/format/file_identity.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "haricot/base/little_endian.hpp"
#include "support/log_maker.hpp"

namespace haricot::binlog {
namespace {

TEST(BinlogFileName, IsThatOfBeanstalkd) {
  EXPECT_EQ(binlog_file_name(12), "binlog.12");
  EXPECT_EQ(spare_name(12), "binlog.12.tmp");
  EXPECT_EQ(damaged_name(12, 1), "binlog.12.damaged.1");
  EXPECT_EQ(torn_name(12, 2), "binlog.12.torn.2");
  EXPECT_EQ(aside_name(12, 3), "binlog.12.aside.3");
}

TEST(BinlogFileName, HasANumberThatBeanstalkdCanRead) {
  EXPECT_EQ(binlog_file_number("binlog.1"), 1U);
  EXPECT_EQ(binlog_file_number(binlog_file_name(kFileNumberMax)), kFileNumberMax);
  for (const char* name :
       {"binlog.", "binlog.0", "binlog.01", "binlog.-1", "binlog.+1", "binlog. 1", "binlog.1x",
        "binlog.12.tmp", "binlog.2147483648", "binlog.99999999999999999999", "xbinlog.1", "lock"}) {
    EXPECT_EQ(binlog_file_number(name), std::nullopt) << name;
  }
}

constexpr std::uint64_t kStoreOfFolder = 99;  // The id that LogMaker uses.

// Place of a file with that name in this folder.
FilePlace here(std::uint64_t number) {
  return {.number = number, .store_id = kStoreOfFolder};
}

// A file of the folder as the server writes it: with the salt of its place.
LogMaker file_of_folder(std::uint64_t number, std::uint64_t store_id = kStoreOfFolder) {
  return LogMaker(number, salt_of(store_id, number));
}

void spoil_signature(std::string& bytes) {
  bytes.replace(kVersionBytes, kShortRecordBytes, std::string(kShortRecordBytes, '\xa5'));
}

// A record that beanstalkd has copied from one of ours: it copies the padding with the sums.
std::string copied_by_beanstalkd(std::uint64_t id, const std::string& from, std::size_t offset) {
  std::string bytes = from.substr(offset, header_bytes(4));
  store_little_endian(bytes.data() + 8, id);
  return bytes + "hello\r\n";
}

TEST(FileIdentity, TheHeadIdentifiesAFileOfOurs) {
  LogMaker log = file_of_folder(5);
  log.add(full_record(1, "mail", "hello\r\n"));
  const auto identity = identify_by_head(log.bytes(), log.bytes().size());
  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->kind, FileKind::checked);
  ASSERT_TRUE(identity->signature);
  EXPECT_EQ(identity->number, 5U);
  EXPECT_EQ(identity->store_id, kStoreOfFolder);
  EXPECT_EQ(identity->seed, seed_of(salt_of(kStoreOfFolder, 5), 5));
}

TEST(FileIdentity, TheHeadIdentifiesZerosAndFilesOfBeanstalkd) {
  for (const std::string& bytes : {std::string(), std::string(2, '\0'), std::string(5000, '\0')}) {
    const auto identity = identify_by_head(bytes, bytes.size());
    ASSERT_TRUE(identity) << bytes.size();
    EXPECT_EQ(identity->kind, FileKind::empty);
  }
  std::string bytes = "\x07" + std::string(3, '\0');
  ASSERT_TRUE(identify_by_head(bytes, bytes.size()));
  EXPECT_EQ(identify_by_head(bytes, bytes.size())->kind, FileKind::beanstalkd_v7);

  Record record = full_record(1, "mail", "hello\r\n");
  bytes.resize(kVersionBytes + header_bytes(4));
  write_header(record, Position{}, 0, bytes.data() + kVersionBytes);
  bytes += "hello\r\n";
  ASSERT_TRUE(identify_by_head(bytes, bytes.size()));
  EXPECT_EQ(identify_by_head(bytes, bytes.size())->kind, FileKind::beanstalkd_v7);
}

TEST(FileIdentity, ADamagedHeadIdentifiesNothing) {
  LogMaker log = file_of_folder(5);
  log.add(full_record(1, "mail", "hello\r\n"));
  for (std::size_t at = kVersionBytes; at < kFirstRecordOffset; ++at) {
    std::string bytes = log.bytes();
    bytes[at] = static_cast<char>(bytes[at] ^ 4);
    EXPECT_FALSE(identify_by_head(bytes, bytes.size())) << "a flipped bit at " << at;
  }
  EXPECT_FALSE(identify_by_head("*   some text", 13));
}

TEST(FileIdentity, TheFolderIdentifiesAFileWithoutASignature) {
  LogMaker log = file_of_folder(5);
  log.add(change_record(1, RecordState::buried));
  spoil_signature(log.bytes());
  const FileIdentity identity = identify(log.bytes(), here(5));
  EXPECT_EQ(identity.kind, FileKind::checked);
  EXPECT_FALSE(identity.signature);
  EXPECT_EQ(identity.number, 5U);
  EXPECT_EQ(identity.store_id, kStoreOfFolder);
}

// Its seed is proven, but the file with that seed is unknown.
TEST(FileIdentity, AFileInAnUnknownFolderIsUnidentified) {
  LogMaker log = file_of_folder(5);
  const std::size_t offset = log.add(full_record(1, "mail", "hello\r\n"));
  spoil_signature(log.bytes());
  EXPECT_EQ(identify(log.bytes(), {.number = 5}).kind, FileKind::unidentified);
  std::size_t at = kVersionBytes;
  const auto seed = find_proven(log.bytes(), at);
  EXPECT_EQ(seed, seed_of(salt_of(kStoreOfFolder, 5), 5));
  EXPECT_EQ(at, offset);
  ++at;
  EXPECT_FALSE(find_proven(log.bytes(), at));
}

TEST(FileIdentity, AFileThatDoesNotFitItsNameIsUnidentified) {
  LogMaker log = file_of_folder(7);
  log.add(full_record(1, "mail", "hello\r\n"));
  spoil_signature(log.bytes());
  EXPECT_EQ(identify(log.bytes(), here(3)).kind, FileKind::unidentified);
  EXPECT_EQ(identify(log.bytes(), here(7)).kind, FileKind::checked);
  LogMaker other = file_of_folder(3, kStoreOfFolder + 1);
  other.add(full_record(1, "mail", "hello\r\n"));
  spoil_signature(other.bytes());
  EXPECT_EQ(identify(other.bytes(), here(3)).kind, FileKind::unidentified);
}

// The first bytes contain only a part of a large record.
TEST(FileIdentity, PartOfAHeadIdentifiesAFileOfBeanstalkd) {
  const std::string body = std::string(1000, 'b') + "\r\n";
  const Record record = full_record(1, "mail", body);
  std::string bytes = "\x07" + std::string(3, '\0');
  bytes.resize(kVersionBytes + header_bytes(4));
  write_header(record, Position{}, 0, bytes.data() + kVersionBytes);
  bytes += body;
  const std::string_view front = std::string_view(bytes).substr(0, 512);
  ASSERT_TRUE(identify_by_head(front, bytes.size()));
  EXPECT_EQ(identify_by_head(front, bytes.size())->kind, FileKind::beanstalkd_v7);
  EXPECT_FALSE(identify_by_head(front, front.size())) << "the body was cut off";
  EXPECT_FALSE(identify_by_head(std::string(512, '\0'), 513)) << "zeros may end";
}

TEST(FileIdentity, DamageToTheVersionDoesNotHideAFileOfOurs) {
  LogMaker log = file_of_folder(5);
  log.add(full_record(1, "mail", "hello\r\n"));
  for (const std::uint32_t version : {0U, 3U, 5U, 6U, 0xffffffffU}) {
    std::string bytes = log.bytes();
    store_little_endian(bytes.data(), version);
    EXPECT_EQ(identify(bytes, here(5)).kind, FileKind::checked) << version;
    spoil_signature(bytes);
    EXPECT_EQ(identify(bytes, here(5)).kind, FileKind::checked) << version;
  }
}

// beanstalkd copies the padding of a job that it has read from a file of ours, with stale sums.
TEST(FileIdentity, StaleSumsInCopiesOfBeanstalkdProveNothing) {
  LogMaker log = file_of_folder(5);
  const std::size_t first = log.add(full_record(1, "mail", "hello\r\n"));
  const std::size_t second = log.add(full_record(2, "mail", "hello\r\n"));
  std::string bytes = "\x07" + std::string(3, '\0');
  for (std::uint64_t i = 0; i < 40; ++i) {
    bytes += copied_by_beanstalkd(i % 2 + 1, log.bytes(), i % 2 == 0 ? first : second);
  }
  EXPECT_EQ(identify(bytes, here(6)).kind, FileKind::beanstalkd_v7);
  // The sums prove nothing even if the head of that file is damaged.
  bytes.replace(kVersionBytes, 40, std::string(40, '\xa5'));
  EXPECT_EQ(identify(bytes, here(6)).kind, FileKind::beanstalkd_v7);
  EXPECT_EQ(identify(bytes, {.number = 6}).kind, FileKind::beanstalkd_v7);
}

TEST(FileIdentity, AnUnknownFileIsOfAnUnknownVersion) {
  const std::string text = "This is a letter, and somebody has put it into the wrong folder.\n";
  EXPECT_EQ(identify(text, here(5)).kind, FileKind::unknown_version);
}

// The rest of a record may look like a deletion of beanstalkd.
TEST(FileIdentity, AFileWithOurMarksIsOursWithoutAWholeRecord) {
  LogMaker log = file_of_folder(5);
  Record change = change_record(3, RecordState::buried);
  const std::size_t offset = log.add(change);
  std::string bytes = log.bytes();
  bytes[kVersionBytes + 70] ^= 1;
  bytes.replace(offset + 72, kShortRecordBytes - 72, kShortRecordBytes - 72, '\0');
  const FileIdentity identity = identify(bytes, here(5));
  EXPECT_EQ(identity.kind, FileKind::checked);
  EXPECT_EQ(identity.store_id, kStoreOfFolder);
  FileScan scan(bytes, identity);
  EXPECT_FALSE(scan.next());
  EXPECT_FALSE(scan.damages().empty());
}

// A loss of power may lose the head of a file and tear the change after it.
TEST(FileIdentity, ATornChangeWithoutAHeadIsNotOfBeanstalkd) {
  LogMaker log = file_of_folder(5);
  log.add(full_record(1, "mail", "hello\r\n"));
  const std::size_t begin = log.bytes().size();
  log.add(change_record(1, RecordState::ready));
  std::string bytes = log.bytes();
  std::fill_n(bytes.begin(), begin, '\0');
  constexpr std::size_t kBytesKept = 64;  // The state of the job is after them.
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(begin + kBytesKept), bytes.end(), '\0');
  FilePlace place = here(5);
  EXPECT_EQ(identify(bytes, place).kind, FileKind::beanstalkd_v7);
  EXPECT_EQ(identify(bytes, {.number = 5}).kind, FileKind::beanstalkd_v7);
  place.follows_ours = true;
  EXPECT_EQ(identify(bytes, place).kind, FileKind::checked);
  place.follows_ours = false;
  place.was_begun_by_us = true;
  EXPECT_EQ(identify(bytes, place).kind, FileKind::checked);
}

// A signature is one sector, which a disk may write to the wrong place.
TEST(FileIdentity, ASignatureWinsUnlessTheRecordsFitTheName) {
  LogMaker log = file_of_folder(5);
  while (log.bytes().size() < 2000) log.add(full_record(1, "mail", "hello\r\n"));
  const auto own = identify_by_head(log.bytes(), log.bytes().size());
  ASSERT_TRUE(own);
  EXPECT_EQ(identify_displaced(log.bytes(), *own, here(8)).number, 5U) << "it is displaced";

  LogMaker stranger(8, salt_of(kStoreOfFolder + 1, 8));
  std::string bytes = log.bytes();
  bytes.replace(0, kFirstRecordOffset, stranger.bytes());
  const auto by_head = identify_by_head(bytes, bytes.size());
  ASSERT_TRUE(by_head);
  EXPECT_EQ(by_head->number, 8U);
  const FileIdentity identity = identify_displaced(bytes, *by_head, here(5));
  EXPECT_EQ(identity.number, 5U);
  EXPECT_EQ(identity.store_id, kStoreOfFolder);
  EXPECT_FALSE(identity.signature);
  EXPECT_EQ(identify_displaced(bytes, *by_head, here(6)).number, 8U) << "nothing fits that name";
}

TEST(FileIdentity, FindCheckedFindsOnlyRecordsInTheirPlace) {
  LogMaker log = file_of_folder(5);
  const std::size_t first = log.add(full_record(1, "mail", "hello\r\n"));
  const std::size_t second = log.add(full_record(2, "mail", "hello\r\n"));
  const std::uint32_t seed = seed_of(salt_of(kStoreOfFolder, 5), 5);
  EXPECT_EQ(find_checked(log.bytes(), kFirstRecordOffset, seed), first);
  EXPECT_EQ(find_checked(log.bytes(), first + 1, seed), second);
  EXPECT_FALSE(find_checked(log.bytes(), second + 1, seed));
  EXPECT_FALSE(find_checked(log.bytes(), kFirstRecordOffset, seed + 1));
  log.bytes().insert(first, 1, 'x');
  EXPECT_FALSE(find_checked(log.bytes(), kFirstRecordOffset, seed)) << "all have moved";
  // Finds a record after a stretch of zeros.
  LogMaker sparse = file_of_folder(5);
  sparse.pad(10'000);
  const std::size_t after = sparse.add(full_record(1, "mail", "hello\r\n"));
  EXPECT_EQ(find_checked(sparse.bytes(), kFirstRecordOffset, seed), after);
}

}  // namespace

}  // namespace haricot::binlog
