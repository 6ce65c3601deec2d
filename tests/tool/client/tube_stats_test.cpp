#include "tool/client/tube_stats.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace haricot::tool {
namespace {

TubeStats tube(const std::string& name, std::uint64_t ready = 0) {
  TubeStats made;
  made.name = name;
  made.ready = ready;
  return made;
}

std::string names(const std::vector<TubeStats>& tubes) {
  std::string text;
  for (const TubeStats& each : tubes) text += each.name + " ";
  return text;
}

TEST(TubeStats, AreMadeFromTheAnswerOfTheServer) {
  const TubeStats made =
      *tube_stats("mail",
                  "---\nname: mail\ncurrent-jobs-urgent: 1\ncurrent-jobs-ready: 2\n"
                  "current-jobs-reserved: 3\ncurrent-jobs-delayed: 4\n"
                  "current-jobs-buried: 5\ntotal-jobs: 6\ncurrent-waiting: 7\n"
                  "cmd-delete: 8\npause: 9\npause-time-left: 0\n");
  EXPECT_EQ(made.urgent, 1U);
  EXPECT_EQ(made.ready, 2U);
  EXPECT_EQ(made.reserved, 3U);
  EXPECT_EQ(made.delayed, 4U);
  EXPECT_EQ(made.buried, 5U);
  EXPECT_EQ(made.puts, 6U);
  EXPECT_EQ(made.waiting, 7U);
  EXPECT_EQ(made.deletes, 8U);
  EXPECT_EQ(made.paused_s, 1U);  // The tube is paused for less than a second.
}

TEST(TubeStats, InvalidReportsMakeNone) {
  EXPECT_FALSE(tube_stats("mail", ""));
  EXPECT_FALSE(tube_stats("mail", "name: mail\n"));
}

TEST(TubeStats, RatesAreDifferencesOverTime) {
  TubeStats before = tube("a");
  before.puts = 10;
  before.deletes = 4;
  TubeStats now = tube("a");
  now.puts = 40;
  now.deletes = 5;
  set_rates(now, before, 2.0);
  EXPECT_EQ(now.put_rate, 15.0);
  EXPECT_EQ(now.delete_rate, 0.5);
}

TEST(TubeStats, CountersThatWentBackGiveNoRate) {
  TubeStats before = tube("a");
  before.puts = 10;
  TubeStats now = tube("a");
  now.puts = 3;
  set_rates(now, before, 1.0);
  EXPECT_EQ(now.put_rate, std::nullopt);
  EXPECT_EQ(now.delete_rate, std::nullopt);  // The server does not count deletes.
  now.puts = 12;
  set_rates(now, before, 0);
  EXPECT_EQ(now.put_rate, std::nullopt);
}

TEST(TubeStats, NumbersAreSortedFromTheLargestAndNamesFromA) {
  std::vector<TubeStats> tubes = {tube("b", 1), tube("c", 1), tube("a", 1), tube("d", 5)};
  sort_tubes(tubes, TubeColumn::ready, false);
  EXPECT_EQ(names(tubes), "d a b c ");
  sort_tubes(tubes, TubeColumn::ready, true);
  EXPECT_EQ(names(tubes), "c b a d ");
  sort_tubes(tubes, TubeColumn::name, false);
  EXPECT_EQ(names(tubes), "a b c d ");
}

TEST(TubeStats, RatesThatAreNotKnownComeLast) {
  std::vector<TubeStats> tubes = {tube("a"), tube("b"), tube("c")};
  tubes[1].put_rate = 0;
  tubes[2].put_rate = 3;
  sort_tubes(tubes, TubeColumn::put_rate, false);
  EXPECT_EQ(names(tubes), "c b a ");
}

TEST(TubeStats, EveryColumnSorts) {
  for (std::size_t i = 0; i + 1 < kTubeColumns; ++i) {
    const auto column = static_cast<TubeColumn>(i);
    TubeStats more = tube("z", 9);
    more.urgent = more.reserved = more.delayed = more.buried = more.waiting = more.paused_s = 9;
    more.put_rate = more.delete_rate = 9;
    std::vector<TubeStats> tubes = {tube("a"), more};
    sort_tubes(tubes, column, false);
    EXPECT_EQ(names(tubes), "z a ") << title_of(column);
    EXPECT_EQ(column_called(title_of(column), kTubeColumns), column);
  }
  EXPECT_EQ(column_called("brew", kAllTubeColumns), std::nullopt);
}

TEST(TubeStats, ColumnsOfTimesSortByMedianThenByPercentile) {
  std::vector<TubeStats> tubes = {tube("unknown"), tube("none"), tube("a"), tube("b"), tube("c")};
  for (std::size_t i = 1; i < tubes.size(); ++i) tubes[i].times = TubeTimes{};
  tubes[2].times = TubeTimes{1, 10, 90, 10, 90};
  tubes[3].times = TubeTimes{2, 20, 30, 20, 30};
  tubes[4].times = TubeTimes{3, 20, 40, 20, 40};
  for (std::size_t i = kTubeColumns; i < kAllTubeColumns; ++i) {
    const auto column = static_cast<TubeColumn>(i);
    ASSERT_TRUE(is_of_times(column));
    sort_tubes(tubes, column, false);
    EXPECT_EQ(names(tubes), "c b a none unknown ") << title_of(column);
    EXPECT_EQ(column_called(title_of(column), kAllTubeColumns), column);
    EXPECT_EQ(column_called(title_of(column), kTubeColumns), std::nullopt);
  }
}

TEST(TubeStats, TheTableIsAlignedAndGrowsWithItsNumbers) {
  std::vector<TubeStats> tubes = {tube("mail", 12345678), tube("a\x1b[2J")};
  tubes[0].paused_s = 75;
  tubes[0].put_rate = 1.25;
  tubes[0].delete_rate = 1234.5;
  const TubeTable table = tube_table(tubes);
  EXPECT_EQ(table.header,
            "   ready urgent reserved delayed buried waiting  put/s delete/s paused tube");
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0],
            "12345678      0        0       0      0       0    1.2     1234    75s mail");
  EXPECT_EQ(table.rows[1],
            "       0      0        0       0      0       0      -        -      - a\\x1b[2J");
}

