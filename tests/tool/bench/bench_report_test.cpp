#include "tool/bench/bench_report.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace haricot::tool {
namespace {

BenchResult result_of(std::uint64_t puts) {
  BenchResult result;
  result.address = "127.0.0.1:11300";
  result.tally.elapsed = Duration::seconds(2);
  if (puts > 0) {
    result.tally.latency_ns[0].record(100'000, puts - 1);
    result.tally.latency_ns[0].record(3'000'000);
  }
  return result;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(BenchReport, RatesAreCommandsBySeconds) {
  const BenchResult result = result_of(1000);
  EXPECT_TRUE(holds(text_report({}, result), "1000 commands in 2.00 s: 500 commands/s"));
  const std::string json = json_report({}, result);
  EXPECT_TRUE(holds(json,
                    "\"commands\":1000,\"interrupted\":false,\"seconds\":2.000000,"
                    "\"rate\":500.0"))
      << json;
  EXPECT_TRUE(holds(json, "\"max_us\":3000.000")) << json;
}

TEST(BenchReport, TheServersCostIsPerCommandAndOnlyThereIfItIsKnown) {
  BenchResult result = result_of(1000);
  EXPECT_FALSE(holds(json_report({}, result), "\"server\""));
  EXPECT_FALSE(holds(text_report({}, result), "server:"));
  result.at_first = ProcessUsage{0, 0, 0, 1 << 20};
  result.before = ProcessUsage{1'000'000'000, 0, 0, 2 << 20};
  result.after = ProcessUsage{1'005'000'000, 1'000'000, 4'000'000, 3 << 20};
  const std::string json = json_report({}, result);
  EXPECT_TRUE(holds(json,
                    "\"cpu_us_per_command\":5.0000,\"user_us_per_command\":1.0000,"
                    "\"system_us_per_command\":4.0000"))
      << json;
  EXPECT_TRUE(holds(json,
                    "\"resident_at_first\":1048576,\"resident_before\":2097152,"
                    "\"resident_behind\":3145728}"))
      << json;
  EXPECT_TRUE(holds(text_report({}, result), "server: 5.00 us of CPU a command"));
}

TEST(BenchReport, NothingMeasuredIsNoDivisionByZero) {
  const std::string json = json_report({}, BenchResult{});
  EXPECT_FALSE(holds(json, "nan")) << json;
  EXPECT_FALSE(holds(json, "inf")) << json;
}

TEST(BenchReport, ReportsAnInterruption) {
  BenchResult result = result_of(10);
  result.was_interrupted = true;
  EXPECT_TRUE(holds(text_report({}, result), "INTERRUPTED"));
  EXPECT_TRUE(holds(json_report({}, result), "\"interrupted\":true"));
}

TEST(BenchReport, ReportsAClientWithoutIdleTime) {
  BenchResult result = result_of(10);
  result.client_cpu_ns = 1'000'000'000;
  EXPECT_FALSE(holds(text_report({}, result), "was busy all the time"));
  result.client_cpu_ns = 1'990'000'000;
  EXPECT_TRUE(holds(text_report({}, result), "was busy all the time"));
}

TEST(BenchReport, AnAddressThatIsNoTextLeavesJsonThatIs) {
  BenchResult result = result_of(1);
  result.address = "unix:/a\xff\x7f";
  EXPECT_TRUE(holds(json_report({}, result), R"("address":"unix:/a\ufffd\u007f")"));
}

TEST(BenchReport, AnAddressIsQuotedForJson) {
  BenchResult result = result_of(1);
  result.address = "unix:/a\"b\\c\n";
  EXPECT_TRUE(holds(json_report({}, result), R"("address":"unix:/a\"b\\c\u000a")"));
}

// Returns a second with this number of commands, each answered after this number of microseconds.
BenchResult turn(const char* address, std::uint64_t commands, std::uint64_t latency_us) {
  BenchResult result;
  result.address = address;
  result.tally.elapsed = Duration::seconds(1);
  result.tally.latency_ns[0].record(latency_us * 1000, commands);
  return result;
}

Comparison some_turns() {
  Comparison comparison;
  for (const std::uint64_t commands : {1000U, 900U, 5000U}) {
    comparison.turns[0].push_back(turn("one", commands, 100));
  }
  for (const std::uint64_t commands : {2000U, 2700U, 5000U}) {
    comparison.turns[1].push_back(turn("two", commands, 50));
  }
  return comparison;
}

TEST(Comparison, TurnsChangeWhoIsFirst) {
  EXPECT_EQ(order_of_turn(0)[0], 0U);
  EXPECT_EQ(order_of_turn(1)[0], 1U);
  EXPECT_EQ(order_of_turn(1)[1], 0U);
  EXPECT_EQ(order_of_turn(2)[0], 0U);
}

// The turns are 2, 3 and 1 times as fast, so one turn on a busy machine has little effect.
TEST(Comparison, TheRatioIsTheMedianOfTheTurns) {
  const std::string json = json_report(BenchOptions{}, some_turns());
  EXPECT_NE(json.find("\"ratio\":{\"rate\":2.0000,\"rate_min\":1.0000,\"rate_max\":3.0000"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find("\"servers\":[[{\"address\":\"one\""), std::string::npos);
  EXPECT_NE(json.find("],[{\"address\":\"two\""), std::string::npos);
  EXPECT_EQ(json.find('\n'), json.size() - 1);
}

TEST(Comparison, TheTextHasBothAndTheRatio) {
  const std::string text = text_report(BenchOptions{}, some_turns());
  EXPECT_NE(text.find("in 3 turns"), std::string::npos) << text;
  EXPECT_NE(text.find("         1000 "), std::string::npos);
  EXPECT_NE(text.find("         2700 "), std::string::npos);
  EXPECT_NE(text.find("         2.00      0.50      0.50            ratio, second to first"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("ratio of commands/s in the turns: 1.00 to 3.00"), std::string::npos);
}

TEST(Comparison, WithoutAnyCommandThereIsNoRatio) {
  Comparison comparison;
  comparison.turns[0].push_back(turn("one", 0, 0));
  comparison.turns[1].push_back(turn("two", 10, 1));
  EXPECT_NE(json_report(BenchOptions{}, comparison).find("\"rate\":0.0000"), std::string::npos);
}

}  // namespace
}  // namespace haricot::tool
