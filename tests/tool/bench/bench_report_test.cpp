#include "tool/bench/bench_report.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace haricot::tool
