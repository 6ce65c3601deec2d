#include "tool/top/top_screen.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace haricot::tool {
namespace {

TopState state_with(const std::vector<std::string>& names) {
  TopState state;
  state.address = "127.0.0.1:11300";
  state.sample.server = *StatsText::parse(
      "---\ncurrent-jobs-urgent: 1\ncurrent-jobs-ready: 2\ncurrent-jobs-reserved: 3\n"
      "current-jobs-delayed: 4\ncurrent-jobs-buried: 5\ncurrent-connections: 6\n"
      "current-producers: 7\ncurrent-workers: 8\ncurrent-waiting: 9\nversion: \"1.13\"\n"
      "uptime: 90061\ndraining: false\n");
  state.rates.puts = 120;
  state.rates.cpu_percent = 2.5;
  for (const std::string& name : names) {
    state.sample.tubes.push_back(*tube_stats(name, "---\nname: " + name + "\npause: 0\n"));
  }
  return state;
}

std::string text_of(const std::vector<ScreenLine>& lines) {
  std::string text;
  for (const ScreenLine& line : lines) text += line.text + "\n";
  return text;
}

TEST(TopScreen, TheSummaryIsFourLines) {
  const std::vector<std::string> lines = top_summary(state_with({}));
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "haricot top: 127.0.0.1:11300, version 1.13, up 1d 1:01:01",
                       "jobs: 2 ready (1 urgent), 3 reserved, 4 delayed, 5 buried",
                       "a second: 120 put, - reserve, - delete, - timeout, - commands; CPU 2.5 %",
                       "connections: 6, 7 producers, 8 workers, 9 waiting, - new a second"}));
}

TEST(TopScreen, WhatNeedsAttentionStandsInTheFirstLine) {
  TopState state = state_with({});
  state.sample.server = *StatsText::parse("---\ndraining: true\nbinlog-refusing: 1\n");
  EXPECT_EQ(top_summary(state)[0],
            "haricot top: 127.0.0.1:11300, version -, up 0:00, DRAIN MODE, BINLOG FAILS");
}

TEST(TopScreen, EveryLineIsAsWideAsTheScreen) {
  TopView view;
  const TopState state = state_with({"a", "b", std::string(200, 'x')});
  for (const bool help : {false, true}) {
    view.shows_help = help;
    for (const ScreenSize size : {ScreenSize{24, 80}, {3, 10}, {1, 1}, {6, 200}, {100, 7}}) {
      const std::vector<ScreenLine> lines = draw_top(state, view, size);
      ASSERT_EQ(lines.size(), size.rows);
      for (const ScreenLine& line : lines) EXPECT_EQ(line.text.size(), size.columns);
    }
  }
}

TEST(TopScreen, NothingInTheNamesSteersATerminal) {
  TopState state = state_with({"default"});
  state.address = "unix:/\x1b[2J";
  state.trouble = "it says \x9b";
  state.sample.tubes[0].name = "\x1b]0;x\x07";
  for (const char c : text_of(draw_top(state, {}, {}))) {
    EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << static_cast<int>(c);
  }
}

TEST(TopScreen, ScrollingStartsTheTableFurtherDown) {
  const TopState state = state_with({"tube-a", "tube-b", "tube-c", "tube-d"});
  TopView view;
  view.sort = TubeColumn::name;
  view.first_row = 1;
  const ScreenSize size{9, 100};  // Room for three.
  EXPECT_EQ(page_of(size), 3U);
  std::string text = text_of(draw_top(state, view, size));
  EXPECT_EQ(text.find("tube-a"), std::string::npos);
  EXPECT_NE(text.find("tube-d"), std::string::npos);
  // Tubes have gone since: what is left is shown, not an empty table.
  view.first_row = 50;
  text = text_of(draw_top(state, view, size));
  EXPECT_NE(text.find("tube-b"), std::string::npos);
}

TEST(TopScreen, IdleTubesCanBeHidden) {
  TopState state = state_with({"sleepy", "busy", "waited-for"});
  state.sample.tubes[1].delayed = 1;
  state.sample.tubes[2].waiting = 1;
  TopView view;
  view.hides_idle = true;
  EXPECT_EQ(tubes_in_view(state, view).size(), 2U);
  EXPECT_EQ(text_of(draw_top(state, view, {})).find("sleepy"), std::string::npos);
}

TEST(TopScreen, TroubleStandsAboveTheTableThatStays) {
  TopState state = state_with({"mail"});
  state.trouble = "cannot connect";
  const std::vector<ScreenLine> lines = draw_top(state, {}, {});
  EXPECT_TRUE(lines[4].text.starts_with("cannot connect"));
  EXPECT_TRUE(lines[4].is_inverse);
  EXPECT_NE(text_of(lines).find("mail"), std::string::npos);
}

TEST(TopScreen, OnlyLinesThatDifferAreWritten) {
  const std::vector<ScreenLine> before = {{"one", false}, {"two", false}, {"six", true}};
  std::vector<ScreenLine> now = before;
  EXPECT_EQ(repaint(before, now), "");
  now[1].text = "TWO";
  EXPECT_EQ(repaint(before, now), "\x1b[2;1HTWO");
  now[1] = before[1];
  now[0].is_inverse = true;
  EXPECT_EQ(repaint(before, now), "\x1b[1;1H\x1b[7mone\x1b[0m");
  EXPECT_EQ(repaint({}, {{"x", false}}), "\x1b[0m\x1b[2J\x1b[1;1Hx");
}

TEST(TopScreen, ABatchHasAllTubesInFull) {
  const TopState state = state_with({std::string(200, 'x'), "b"});
  const std::string text = batch_text(state, {});
  EXPECT_NE(text.find(std::string(200, 'x')), std::string::npos);
  EXPECT_EQ(batch_json(state_with({"b"}), {}),
            R"({"address":"127.0.0.1:11300","rates":{"put":120.000,"reserve":null,"delete":null,)"
            R"("timeout":null,"commands":null,"connections":null,"cpu-percent":2.500},"server":{)" +
                state.sample.server.json_members() +
                R"(},"tubes":[{"name":"b","pause":0,"put-rate":null,"delete-rate":null}]})" + "\n");
}

TEST(TopScreen, UptimesAreShort) {
  EXPECT_EQ(format_uptime(0), "0:00");
  EXPECT_EQ(format_uptime(75), "1:15");
  EXPECT_EQ(format_uptime(3661), "1:01:01");
  EXPECT_EQ(format_uptime(86400), "1d 0:00:00");
}

}  // namespace
}  // namespace haricot::tool
