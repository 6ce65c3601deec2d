#include "haricot/base/crc32c.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "haricot/base/little_endian.hpp"
#include "support/random.hpp"

namespace haricot {
namespace {

using namespace std::string_view_literals;

// The CRC according to its definition: bit by bit.
std::uint32_t bit_by_bit(std::uint32_t before, std::string_view bytes) {
  std::uint32_t rest = ~before;
  for (const char byte : bytes) {
    rest ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      rest = (rest & 1) != 0 ? (rest >> 1) ^ 0x82f63b78U : rest >> 1;
    }
  }
  return ~rest;
}

using Crc = std::uint32_t(std::uint32_t before, std::string_view bytes);

// The examples of RFC 3720, appendix B.4.
TEST(Crc32c, IsThatOfIscsi) {
  std::string counting;
  for (char i = 0; i < 32; ++i) counting += i;
  const std::string backwards(counting.rbegin(), counting.rend());
  for (Crc* const crc : {static_cast<Crc*>(&crc32c), static_cast<Crc*>(&crc32c_portable)}) {
    EXPECT_EQ(crc(0, std::string(32, '\0')), 0x8a9136aaU);
    EXPECT_EQ(crc(0, std::string(32, '\xff')), 0x62a8ab43U);
    EXPECT_EQ(crc(0, counting), 0x46dd794eU);
    EXPECT_EQ(crc(0, backwards), 0x113fdb5cU);
    EXPECT_EQ(crc(0, "123456789"), 0xe3069283U);
    EXPECT_EQ(crc(0, ""), 0U);
  }
}

// All lengths, at all distances from an aligned address.
TEST(Crc32c, IsTheSameInEveryWayOfItsComputation) {
  test::Random random;
  std::string bytes(4000, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.bits());
  for (std::size_t length = 0; length < 300; ++length) {
    for (std::size_t offset = 0; offset < 9; ++offset) {
      const std::string_view part = std::string_view(bytes).substr(offset, length);
      const std::uint32_t expected = bit_by_bit(0, part);
      ASSERT_EQ(crc32c(0, part), expected) << length << " at " << offset;
      ASSERT_EQ(crc32c_portable(0, part), expected) << length << " at " << offset;
    }
  }
  EXPECT_EQ(crc32c(0, bytes), bit_by_bit(0, bytes));
  EXPECT_EQ(crc32c_portable(0, bytes), bit_by_bit(0, bytes));
}

TEST(Crc32c, OfANumberAndBytesIsThatOfAllTogether) {
  test::Random random;
  for (std::size_t length = 0; length < 100; ++length) {
    std::string bytes(8 + length, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.bits());
    const auto number = load_little_endian<std::uint64_t>(bytes.data());
    const std::string_view after = std::string_view(bytes).substr(8);
    const auto before = static_cast<std::uint32_t>(random.bits());
    const std::uint32_t expected = bit_by_bit(before, bytes);
    ASSERT_EQ(crc32c(before, number, after), expected) << length;
    ASSERT_EQ(crc32c_portable(before, number, after), expected) << length;
  }
}

TEST(Crc32c, OfBytesThatFollowOthersIsThatOfAllTogether) {
  const std::string_view bytes = "put 0 0 60 5\r\nhello\r\n"sv;
  const std::uint32_t whole = crc32c(0, bytes);
  for (std::size_t split = 0; split <= bytes.size(); ++split) {
    EXPECT_EQ(crc32c(crc32c(0, bytes.substr(0, split)), bytes.substr(split)), whole);
    EXPECT_EQ(crc32c_portable(crc32c_portable(0, bytes.substr(0, split)), bytes.substr(split)),
              whole);
  }
}

TEST(Crc32c, OfTwoPartsCanBeJoined) {
  test::Random random;
  std::string bytes(5000, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.bits());
  const std::string_view all = bytes;
  for (const std::size_t split : {0U, 1U, 2U, 7U, 8U, 255U, 256U, 1000U, 4999U, 5000U}) {
    for (const std::uint32_t before : {0U, 1U, 0xffffffffU, 0x12345678U}) {
      const std::uint32_t first = crc32c(before, all.substr(0, split));
      const std::uint32_t second = crc32c(0, all.substr(split));
      ASSERT_EQ(crc32c_joined(first, second, bytes.size() - split), crc32c(before, all)) << split;
    }
  }
}

TEST(Crc32c, OfPartsOfAnyLengthCanBeJoined) {
  // Zeros change a CRC, too. Squaring makes the time for 4 GiB of them equal to that for 4 bytes.
  constexpr std::uint64_t kBytes = (std::uint64_t{1} << 32) + 5;
  constexpr std::uint64_t kHalf = kBytes / 2;
  const std::uint32_t at_once = crc32c_joined(0x12345678, 0x9abcdef0, kBytes);
  const std::uint32_t first = crc32c_joined(0x12345678, 0, kHalf);
  EXPECT_EQ(crc32c_joined(first, 0x9abcdef0, kBytes - kHalf), at_once);
}

TEST(Crc32c, CanBeComputedBackwards) {
  test::Random random;
  std::string bytes(100, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.bits());
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    const std::string_view part = std::string_view(bytes).substr(0, length);
    for (const std::uint32_t before :
         {0U, 1U, 0x80000000U, 0xffffffffU, static_cast<std::uint32_t>(random.bits())}) {
      ASSERT_EQ(crc32c_before(crc32c(before, part), part), before) << length;
      ASSERT_EQ(crc32c(crc32c_before(before, part), part), before) << length;
    }
  }
}

TEST(Crc32c, AnyFlippedBitChangesIt) {
  const std::string bytes(100, 'x');
  const std::uint32_t whole = crc32c(0, bytes);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_NE(crc32c(0, changed), whole);
  }
}

}  // namespace
}  // namespace haricot
