#include "tool/top/top_state.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace haricot::tool {
namespace {

Sample sample_of(std::uint64_t ready, std::uint32_t second = 0, const std::string& name = "mail") {
  Sample sample;
  sample.at = Instant{} + Duration::seconds(second);
  sample.tubes.emplace_back();
  sample.tubes[0].name = name;
  sample.tubes[0].ready = ready;
  return sample;
}

bool grows(std::initializer_list<std::uint64_t> ready) {
  History history;
  for (const std::uint64_t each : ready) history.add(sample_of(each));
  return history.is_growing("mail");
}

TEST(History, ABacklogGrowsIfItsReadyJobsDo) {
  EXPECT_TRUE(grows({1, 2, 3, 4}));
  EXPECT_FALSE(grows({4, 3, 2, 1}));
}

TEST(History, OnlyTheLastTenSamplesSayWhetherABacklogGrows) {
  EXPECT_TRUE(grows({900, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_FALSE(grows({1, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9}));
}

TEST(History, ATubeHadNothingBeforeItsFirstReadyJob) {
  History history;
  history.add(sample_of(0));
  EXPECT_TRUE(history.ready("mail").empty());
  history.add(sample_of(7));
  const auto ready = history.ready("mail");
  EXPECT_EQ(std::vector<std::uint32_t>(ready.begin(), ready.end()),
            (std::vector<std::uint32_t>{0, 7}));
}

TEST(History, ATubeThatGoesIsForgotten) {
  History history;
  history.add(sample_of(7));
  history.add(sample_of(1, 1, "news"));
  EXPECT_TRUE(history.ready("mail").empty());
}

TEST(History, ItsMemoryHasABound) {
  History history;
  for (std::size_t i = 0; i < History::kSamplesMax + 5; ++i) {
    history.add(sample_of(i + 1, static_cast<std::uint32_t>(i)));
  }
  EXPECT_EQ(history.ready("mail").size(), History::kSamplesMax);
  EXPECT_EQ(history.ready("mail").back(), History::kSamplesMax + 5);
  EXPECT_EQ(history.span_of(3), Duration::seconds(2));
  EXPECT_EQ(history.span_of(100'000), Duration::seconds(History::kSamplesMax - 1));

  Sample many;
  for (std::size_t i = 0; i <= History::kTubesMax; ++i) {
    TubeStats tube;
    tube.name = std::to_string(i);
    tube.ready = 1;
    many.tubes.push_back(tube);
  }
  History full;
  full.add(many);
  EXPECT_FALSE(full.ready("0").empty());
  EXPECT_TRUE(full.ready(std::to_string(History::kTubesMax)).empty());
  // When there is room, the tube has no earlier values.
  many.tubes.erase(many.tubes.begin());
  full.add(many);
  full.add(many);
  EXPECT_EQ(full.ready(std::to_string(History::kTubesMax)).size(), 1U);
}

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
