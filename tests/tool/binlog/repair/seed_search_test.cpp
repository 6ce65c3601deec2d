#include "tool/binlog/repair/seed_search.hpp"

#include <gtest/gtest.h>

#include <string>

#include "haricot/base/little_endian.hpp"
#include "haricot/binlog/format/record.hpp"
#include "support/log_maker.hpp"

namespace haricot::tool {
namespace {

using haricot::binlog::change_record;
using haricot::binlog::full_record;
using haricot::binlog::LogMaker;
using haricot::binlog::salt_of;
using haricot::binlog::seed_of;

constexpr std::uint64_t kStoreOfFile = 99;

LogMaker file_of(std::uint64_t number) {
  return LogMaker(number, salt_of(kStoreOfFile, number));
}
std::uint32_t seed_of_file(std::uint64_t number) {
  return seed_of(salt_of(kStoreOfFile, number), number);
}
void spoil_head(std::string& bytes) {
  bytes.replace(4, 84, std::string(84, '\xa5'));
}

TEST(SeedSearch, OneFullRecordProvesTheSeed) {
  LogMaker log = file_of(5);
  log.add(full_record(1, "mail", "hello\r\n"));
  spoil_head(log.bytes());
  EXPECT_EQ(SeedSearch(log.bytes()).run(), seed_of_file(5));
}

TEST(SeedSearch, OneChangeAloneProvesNothingAndTwoThatAgreeDo) {
  LogMaker log = file_of(5);
  log.add(change_record(1, binlog::RecordState::buried));
  std::string one = log.bytes();
  spoil_head(one);
  EXPECT_FALSE(SeedSearch(one).run());
  log.add(change_record(2, binlog::RecordState::deleted));
  spoil_head(log.bytes());
  EXPECT_EQ(SeedSearch(log.bytes()).run(), seed_of_file(5));
}

// beanstalkd copies the padding of records from our files, including stale checksums.
TEST(SeedSearch, StaleSumsInCopiesOfBeanstalkdProveNothing) {
  LogMaker log = file_of(5);
  const std::size_t from = log.add(full_record(1, "mail", "hello\r\n"));
  std::string bytes = "\x07" + std::string(3, '\0');
  for (std::uint64_t id = 2; id < 40; ++id) {
    std::string copy = log.bytes().substr(from, binlog::header_bytes(4));
    store_little_endian(copy.data() + 8, id);
    bytes += copy + "hello\r\n";
  }
  EXPECT_FALSE(SeedSearch(bytes).run());
}

// A disk that writes to the wrong place writes whole sectors.
TEST(SeedSearch, TheSeedOfMoreSectorsWins) {
  constexpr std::size_t kSector = 512;
  LogMaker log = file_of(5);
  LogMaker other = file_of(6);
  for (std::uint64_t id = 1; id < 30; ++id) {
    log.add(full_record(id, "mail", std::string(200, 'b') + "\r\n"));
    other.add(change_record(id, binlog::RecordState::buried));
  }
  std::string bytes = log.bytes();
  spoil_head(bytes);
  bytes.replace(2 * kSector, kSector, other.bytes().substr(2 * kSector, kSector));
  SeedSearch search(bytes);
  EXPECT_EQ(search.run(), seed_of_file(5));
  EXPECT_GE(search.sectors_of(seed_of_file(5)), 4U);
  EXPECT_LE(search.sectors_of(seed_of_file(6)), 2U);
}

TEST(SeedSearch, RecordsSpeakAgainstASignature) {
  LogMaker log = file_of(5);
  while (log.bytes().size() < 2000) log.add(full_record(1, "mail", "hello\r\n"));
  SeedSearch agreeing(log.bytes());
  agreeing.count_signature(seed_of_file(5));
  EXPECT_FALSE(agreeing.run_without(seed_of_file(5)));
  SeedSearch speaking(log.bytes());
  speaking.count_signature(seed_of_file(8));
  EXPECT_EQ(speaking.run_without(seed_of_file(8)), seed_of_file(5));
  EXPECT_GT(speaking.sectors_of(seed_of_file(5)), speaking.sectors_of(seed_of_file(8)));
}

}  // namespace
}  // namespace haricot::tool
