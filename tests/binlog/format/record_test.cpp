#include "haricot/binlog/format/record.hpp"

#include <gtest/gtest.h>

#include <string>

#include "haricot/base/little_endian.hpp"
#include "support/log_maker.hpp"

namespace haricot::binlog {
namespace {

const Position kPosition{seed_of(0x1122334455667788, 3), 4096, 9};

std::string bytes_of(const Record& record, const Position& position) {
  std::string bytes(header_bytes(record.tube_name.size()), '\0');
  const std::uint32_t sum = record.is_full() ? body_crc(position, record.body) : 0;
  write_header(record, position, sum, bytes.data());
  return bytes.append(record.body);
}

void expect_equal(const Record& got, const Record& wanted) {
  EXPECT_EQ(got.tube_name, wanted.tube_name);
  EXPECT_EQ(got.id, wanted.id);
  EXPECT_EQ(got.priority, wanted.priority);
  EXPECT_EQ(got.delay_ns, wanted.delay_ns);
  EXPECT_EQ(got.ttr_ns, wanted.ttr_ns);
  EXPECT_EQ(got.body_bytes, wanted.body_bytes);
  EXPECT_EQ(got.created_at, wanted.created_at);
  EXPECT_EQ(got.deadline_at, wanted.deadline_at);
  EXPECT_EQ(got.counts, wanted.counts);
  EXPECT_EQ(got.state, wanted.state);
  EXPECT_EQ(got.body, wanted.body);
}

TEST(Record, IsReadAsWritten) {
  const Record record = full_record(123456789012345, "some.tube", "hello\r\n");
  const std::string bytes = bytes_of(record, kPosition);
  EXPECT_EQ(bytes.size(), record.bytes());
  const auto parsed = parse_record(bytes);
  ASSERT_TRUE(parsed);
  expect_equal(parsed->record, record);
  EXPECT_EQ(parsed->number, kPosition.number);
  EXPECT_TRUE(header_fits(bytes, *parsed, kPosition));
  EXPECT_TRUE(body_fits(*parsed, kPosition));
}

TEST(Record, AChangeHasEightyFourBytesAndNoBody) {
  Record record = change_record(7, RecordState::buried);
  record.body_bytes = 500;  // Value of the job's full record. This record has no body.
  const std::string bytes = bytes_of(record, kPosition);
  EXPECT_EQ(bytes.size(), 84U);
  const auto parsed = parse_record(bytes);
  ASSERT_TRUE(parsed);
  expect_equal(parsed->record, record);
  EXPECT_TRUE(parsed->body_is_there);
  EXPECT_TRUE(body_fits(*parsed, kPosition));
}

TEST(Record, SumsYieldTheSeedOfTheFile) {
  for (const std::uint64_t offset : {std::uint64_t{88}, kPosition.offset, std::uint64_t{1} << 33}) {
    const Position position{kPosition.seed, offset, 3};
    const std::string full = bytes_of(full_record(7, "some.tube", "hello\r\n"), position);
    const auto parsed = parse_record(full);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(seed_by_header(full, *parsed, offset), position.seed);
    EXPECT_EQ(seed_by_body(*parsed, offset), position.seed);
    EXPECT_NE(seed_by_header(full, *parsed, offset + 1), position.seed) << "of another offset";
    EXPECT_NE(seed_by_body(*parsed, offset + 1), position.seed) << "of another offset";

    const std::string change = bytes_of(change_record(7, RecordState::buried), position);
    ASSERT_TRUE(parse_record(change));
    EXPECT_EQ(seed_by_header(change, *parse_record(change), offset), position.seed);
  }
}

TEST(Record, ADamagedRecordYieldsTwoDifferentSeeds) {
  const std::string whole = bytes_of(full_record(7, "some.tube", "hello\r\n"), kPosition);
  std::size_t parsed_ones = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    const auto parsed = parse_record(bytes);
    if (!parsed || !parsed->body_is_there) continue;
    ++parsed_ones;
    EXPECT_NE(seed_by_header(bytes, *parsed, kPosition.offset),
              seed_by_body(*parsed, kPosition.offset))
        << "a flipped bit at " << at;
  }
  EXPECT_GT(parsed_ones, 50U);
}

TEST(Record, TheOldestNeededFileIsReadAsWritten) {
  for (const std::uint64_t number :
       {std::uint64_t{1}, std::uint64_t{70'000}, std::uint64_t{1} << 40}) {
    const std::string bytes = bytes_of(needed_from(number), kPosition);
    EXPECT_EQ(bytes.size(), kShortRecordBytes) << "beanstalkd skips a change of no job";
    EXPECT_EQ(load_little_endian<std::uint64_t>(bytes.data() + 4), kPseudoId);
    EXPECT_EQ(bytes.substr(12, 4), "NEED");
    EXPECT_EQ(load_little_endian<std::uint64_t>(bytes.data() + 20), number);
    const auto parsed = parse_record(bytes);
    ASSERT_TRUE(parsed);
    EXPECT_TRUE(header_fits(bytes, *parsed, kPosition));
    EXPECT_EQ(needed_from(parsed->record), number);
  }
  EXPECT_FALSE(needed_from(change_record(7, RecordState::deleted)));
  EXPECT_FALSE(needed_from(full_record(kPseudoId, "t", "x\r\n")));
  Record other = needed_from(3);
  other.priority ^= 1;
  EXPECT_FALSE(needed_from(other));
}

// Pins the layout that beanstalkd reads, byte by byte.
TEST(Record, HasTheLayoutOfBeanstalkd) {
  const Record record = full_record(0x0102030405060708, "ab", "x\r\n");
  const std::string bytes = bytes_of(record, kPosition);
  EXPECT_EQ(load_little_endian<std::uint32_t>(bytes.data()), 2U);
  EXPECT_EQ(bytes.substr(4, 2), "ab");
  const char* block = bytes.data() + 6;
  EXPECT_EQ(load_little_endian<std::uint64_t>(block), 0x0102030405060708U);
  EXPECT_EQ(load_little_endian<std::uint32_t>(block + 8), record.priority);
  EXPECT_EQ(load_little_endian<std::int64_t>(block + 16), 5'000'000'000);
  EXPECT_EQ(load_little_endian<std::int64_t>(block + 24), 60'000'000'000);
  EXPECT_EQ(load_little_endian<std::uint32_t>(block + 32), 3U);
  EXPECT_EQ(load_little_endian<std::int64_t>(block + 40), record.created_at);
  EXPECT_EQ(load_little_endian<std::int64_t>(block + 48), record.deadline_at);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(load_little_endian<std::uint32_t>(block + 56 + 4 * i), i + 1);
  }
  EXPECT_EQ(block[76], 4);
  EXPECT_EQ(bytes.substr(6 + 80), "x\r\n");
}

TEST(Record, FitsInNoOtherPlace) {
  const std::string bytes = bytes_of(full_record(5, "t", "body\r\n"), kPosition);
  const auto parsed = parse_record(bytes);
  ASSERT_TRUE(parsed);
  for (const Position& other :
       {Position{seed_of(0x1122334455667789, 3), 4096, 9},
        Position{seed_of(0x1122334455667788, 4), 4096, 9}, Position{kPosition.seed, 4097, 9}}) {
    EXPECT_FALSE(header_fits(bytes, *parsed, other));
    EXPECT_FALSE(body_fits(*parsed, other));
  }
}

TEST(Record, EveryFlippedBitIsDetected) {
  const std::string good = bytes_of(full_record(5, "tube", "a body\r\n"), kPosition);
  const std::size_t header = header_bytes(4);
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    const auto parsed = parse_record(bytes);
    const bool header_good = parsed && header_fits(bytes, *parsed, kPosition);
    const bool is_body_sum = bit / 8 >= 8 + 36 && bit / 8 < 8 + 40;
    if (bit / 8 < header) {
      EXPECT_FALSE(header_good) << "bit " << bit << (is_body_sum ? " of the body's sum" : "");
    } else {
      EXPECT_TRUE(header_good);
      EXPECT_FALSE(body_fits(*parsed, kPosition)) << "bit " << bit;
    }
  }
}

TEST(Record, ATruncatedRecordIsNotRead) {
  const std::string good = bytes_of(full_record(5, "tube", "a body\r\n"), kPosition);
  for (std::size_t length = 0; length < good.size(); ++length) {
    const auto parsed = parse_record(std::string_view(good).substr(0, length));
    if (length < header_bytes(4)) {
      EXPECT_FALSE(parsed) << length;
    } else {
      ASSERT_TRUE(parsed) << length;
      EXPECT_FALSE(parsed->body_is_there) << length;
      EXPECT_FALSE(body_fits(*parsed, kPosition)) << length;
    }
  }
}

TEST(Record, ImpossibleValuesAreRefused) {
  const auto refused = [](auto change) {
    std::string bytes = bytes_of(full_record(5, "tube", "a body\r\n"), kPosition);
    change(bytes);
    return !parse_record(bytes);
  };
  EXPECT_FALSE(refused([](std::string&) {}));
  EXPECT_TRUE(refused([](std::string& b) { b[4] = ' '; }));  // A name with a space.
  EXPECT_TRUE(refused([](std::string& b) { b[4] = '-'; }));  // A name with a leading hyphen.
  EXPECT_TRUE(refused([](std::string& b) { b[0] = static_cast<char>(201); }));  // Too long.
  EXPECT_TRUE(refused([](std::string& b) { b[8 + 76] = 5; }));                  // An unknown state.
  EXPECT_TRUE(refused([](std::string& b) { b.replace(8, 8, 8, '\0'); }));       // Id 0.
  EXPECT_TRUE(refused([](std::string& b) { b.replace(8 + 32, 4, 4, '\0'); }));  // No CR LF.
  EXPECT_TRUE(refused([](std::string& b) { b.replace(8 + 32, 4, 4, '\x7f'); }));  // Too large.
}

TEST(Record, Beanstalkd14HasTimesInMicroseconds) {
  std::string bytes(8 + 4 + 77, '\0');
  store_little_endian(bytes.data(), std::uint64_t{4});
  bytes.replace(8, 4, "tube");
  char* block = bytes.data() + 12;
  store_little_endian(block, std::uint64_t{42});
  store_little_endian(block + 8, std::uint32_t{1000});
  store_little_endian(block + 16, std::int64_t{3'000'000});
  store_little_endian(block + 24, std::int64_t{60'000'000});
  store_little_endian(block + 32, std::uint32_t{5});
  store_little_endian(block + 40, std::int64_t{1'300'000'000'000'001});
  store_little_endian(block + 48, std::int64_t{1'300'000'000'000'002});
  for (std::uint32_t i = 0; i < 5; ++i) store_little_endian(block + 56 + 4 * i, i);
  block[76] = 3;
  bytes += "abc\r\n";
  std::size_t header_length = 0;
  const auto parsed = parse_record_v5(bytes, header_length);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(header_length, 8U + 4 + 77);
  EXPECT_EQ(parsed->record.tube_name, "tube");
  EXPECT_EQ(parsed->record.id, 42U);
  EXPECT_EQ(parsed->record.priority, 1000U);
  EXPECT_EQ(parsed->record.delay_ns, 3'000'000'000);
  EXPECT_EQ(parsed->record.ttr_ns, 60'000'000'000);
  EXPECT_EQ(parsed->record.created_at, 1'300'000'000'000'001'000);
  EXPECT_EQ(parsed->record.deadline_at, 1'300'000'000'000'002'000);
  EXPECT_EQ(parsed->record.counts, (std::array<std::uint32_t, 5>{0, 1, 2, 3, 4}));
  EXPECT_EQ(parsed->record.state, RecordState::buried);
  EXPECT_EQ(parsed->record.body, "abc\r\n");
}

TEST(Signature, IsReadAsWrittenAndDetectsEveryFlippedBit) {
  Signature signature;
  signature.salt = 1;
  signature.next_id = 2;
  signature.file_number = 3;
  signature.previous_bytes = 4;
  signature.previous_records = 5;
  signature.previous_digest = 6;
  signature.records_lost = 7;
  signature.store_id = 8;
  signature.oldest_needed = 9;
  signature.previous_number = 10;
  std::string bytes(kShortRecordBytes, 'x');
  write_signature(signature, bytes.data());
  const auto read = read_signature(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->salt, 1U);
  EXPECT_EQ(read->next_id, 2U);
  EXPECT_EQ(read->file_number, 3U);
  EXPECT_EQ(read->previous_bytes, 4U);
  EXPECT_EQ(read->previous_records, 5U);
  EXPECT_EQ(read->previous_digest, 6U);
  EXPECT_EQ(read->records_lost, 7U);
  EXPECT_EQ(read->store_id, 8U);
  EXPECT_EQ(read->oldest_needed, 9U);
  EXPECT_EQ(read->previous_number, 10U);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(read_signature(flipped)) << "bit " << bit;
  }
}

// beanstalkd stops reading at id 0 and skips short records with an unknown id.
TEST(Signature, IsAShortRecordWithoutAJob) {
  std::string bytes(kShortRecordBytes, '\0');
  write_signature(Signature{}, bytes.data());
  EXPECT_EQ(load_little_endian<std::uint32_t>(bytes.data()), 0U);
  EXPECT_EQ(load_little_endian<std::uint64_t>(bytes.data() + 4), ~std::uint64_t{0});
}

TEST(Seal, IsReadAsWrittenInItsPlaceOnly) {
  std::string bytes(kShortRecordBytes, 'x');
  write_seal(Seal{4096, 77, true, 5, 6}, kPosition, bytes.data());
  const auto seal = read_seal(bytes, kPosition);
  ASSERT_TRUE(seal);
  EXPECT_EQ(seal->bytes, 4096U);
  EXPECT_EQ(seal->records, 77U);
  EXPECT_TRUE(seal->clean_exit);
  EXPECT_EQ(seal->store_id, 5U);
  EXPECT_EQ(seal->file_number, 6U);
  EXPECT_EQ(seed_by_seal(bytes, 4096), kPosition.seed);
  EXPECT_FALSE(seed_by_seal(bytes, 4097)) << "a seal states its offset";
  Position other = kPosition;
  ++other.offset;
  EXPECT_FALSE(read_seal(bytes, other));
  EXPECT_FALSE(read_signature(bytes));
}

}  // namespace
}  // namespace haricot::binlog
