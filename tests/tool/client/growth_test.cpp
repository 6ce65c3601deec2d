#include "tool/client/growth.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace haricot::tool {
namespace {

bool grows(const std::vector<std::uint32_t>& ready) {
  return is_growing(ready);
}

TEST(Growth, IsTheNewerHalfAboveTheOlder) {
  EXPECT_TRUE(grows({1, 2, 3, 4}));
  EXPECT_TRUE(grows({0, 0, 0, 5, 9, 7}));
  EXPECT_TRUE(grows({5, 3, 4, 9, 7, 8}));
  EXPECT_FALSE(grows({4, 4, 4, 4}));
  EXPECT_FALSE(grows({5, 3, 4, 9, 5, 8}));
  EXPECT_FALSE(grows({9, 8, 7, 6}));
}

TEST(Growth, NeedsFourSamples) {
  EXPECT_FALSE(grows({}));
  EXPECT_FALSE(grows({1, 2, 3}));
}

TEST(Growth, TheMiddleOfAnOddNumberIsOld) {
  EXPECT_TRUE(grows({1, 2, 1, 8, 9}));
  EXPECT_TRUE(grows({1, 1, 7, 8, 9}));
  EXPECT_FALSE(grows({1, 1, 9, 8, 9}));
}

}  // namespace
}  // namespace haricot::tool
