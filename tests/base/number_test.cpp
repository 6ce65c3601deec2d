#include "haricot/base/number.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace haricot {
namespace {

TEST(Number, IsDigitsAlone) {
  EXPECT_EQ(read_number("0"), 0U);
  EXPECT_EQ(read_number("007"), 7U);
  EXPECT_EQ(read_number("18446744073709551615"), 18446744073709551615U);
  for (const char* text : {"", "-1", "+1", "5k", " 5", "5 ", "x", "0x1", "18446744073709551616"}) {
    EXPECT_EQ(read_number(text), std::nullopt) << text;
  }
}

TEST(Number, HasTheBoundsOfItsType) {
  EXPECT_EQ(read_number<std::uint16_t>("65535"), 65535U);
  EXPECT_EQ(read_number<std::uint16_t>("65536"), std::nullopt);
  EXPECT_EQ(read_number<int>("-12"), -12);
  EXPECT_EQ(read_number<int>("2147483648"), std::nullopt);
}

TEST(Number, CanBeHexadecimal) {
  EXPECT_EQ(read_number("00ff", 16), 255U);
  EXPECT_EQ(read_number("fg", 16), std::nullopt);
  EXPECT_EQ(read_number("ff"), std::nullopt);
}

TEST(Number, IsTakenOffTheFrontOfAText) {
  std::string_view text = "12:34";
  EXPECT_EQ(take_number(text), 12U);
  EXPECT_EQ(text, ":34");
  EXPECT_EQ(take_number(text), std::nullopt);
  EXPECT_EQ(text, ":34");
  text = "18446744073709551616 too large";
  EXPECT_EQ(take_number(text), std::nullopt);
  EXPECT_EQ(text, "18446744073709551616 too large");
}

TEST(Number, CountsCanHaveAUnit) {
  EXPECT_EQ(read_count("0"), 0U);
  EXPECT_EQ(read_count("17"), 17U);
  EXPECT_EQ(read_count("100k"), 100'000U);
  EXPECT_EQ(read_count("5M"), 5'000'000U);
  EXPECT_EQ(read_count("18446744073709551615"), 18446744073709551615U);
  for (const char* text : {"", "k", "-1", "+1", "1 ", " 1", "1kk", "1K", "1.5k", "x",
                           "18446744073709551616", "18446744073709551615k"}) {
    EXPECT_EQ(read_count(text), std::nullopt) << text;
  }
}

TEST(Number, BytesCanHaveABinaryUnit) {
  EXPECT_EQ(read_bytes("17"), 17U);
  EXPECT_EQ(read_bytes("2k"), 2048U);
  EXPECT_EQ(read_bytes("2K"), 2048U);
  EXPECT_EQ(read_bytes("3m"), 3U << 20);
  EXPECT_EQ(read_bytes("3M"), 3U << 20);
  EXPECT_EQ(read_bytes("1g"), 1U << 30);
  EXPECT_EQ(read_bytes("17179869183G"), 18446744072635809792U);
  for (const char* text : {"", "g", "-1", "1 k", "1kk", "1t", "1.5g", "17179869184g", "x"}) {
    EXPECT_EQ(read_bytes(text), std::nullopt) << text;
  }
}

TEST(Number, SecondsCanHaveThreeDecimals) {
  EXPECT_EQ(read_milliseconds("2"), 2000U);
  EXPECT_EQ(read_milliseconds("2."), 2000U);
  EXPECT_EQ(read_milliseconds("0.5"), 500U);
  EXPECT_EQ(read_milliseconds("1.25"), 1250U);
  EXPECT_EQ(read_milliseconds("0.001"), 1U);
  for (const char* text :
       {"", ".", ".5", "1.2345", "1k", "1.k", "1.5M", "-1", "1.-5", "x", "18446744073709552"}) {
    EXPECT_EQ(read_milliseconds(text), std::nullopt) << text;
  }
}

TEST(Number, ATimeCanHaveUnits) {
  const struct {
    const char* text;
    std::uint64_t milliseconds;
  } times[] = {{"250ms", 250},     {"90s", 90'000},     {"5m", 300'000},       {"2h", 7'200'000},
               {"1d", 86'400'000}, {"1.5h", 5'400'000}, {"1h30m", 5'400'000},  {"0.25s", 250},
               {"1m0.5s", 60'500}, {"0s", 0},           {"1d1ms", 86'400'001}, {"100m", 6'000'000}};
  for (const auto& time : times) {
    EXPECT_EQ(read_milliseconds(time.text), time.milliseconds) << time.text;
  }
  for (const char* text : {"s", "m5", "5m30", "5s5m", "5m5m", "5min", "5 m", "-5m", "5.m.", "1.5ms",
                           "0.0001s", "5M", "5mss", "5m ", ".5s", "300000000000d", "1..5s"}) {
    EXPECT_EQ(read_milliseconds(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace haricot
