#include "tool/bench/comparison.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace haricot::tool {
namespace {

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