TEST(TubeStats, JsonHasNullForMissingValues) {
  TubeStats made = *tube_stats("12", "---\nname: 12\npause: 0\n");
  made.put_rate = 0.5;
  EXPECT_EQ(to_json(made), R"({"name":"12","pause":0,"put-rate":0.500,"delete-rate":null})");
}

TEST(TubeStats, RatesAreShort) {
  EXPECT_EQ(format_rate(std::nullopt), "-");
  EXPECT_EQ(format_rate(0), "0");
  EXPECT_EQ(format_rate(0.04), "0.0");
  EXPECT_EQ(format_rate(9.94), "9.9");
  EXPECT_EQ(format_rate(9.96), "10");
  EXPECT_EQ(format_rate(123456.7), "123457");
}

TEST(TubeStats, TimesStandBeforeTheNames) {
  TubeStats slow = tube_stats("slow", "---\ncurrent-jobs-ready: 3\n").value();
  ASSERT_TRUE(add_times(slow,
                        "---\nage-oldest-ready: 75\nqueue-time-p50: 900\nqueue-time-p99: "
                        "61000\nwork-time-p50: 0\nwork-time-p99: 1500\n"));
  EXPECT_FALSE(add_times(slow, "NOT YAML"));
  const TubeStats other = tube_stats("other", "---\ncurrent-jobs-ready: 1\n").value();
  const TubeTable table = tube_table({slow, other});
  EXPECT_TRUE(table.header.ends_with(" oldest      wait     work tube")) << table.header;
  EXPECT_TRUE(table.rows[0].ends_with("    75s 900ms/61s 0ms/1.5s slow")) << table.rows[0];
  EXPECT_TRUE(table.rows[1].ends_with("      -         -        - other")) << table.rows[1];
  EXPECT_TRUE(tube_table({other}).header.ends_with("paused tube"));
  EXPECT_NE(to_json(slow).find("\"queue-time-p99\":61000"), std::string::npos);
}

TEST(TubeStats, ATimeHasAFewColumns) {
  EXPECT_EQ(format_milliseconds(0), "0ms");
  EXPECT_EQ(format_milliseconds(999), "999ms");
  EXPECT_EQ(format_milliseconds(1000), "1s");
  EXPECT_EQ(format_milliseconds(9999), "9.9s");
  EXPECT_EQ(format_milliseconds(599'999), "599s");
  EXPECT_EQ(format_milliseconds(600'000), "10m");
  EXPECT_EQ(format_milliseconds(36'000'000), "10h");
  EXPECT_EQ(format_milliseconds(360'000'000), "4d");
}

bool grows(const std::vector<std::uint32_t>& ready) {
  return is_growing(ready);
}

TEST(Growth, IsTheNewerHalfAboveTheOlder) {
  EXPECT_TRUE(grows({1, 2, 3, 4}));
  EXPECT_TRUE(grows({0, 0, 0, 5, 9, 7}));
  EXPECT_TRUE(grows({5, 3, 4, 9, 7, 8}));
  EXPECT_FALSE(grows({4, 4, 4, 4}));
  EXPECT_FALSE(grows({5, 3, 4, 9, 5, 8}));
  EXPECT_FALSE(grows({9, 8, 7, 6}));
}

TEST(Growth, NeedsFourSamples) {
  EXPECT_FALSE(grows({}));
  EXPECT_FALSE(grows({1, 2, 3}));
}

TEST(Growth, TheMiddleOfAnOddNumberIsOld) {
  EXPECT_TRUE(grows({1, 2, 1, 8, 9}));
  EXPECT_TRUE(grows({1, 1, 7, 8, 9}));
  EXPECT_FALSE(grows({1, 1, 9, 8, 9}));
}

}  // namespace
}  // namespace haricot::tool
