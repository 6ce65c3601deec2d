#include "tool/top/screen_text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
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

TEST(Figures, ThousandsAreGrouped) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(59207), "59,207");
  EXPECT_EQ(grouped(999999), "999,999");
  EXPECT_EQ(grouped(1'000'000), "1.0M");
  EXPECT_EQ(grouped(1'299'999), "1.2M");
  EXPECT_EQ(grouped(999'999'999), "999.9M");
  EXPECT_EQ(grouped(1'000'000'000), "1.0G");
  EXPECT_EQ(grouped(std::numeric_limits<std::uint64_t>::max()), "18.4E");
}

TEST(Figures, NoNumberIsLongerThanItsColumn) {
  for (std::uint64_t number = 1; number < std::numeric_limits<std::uint64_t>::max() / 10;
       number *= 10) {
    EXPECT_LE(grouped(number - 1).size(), kGroupedColumnsMax) << number - 1;
    EXPECT_LE(grouped_rate(static_cast<double>(number) - 0.01).size(), kGroupedColumnsMax)
        << number;
  }
}

TEST(Figures, RatesHaveADecimalOnlyIfTheyAreSmall) {
  EXPECT_EQ(grouped_rate(std::nullopt), "-");
  EXPECT_EQ(grouped_rate(std::nan("")), "-");
  EXPECT_EQ(grouped_rate(0), "0");
  EXPECT_EQ(grouped_rate(1.25), "1.2");
  EXPECT_EQ(grouped_rate(9.96), "10");
  EXPECT_EQ(grouped_rate(59207.4), "59,207");
  EXPECT_EQ(grouped_rate(1e30), "1.0E");
}

TEST(Figures, BytesHaveBinaryUnits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes((1ULL << 30) - 1), "1023.9 MiB");
  EXPECT_EQ(format_bytes(std::numeric_limits<std::uint64_t>::max()), "15.9 EiB");
}

TEST(Figures, UptimesAreShort) {
  EXPECT_EQ(format_uptime(0), "0:00");
  EXPECT_EQ(format_uptime(75), "1:15");
  EXPECT_EQ(format_uptime(3661), "1:01:01");
  EXPECT_EQ(format_uptime(86400), "1d 0:00:00");
}

TEST(Figures, SpansHaveFiveColumnsAtMost) {
  EXPECT_EQ(format_span(999), "999s");
  EXPECT_EQ(format_span(1000), "16m");
  EXPECT_EQ(format_span(60'000), "16h");
  EXPECT_EQ(format_span(4'294'967'295), "136y");
  EXPECT_EQ(format_span(std::numeric_limits<std::uint64_t>::max()), ">999y");
}

TEST(Figures, TheMiddleOfANameIsCutOut) {
  EXPECT_EQ(shortened("mail", 4), "mail");
  EXPECT_EQ(shortened("production.mail", 9), "prod..ail");
  EXPECT_EQ(shortened("production.mail", 5), "produ");
  EXPECT_EQ(shortened("mail", 0), "");
}

}  // namespace
}  // namespace haricot::tool
