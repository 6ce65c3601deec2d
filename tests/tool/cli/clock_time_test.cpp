#include "tool/cli/clock_time.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <string>

namespace haricot::tool {
namespace {

// Berlin: 2026-11-28 14:30:00 is 13:30:00 UTC; summer time ended on 2026-10-25.
class ClockTime : public ::testing::Test {
 protected:
  static constexpr std::int64_t kNow = 1795872600;

  ClockTime() {
    ::setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    ::tzset();
  }
  ~ClockTime() override {
    ::unsetenv("TZ");
    ::tzset();
  }

  static std::string read(std::string_view text, Nearest nearest) {
    const auto seconds = read_clock_time(text, kNow, nearest);
    if (!seconds) return "nothing";
    const std::time_t time = *seconds;
    char written[40];
    std::strftime(written, sizeof written, "%Y-%m-%d %H:%M:%S", std::localtime(&time));
    return written;
  }
  static std::string past(std::string_view text) { return read(text, Nearest::past); }
  static std::string future(std::string_view text) { return read(text, Nearest::future); }
};

TEST_F(ClockTime, ReadsDates) {
  EXPECT_EQ(past("2026-11-28"), "2026-11-28 00:00:00");
  EXPECT_EQ(future("2026-12-01 08:00"), "2026-12-01 08:00:00");
  EXPECT_EQ(future("2026-12-01T08:00:59"), "2026-12-01 08:00:59");
  EXPECT_EQ(past("2026-07-01 08:00"), "2026-07-01 08:00:00") << "summer time";
  EXPECT_EQ(past("2024-02-29"), "2024-02-29 00:00:00");
}

TEST_F(ClockTime, ReadsDaysByName) {
  EXPECT_EQ(past("yesterday"), "2026-11-27 00:00:00");
  EXPECT_EQ(past("today"), "2026-11-28 00:00:00");
  EXPECT_EQ(future("tomorrow"), "2026-11-29 00:00:00");
}

TEST_F(ClockTime, ATimeOfTheDayIsTheNearestOne) {
  EXPECT_EQ(past("14:30"), "2026-11-28 14:30:00");
  EXPECT_EQ(past("14:30:01"), "2026-11-27 14:30:01");
  EXPECT_EQ(future("14:30"), "2026-11-28 14:30:00");
  EXPECT_EQ(future("14:29:59"), "2026-11-29 14:29:59");
  // 24 hours and 30 minutes before are not the same time of the day at the end of summer time.
  EXPECT_EQ(read_clock_time("23:00", 1792926000 + 3600, Nearest::past), 1792875600);
}

TEST_F(ClockTime, RejectsWhatIsNoTime) {
  for (const std::string_view text :
       {"", "24:00", "8:00", "08:60", "08:00:60", "08:00x", "2026-02-30", "2026-13-01", "2026-1-1",
        "2026-11-28 ", "2026-11-28 8:00", "2026-11-28x", "1969-01-01", "now", "12", "-1:00"}) {
    EXPECT_EQ(past(text), "nothing") << text;
  }
}

TEST_F(ClockTime, ADelayIsASpanOrATimeToCome) {
  std::uint64_t delay_s = 0;
  EXPECT_TRUE(set_delay(delay_s)("1h30m"));
  EXPECT_EQ(delay_s, 5400U);
  EXPECT_TRUE(set_delay(delay_s)("tomorrow"));
  EXPECT_LE(delay_s, 25U * 3600);
  EXPECT_FALSE(set_delay(delay_s)("2020-01-01"));
  EXPECT_FALSE(set_delay(delay_s)("2999-01-01")) << "more seconds than the protocol allows";
  std::optional<std::int64_t> past_s;
  EXPECT_TRUE(set_past(past_s)("2020-01-01"));
  EXPECT_EQ(past_s, 1577833200);
  EXPECT_FALSE(set_past(past_s)("2999-01-01"));
  EXPECT_TRUE(set_past(past_s)("1d"));
  EXPECT_NEAR(static_cast<double>(*past_s), static_cast<double>(clock_now_s() - 86400), 2);
}

}  // namespace
}  // namespace haricot::tool
