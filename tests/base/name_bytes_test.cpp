#include "haricot/base/name_bytes.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace haricot {
namespace {

TEST(NameBytes, AreLettersDigitsAndSomeSigns) {
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-+/;.$_()";
  EXPECT_TRUE(has_only_name_bytes(kAllowed));
  EXPECT_TRUE(has_only_name_bytes(""));
  for (int value = 0; value < 256; ++value) {
    const char c = static_cast<char>(value);
    const bool is_allowed = kAllowed.find(c) != std::string_view::npos;
    EXPECT_EQ(has_only_name_bytes(std::string("a") + c + "b"), is_allowed) << value;
  }
}

// An independent definition, in another form than in the source.
bool is_allowed(char c) {
  if (c >= 'A' && c <= 'Z') return true;
  if (c >= 'a' && c <= 'z') return true;
  if (c >= '0' && c <= '9') return true;
  switch (c) {
    case '-':
    case '+':
    case '/':
    case ';':
    case '.':
    case '$':
    case '_':
    case '(':
    case ')':
      return true;
    default:
      return false;
  }
}

TEST(TubeName, OfTheByteValuesExactlyTheProtocolsAreAllowed) {
  int allowed = 0;
  for (int value = 0; value < 256; ++value) {
    const char c = static_cast<char>(value);
    EXPECT_EQ(is_tube_name(std::string("a") + c), is_allowed(c)) << value;
    EXPECT_EQ(is_tube_name(std::string("a") + c + "b"), is_allowed(c)) << value;
    EXPECT_EQ(has_only_name_bytes(std::string("-a") + c), is_allowed(c)) << value;
    allowed += is_allowed(c) ? 1 : 0;
  }
  EXPECT_EQ(allowed, 71);
}

TEST(TubeName, AnyAllowedByteButAHyphenMayBeTheFirst) {
  for (int value = 0; value < 256; ++value) {
    const char c = static_cast<char>(value);
    EXPECT_EQ(is_tube_name(std::string(1, c)), is_allowed(c) && c != '-') << value;
    EXPECT_EQ(is_tube_name(std::string(1, c) + "a"), is_allowed(c) && c != '-') << value;
  }
}

TEST(TubeName, IsOneToTwoHundredBytes) {
  EXPECT_FALSE(is_tube_name(""));
  for (const std::size_t length : {1u, 2u, 100u, 199u, 200u}) {
    EXPECT_TRUE(is_tube_name(std::string(length, 'x'))) << length;
  }
  for (const std::size_t length : {201u, 202u, 256u, 1000u}) {
    EXPECT_FALSE(is_tube_name(std::string(length, 'x'))) << length;
  }
}

TEST(TubeName, ABadByteIsFoundAtEveryPlace) {
  for (std::size_t index = 0; index < 200; ++index) {
    std::string name(200, 'x');
    name[index] = '*';
    EXPECT_FALSE(is_tube_name(name)) << index;
  }
}

}  // namespace
}  // namespace haricot
