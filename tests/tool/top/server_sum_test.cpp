#include "tool/top/server_sum.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace haricot::tool {
namespace {

TopState server_with(int ready, const std::string& more = "") {
  TopState state;
  state.sample.at = Instant::at(ready);
  state.sample.server =
      *StatsText::parse("---\ncurrent-jobs-ready: " + std::to_string(ready) + "\npid: 7\n" + more);
  state.rates.puts = ready;
  return state;
}

TEST(ServerSum, AddsAdditiveValues) {
  const std::vector<TopState> servers = {server_with(3), server_with(4, "draining: true\n")};
  TopState sum;
  add_up(servers, sum);
  EXPECT_EQ(sum.address, "sum of 2 servers");
  EXPECT_EQ(sum.sample.server.number("current-jobs-ready"), 7U);
  EXPECT_EQ(sum.sample.server.number("pid"), std::nullopt);
  ASSERT_NE(sum.sample.server.find("draining"), nullptr);
  EXPECT_EQ(*sum.sample.server.find("draining"), "true");
  EXPECT_EQ(sum.sample.server.find("memory-full"), nullptr);
  EXPECT_EQ(sum.rates.puts, 7.0);
  EXPECT_EQ(sum.rates.deletes, std::nullopt);
  EXPECT_EQ(sum.sample.at, Instant::at(4));
  EXPECT_EQ(sum.trouble, "");
}

TEST(ServerSum, LeavesOutServersWithTrouble) {
  std::vector<TopState> servers = {server_with(3), server_with(4), server_with(5)};
  servers[0].trouble = "a is gone";
  TopState sum;
  add_up(servers, sum);
  EXPECT_EQ(sum.servers, 2U);
  EXPECT_EQ(sum.sample.server.number("current-jobs-ready"), 9U);
  EXPECT_EQ(sum.rates.puts, 9.0);
  EXPECT_EQ(sum.trouble, "a is gone");
}

TEST(ServerSum, ARateThatOneDoesNotKnowIsNotKnown) {
  std::vector<TopState> servers = {server_with(3), server_with(4)};
  servers[1].rates.puts.reset();
  TopState sum;
  add_up(servers, sum);
  EXPECT_EQ(sum.rates.puts, std::nullopt);
}

}  // namespace
}  // namespace haricot::tool
