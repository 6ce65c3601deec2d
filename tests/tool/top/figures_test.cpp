#include "tool/top/figures.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace haricot::tool {
namespace {

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
