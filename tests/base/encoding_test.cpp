#include "haricot/base/encoding.hpp"

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

TEST(Hex, AByteHasTwoDigits) {
  std::string text = "x";
  for (const char c : {'\x00', '\x0a', '\x9f', '\xff'})
    append_hex(text, static_cast<unsigned char>(c));
  EXPECT_EQ(text, "x000a9fff");
}

TEST(Json, StringsAreQuotedAndEscaped) {
  EXPECT_EQ(json_string(""), "\"\"");
  EXPECT_EQ(json_string("a\"b\\c/"), R"("a\"b\\c/")");
  EXPECT_EQ(json_string("h\xc3\xa9"), "\"h\xc3\xa9\"");
}

TEST(Json, NoControlCharacterStaysOneOfATerminalsOwnNeither) {
  EXPECT_EQ(json_string(std::string("\0\n\x1b\x7f", 4)), R"("\u0000\u000a\u001b\u007f")");
  EXPECT_EQ(json_string("\xc2\x9b"), R"("\u009b")");
  EXPECT_EQ(json_string("\xc2\xa0"), "\"\xc2\xa0\"");
}

TEST(Json, InvisibleCharactersAreEscaped) {
  EXPECT_EQ(json_string("a\xe2\x80\xae\xc2\xad"), "\"a\\u202e\\u00ad\"");
  EXPECT_EQ(json_string("\xf3\xa0\x81\x81"), "\"\\udb40\\udc41\"");
}

TEST(Json, InvalidUtf8IsReplaced) {
  EXPECT_EQ(json_string("a\xff"
                        "b\xc3"),
            R"("a\ufffdb\ufffd")");
}

TEST(Json, InAsciiEveryOtherCharacterIsEscaped) {
  const auto ascii = [](std::string_view bytes) {
    std::string text = "key:";
    append_json_string(text, bytes, JsonText::ascii);
    return text;
  };
  EXPECT_EQ(ascii(""), R"(key:"")");
  EXPECT_EQ(ascii("a\"b\\c/~"), R"(key:"a\"b\\c/~")");
  EXPECT_EQ(ascii("\n\r\t\b\x7f"), R"(key:"\n\r\t\u0008\u007f")");
  EXPECT_EQ(ascii("h\xc3\xa9 \xf0\x9f\x98\x80"), R"(key:"h\u00e9 \ud83d\ude00")");
  EXPECT_EQ(ascii("a\xff\xe2."), R"(key:"a\\xff\\xe2.")");
}

TEST(Json, Base64HasEveryLength) {
  EXPECT_EQ(json_base64(""), "\"\"");
  EXPECT_EQ(json_base64("a"), "\"YQ==\"");
  EXPECT_EQ(json_base64("ab"), "\"YWI=\"");
  EXPECT_EQ(json_base64("abc"), "\"YWJj\"");
  EXPECT_EQ(json_base64("\xff\xfe\xfd\xfc"), "\"//79/A==\"");
}

TEST(Json, NumbersAreThoseOfJson) {
  for (const char* text : {"0", "7", "120", "18446744073709551615", "0.5", "12.034000"}) {
    EXPECT_TRUE(is_json_number(text)) << text;
  }
  for (const char* text :
       {"", "-1", "+1", "01", "00", "1.", ".5", "1.2.3", "1e5", "0x1", "a", "1 "}) {
    EXPECT_FALSE(is_json_number(text)) << text;
  }
}

}  // namespace

}  // namespace haricot
