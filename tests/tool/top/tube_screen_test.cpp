#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tool/top/screens.hpp"

namespace haricot::tool {
namespace {

using Numbers = std::vector<std::uint32_t>;
using Lines = std::vector<std::string>;

TEST(Chart, NewestNumbersStandOnTheRight) {
  EXPECT_EQ(draw_chart(Numbers{2, 4}, 3, 1, false), (Lines{" .|"}));
  EXPECT_EQ(draw_chart(Numbers{9, 9, 1, 2, 4}, 3, 1, false), (Lines{"..|"}));
}

TEST(Chart, TheHighestReachesTheTopAndEachAboveZeroIsSeen) {
  EXPECT_EQ(draw_chart(Numbers{0, 1, 1000}, 3, 2, false), (Lines{"  |", " .|"}));
  EXPECT_EQ(draw_chart(Numbers{4294967295U}, 1, 3, false), (Lines{"|", "|", "|"}));
}

TEST(Chart, BrailleHasTwoNumbersOfFourStepsACharacter) {
  EXPECT_EQ(chart_points(3, true), 6U);
  EXPECT_EQ(draw_chart(Numbers{1, 4}, 1, 1, true), (Lines{"\xe2\xa3\xb8"}));  // Dots 7; 4 5 6 8.
  EXPECT_EQ(draw_chart(Numbers{8}, 2, 2, true), (Lines{" \xe2\xa2\xb8", " \xe2\xa2\xb8"}));
}

TEST(Chart, NothingIsBlank) {
  EXPECT_EQ(draw_chart(Numbers{}, 2, 1, true), (Lines{"  "}));
  EXPECT_EQ(draw_chart(Numbers{0, 0}, 2, 1, true), (Lines{"  "}));
  EXPECT_EQ(draw_chart(Numbers{1}, 0, 2, true), (Lines{"", ""}));
}

}  // namespace
}  // namespace haricot::tool
