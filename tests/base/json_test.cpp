#include "haricot/base/json.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace haricot {
namespace {

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
