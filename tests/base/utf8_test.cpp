#include "haricot/base/utf8.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace haricot {
namespace {

// Encodes a character by the rule of the bits, even if it is not allowed.
std::string with_bytes(std::uint32_t code, int bytes) {
  constexpr unsigned kLead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  if (bytes == 1) return {static_cast<char>(code)};
  std::string text(1, static_cast<char>(kLead[bytes] | code >> (6 * (bytes - 1))));
  for (int i = bytes - 2; i >= 0; --i) text += static_cast<char>(0x80 | (code >> (6 * i) & 0x3f));
  return text;
}

TEST(Utf8, EveryCharacterHasOneForm) {
  for (std::uint32_t code = 0; code < 0x120000; ++code) {
    const int shortest = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    const bool is_one = (code < 0xd800 || code > 0xdfff) && code < 0x110000;
    for (int bytes = shortest; bytes <= 4; ++bytes) {
      const std::string text = with_bytes(code, bytes) + "x";
      const Utf8Character found = first_character(text);
      const bool is_good = is_one && bytes == shortest;
      ASSERT_EQ(found.bytes, is_good ? static_cast<std::size_t>(bytes) : 0U) << code;
      ASSERT_EQ(found.code, is_good ? code : 0U);
    }
  }
}

TEST(Utf8, ATruncatedCharacterIsInvalid) {
  for (const char* text : {"\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xe2.", "\xe2\x82.", "\x80",
                           "\xc1\xbf", "\xf5\x80\x80\x80", "\xff"}) {
    EXPECT_EQ(first_character(text).bytes, 0U);
    EXPECT_FALSE(is_utf8(std::string("a") + text));
  }
}

TEST(Utf8, ATextIsAllOfIt) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"));
  EXPECT_FALSE(is_utf8("h\xc3\xa9\xff"));
}

TEST(Utf8, ControlCharactersComeInTwoSets) {
  for (const std::uint32_t code : {0x00U, 0x1fU, 0x7fU, 0x80U, 0x9fU})
    EXPECT_TRUE(is_control(code));
  for (const std::uint32_t code : {0x20U, 0x7eU, 0xa0U, 0x1f600U}) EXPECT_FALSE(is_control(code));
}

}  // namespace
}  // namespace haricot
