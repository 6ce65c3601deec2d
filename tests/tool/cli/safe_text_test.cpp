#include "tool/cli/output.hpp"

#include <gtest/gtest.h>

#include <string>

namespace haricot::tool {
namespace {

TEST(SafeText, AWordIsPrintableAscii) {
  EXPECT_EQ(safe_word("mail-in_2"), "mail-in_2");
  EXPECT_EQ(safe_word("a\x1b[2J\nb\x7f\xc3\xa9"), "a\\x1b[2J\\x0ab\\x7f\\xc3\\xa9");
}

TEST(SafeText, LinesKeepHarmlessCharacters) {
  EXPECT_EQ(safe_lines("a\tb\nh\xc3\xa9"), "a\tb\nh\xc3\xa9");
  EXPECT_EQ(safe_lines("a\r\x1b[2J\x07"), "a\\x0d\\x1b[2J\\x07");
}

TEST(SafeText, TheSecondSetOfControlCharactersGoesToo) {
  EXPECT_EQ(safe_lines("\xc2\x9b"
                       "2J"),
            "\\xc2\\x9b2J");
  EXPECT_EQ(safe_lines("\x9b"
                       "2J"),
            "\\x9b2J");
}

TEST(SafeText, InvisibleAndDirectionalCharactersAreShown) {
  EXPECT_EQ(safe_lines("cod\xe2\x80\xaegpj.exe"), "cod\\xe2\\x80\\xaegpj.exe");  // U+202E
  EXPECT_EQ(safe_lines("a\xe2\x81\xa6z"), "a\\xe2\\x81\\xa6z");                  // U+2066
  EXPECT_EQ(safe_lines("a\xe2\x80\x8bz"), "a\\xe2\\x80\\x8bz");                  // U+200B
  EXPECT_EQ(safe_lines("\xf3\xa0\x81\x81"), "\\xf3\\xa0\\x81\\x81");             // U+E0041
  EXPECT_EQ(safe_lines("\xd7\xa9\xd9\x84"), "\xd7\xa9\xd9\x84");                 // Letters.
}

TEST(SafeText, BytesThatAreNoUtf8AreShown) {
  EXPECT_EQ(safe_lines("a\xff\xc3"), "a\\xff\\xc3");
  EXPECT_EQ(safe_lines("\xe2\x82"), "\\xe2\\x82");
  EXPECT_EQ(safe_lines("\xe2\x82\xac"), "\xe2\x82\xac");
}

}  // namespace
}  // namespace haricot::tool
