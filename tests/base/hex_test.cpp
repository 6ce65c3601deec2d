#include "haricot/base/hex.hpp"

#include <gtest/gtest.h>

#include <string>

namespace haricot {
namespace {

TEST(Hex, AByteHasTwoDigits) {
  std::string text = "x";
  for (const char c : {'\x00', '\x0a', '\x9f', '\xff'})
    append_hex(text, static_cast<unsigned char>(c));
  EXPECT_EQ(text, "x000a9fff");
}

}  // namespace
}  // namespace haricot
