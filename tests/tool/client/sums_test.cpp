#include "tool/client/sums.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace haricot::tool {
namespace {

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
