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

}  // namespace
}  // namespace haricot
