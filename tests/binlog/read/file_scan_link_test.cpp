#include "haricot/binlog/read/file_scan.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "support/log_maker.hpp"

namespace haricot::binlog {
namespace {

// Returns the signature of a next file that states the scan's result of the file before.
Signature signature_after(FileScan& scan, std::uint64_t number) {
  scan.run_to_end();
  Signature next;
  next.file_number = number + 1;
  next.oldest_needed = 1;
  next.previous_number = static_cast<std::uint32_t>(number);
  next.previous_bytes = scan.accepted_bytes();
  next.previous_records = scan.records();
  next.previous_digest = scan.digest();
  return next;
}

LogMaker file_with_six_jobs() {
  LogMaker log(5);
  for (std::uint64_t id = 1; id <= 6; ++id) log.add(full_record(id, "mail", "hello\r\n"));
  return log;
}

enum class Link : std::uint8_t { good, damaged, broken };
Link link_of(const std::string& bytes, const Signature& next) {
  FileScan scan(bytes, identify(bytes, {.number = 5}), next.previous_bytes);
  scan.run_to_end();
  if (scan.ends_as_stated_by(next)) return Link::good;
  return scan.is_contradicted_by(next) ? Link::broken : Link::damaged;
}

TEST(Link, DistinguishesDamageFromAnotherFile) {
  LogMaker log = file_with_six_jobs();
  const std::string whole = log.bytes();
  FileScan scan = scan_of(whole, 5);
  const Signature next = signature_after(scan, 5);
  EXPECT_EQ(link_of(whole, next), Link::good);

  std::string flipped = whole;
  flipped[log.offsets()[2] + 60] = static_cast<char>(flipped[log.offsets()[2] + 60] ^ 1);
  EXPECT_EQ(link_of(flipped, next), Link::damaged);
  EXPECT_EQ(link_of(whole.substr(0, log.offsets()[4]), next), Link::damaged) << "it was cut";

  LogMaker other(5);
  for (std::uint64_t id = 1; id <= 6; ++id) other.add(full_record(id, "mail", "HELLO\r\n"));
  ASSERT_EQ(other.bytes().size(), whole.size());
  EXPECT_EQ(link_of(other.bytes(), next), Link::broken);
}

TEST(Link, AFileWithRecordsAfterItsKnownEndIsAnother) {
  LogMaker log = file_with_six_jobs();
  FileScan scan = scan_of(log.bytes(), 5);
  const Signature next = signature_after(scan, 5);
  // Here the known end is in the middle of a record.
  LogMaker longer(5);
  for (std::uint64_t id = 1; id <= 6; ++id) longer.add(full_record(id, "mail", "hello there\r\n"));
  EXPECT_EQ(link_of(longer.bytes(), next), Link::broken);
  // A rest of a crash after the known end does not break the link.
  EXPECT_EQ(link_of(log.bytes() + longer.bytes().substr(kFirstRecordOffset, 40), next), Link::good);
}

TEST(Link, AShorterSealedFileIsAnother) {
  LogMaker log = file_with_six_jobs();
  FileScan scan = scan_of(log.bytes(), 5);
  const Signature next = signature_after(scan, 5);
  LogMaker shorter(5);
  shorter.add(full_record(1, "mail", "hello\r\n"));
  shorter.seal();
  EXPECT_EQ(link_of(shorter.bytes(), next), Link::broken);
}

TEST(Link, OnlyTheNextFileKnowsTheEnd) {
  Signature next;
  next.file_number = 7;
  next.oldest_needed = 2;
  next.previous_number = 5;  // Number 6 was never used.
  next.previous_bytes = 1000;
  EXPECT_TRUE(next.states_end_of(5));
  EXPECT_FALSE(next.states_end_of(6));
  next.previous_bytes = 0;
  EXPECT_FALSE(next.states_end_of(5)) << "begun behind a failure";
  next.previous_bytes = 1000;
  next.oldest_needed = 0;  // An earlier version: then it is the number before.
  EXPECT_FALSE(next.states_end_of(5));
  EXPECT_TRUE(next.states_end_of(6));
}

}  // namespace
}  // namespace haricot::binlog
