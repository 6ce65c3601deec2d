#include "escaped_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace haricot::conformance {
namespace {

TEST(Unescape, TurnsEscapesIntoBytes) {
  EXPECT_EQ(unescape(R"(a\r\n\t\0\\\x41\xff)").bytes, std::string("a\r\n\t\0\\A\xff", 8));
}

TEST(Unescape, LeavesOtherTextAlone) {
  EXPECT_EQ(unescape("put 0 0 60 5 $x {y} *").bytes, "put 0 0 60 5 $x {y} *");
}

TEST(Unescape, Repeats) {
  EXPECT_EQ(unescape("a${x*3}b").bytes, "axxxb");
  EXPECT_EQ(unescape(R"(${x\r\n*2})").bytes, "x\r\nx\r\n");
  EXPECT_EQ(unescape("${a*b*2}").bytes, "a*ba*b");
  EXPECT_EQ(unescape("${x*0}").bytes, "");
  EXPECT_EQ(unescape("${0123456789*20000}").bytes.size(), 200000U);
}

TEST(Unescape, RefusesUnknownEscapes) {
  for (const char* text : {R"(\q)", R"(\)", R"(\x4)", R"(\xzz)", R"(\x)", "${x*3", "${x}", "${x*}",
                           "${x*y}", "${*3}", "${x*-1}", "${x*99999999999}"}) {
    EXPECT_FALSE(unescape(text).error.empty()) << text;
  }
}

TEST(Escape, IsReadBack) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  const std::string text = escape(bytes);
  EXPECT_EQ(unescape(text).bytes, bytes);
  for (const char c : text) EXPECT_TRUE(c >= 0x20 && c <= 0x7e);
}

TEST(Escape, CutsLongTextsWithANote) {
  EXPECT_EQ(escape("abcdef", 6), "abcdef");
  EXPECT_EQ(escape("abcdefg", 6), "abcdef... (7 bytes)");
}

}  // namespace
}  // namespace haricot::conformance
