#include "tool/client/sample.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace haricot::tool {
namespace {

Sample sample_at(std::int64_t milliseconds, const std::string& stats) {
  Sample sample;
  sample.at = Instant::at(milliseconds * 1'000'000);
  sample.server = *StatsText::parse("---\n" + stats);
  return sample;
}

void add_tube(Sample& sample, const std::string& name, std::uint64_t puts) {
  TubeStats tube;
  tube.name = name;
  tube.puts = puts;
  sample.tubes.push_back(tube);
}

TEST(Sample, ServerRatesAreDifferencesOverTime) {
  const Sample before = sample_at(
      1000,
      "id: a\nuptime: 5\ntotal-jobs: 10\ncmd-put: 12\ncmd-reserve: 1\n"
      "cmd-reserve-with-timeout: 2\ncmd-delete: 3\njob-timeouts: 0\ntotal-connections: 4\n"
      "rusage-utime: 0.100000\nrusage-stime: 0.200000\n");
  const Sample now = sample_at(
      3000,
      "id: a\nuptime: 7\ntotal-jobs: 30\ncmd-put: 32\ncmd-reserve: 5\n"
      "cmd-reserve-with-timeout: 4\ncmd-delete: 9\njob-timeouts: 1\ntotal-connections: 4\n"
      "rusage-utime: 0.600000\nrusage-stime: 0.700000\n");
  const ServerRates rates = rates_between(before, now);
  EXPECT_EQ(rates.puts, 10.0);
  EXPECT_EQ(rates.reserves, 3.0);
  EXPECT_EQ(rates.deletes, 3.0);
  EXPECT_EQ(rates.timeouts, 0.5);
  EXPECT_EQ(rates.connections, 0.0);
  EXPECT_EQ(rates.commands, 16.0);
  ASSERT_TRUE(rates.cpu_percent);
  EXPECT_NEAR(*rates.cpu_percent, 50.0, 1e-6);
}

TEST(Sample, AServerThatWasStartedAnewHasNoRates) {
  const Sample before = sample_at(1000, "id: a\npid: 5\nuptime: 5\ntotal-jobs: 10\n");
  for (const char* stats :
       {"id: b\npid: 5\nuptime: 9\ntotal-jobs: 20\n", "id: a\npid: 6\nuptime: 9\ntotal-jobs: 20\n",
        "id: a\npid: 5\nuptime: 1\ntotal-jobs: 20\n"}) {
    Sample now = sample_at(2000, stats);
    add_tube(now, "mail", 3);
    EXPECT_EQ(rates_between(before, now).puts, std::nullopt) << stats;
    set_tube_rates(before, now);
    EXPECT_EQ(now.tubes[0].put_rate, std::nullopt) << stats;
  }
}

TEST(Sample, AMissingCounterHasNoRate) {
  const Sample before = sample_at(1000, "pid: 5\nuptime: 5\ntotal-jobs: 10\n");
  const Sample now = sample_at(2000, "pid: 5\nuptime: 6\ntotal-jobs: 11\n");
  const ServerRates rates = rates_between(before, now);
  EXPECT_EQ(rates.puts, 1.0);
  EXPECT_EQ(rates.reserves, std::nullopt);
  EXPECT_EQ(rates.cpu_percent, std::nullopt);
}

TEST(Sample, ATubeThatIsNewBeganWithNothing) {
  Sample before = sample_at(1000, "id: a\n");
  add_tube(before, "old", 5);
  Sample now = sample_at(2000, "id: a\n");
  add_tube(now, "new", 3);
  add_tube(now, "old", 6);
  set_tube_rates(before, now);
  EXPECT_EQ(now.tubes[0].put_rate, 3.0);
  EXPECT_EQ(now.tubes[1].put_rate, 1.0);
}

TEST(Sample, NoTimeBetweenIsNoRate) {
  const Sample sample = sample_at(1000, "id: a\ntotal-jobs: 1\n");
  EXPECT_EQ(rates_between(sample, sample).puts, std::nullopt);
}

StatsText server_stats(const std::string& lines) {
  return *StatsText::parse("---\n" + lines);
}

TubeStats tube_with(const std::string& name, const std::string& lines) {
  return *tube_stats(name, "---\nname: \"" + name + "\"\n" + lines);
}

TEST(Sums, OnlyNumbersThatCanBeAddedAreAdded) {
  const std::vector<StatsText> servers = {
      server_stats("current-jobs-ready: 1\ncmd-put: 5\npid: 7\nversion: \"1.13\"\n"),
      server_stats("current-jobs-ready: 20\ncmd-put: 50\npid: 8\ntotal-jobs: 3\nuptime: 4\n")};
  EXPECT_EQ(sum_of(servers).json_members(),
            R"("current-jobs-ready":21,"cmd-put":55,"total-jobs":3)");
  EXPECT_TRUE(sum_of({}).lines().empty());
}

TEST(Sums, ATubeIsAddedUpOverTheServersThatHaveIt) {
  std::vector<Sample> servers(2);
  servers[0].tubes = {tube_with("a", "current-jobs-ready: 1\ntotal-jobs: 2\npause: 0\n"),
                      tube_with("b", "current-jobs-ready: 4\npause: 9\npause-time-left: 3\n")};
  servers[1].tubes = {tube_with("b", "current-jobs-ready: 8\npause: 90\npause-time-left: 30\n")};
  servers[0].tubes[1].put_rate = 2;
  servers[1].tubes[0].put_rate = 3;
  servers[0].tubes[1].delete_rate = 2;
  const std::vector<TubeStats> sums = sum_of_tubes(servers);
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_EQ(sums[0].name, "a");
  EXPECT_EQ(sums[0].ready, 1U);
  EXPECT_EQ(sums[0].puts, 2U);
  EXPECT_EQ(sums[0].put_rate, std::nullopt);
  EXPECT_EQ(sums[1].name, "b");
  EXPECT_EQ(sums[1].ready, 12U);
  EXPECT_EQ(sums[1].paused_s, 30U);
  EXPECT_EQ(sums[1].put_rate, 5);
  EXPECT_EQ(sums[1].delete_rate, std::nullopt);
}

}  // namespace
}  // namespace haricot::tool
