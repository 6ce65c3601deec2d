#include "tool/top/screen_line.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace haricot::tool {
namespace {

TEST(ScreenLine, IsCutOrFilledUp) {
  ScreenLine line("one");
  line.add("two", Tone::alarm);
  line.fit(8);
  EXPECT_EQ(line.text(), "onetwo  ");
  line.fit(4);
  EXPECT_EQ(line.text(), "onet");
  EXPECT_TRUE(line.has(Tone::alarm));
  line.fit(3);
  EXPECT_FALSE(line.has(Tone::alarm));
}

TEST(ScreenLine, CharactersOfSeveralBytesAreOneColumn) {
  ScreenLine line("\xe2\xa3\xbf\xe2\xa3\xbf");
  EXPECT_EQ(line.columns(), 2U);
  line.fit(1);
  EXPECT_EQ(line.text(), "\xe2\xa3\xbf");
}

TEST(ScreenLine, ATitleIsFilledUpAsATitle) {
  ScreenLine line("x", Tone::title);
  line.fit(3);
  ASSERT_EQ(line.pieces().size(), 1U);
  EXPECT_EQ(line.pieces()[0].text, "x  ");
}

TEST(Repaint, OnlyLinesThatDifferAreWritten) {
  const std::vector<ScreenLine> before = {ScreenLine("one"), ScreenLine("two"),
                                          ScreenLine("six", Tone::title)};
  std::vector<ScreenLine> now = before;
  EXPECT_EQ(repaint(before, now, true), "");
  now[1] = ScreenLine("TWO");
  EXPECT_EQ(repaint(before, now, true), "\x1b[2;1HTWO");
  now[1] = before[1];
  now[0] = ScreenLine("one", Tone::title);
  EXPECT_EQ(repaint(before, now, true), "\x1b[1;1H\x1b[7mone\x1b[0m");
  EXPECT_EQ(repaint({}, {ScreenLine("x")}, true), "\x1b[0m\x1b[2J\x1b[1;1Hx");
}

TEST(Repaint, WithoutColoursAnAlarmIsBold) {
  const std::vector<ScreenLine> before = {ScreenLine("x")};
  const std::vector<ScreenLine> now = {ScreenLine("x", Tone::alarm)};
  EXPECT_EQ(repaint(before, now, true), "\x1b[1;1H\x1b[1;31mx\x1b[0m");
  EXPECT_EQ(repaint(before, now, false), "\x1b[1;1H\x1b[1mx\x1b[0m");
}

}  // namespace
}  // namespace haricot::tool
