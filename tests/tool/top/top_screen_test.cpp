#include "tool/top/screens.hpp"

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
  for (const ScreenLine& line : lines) text += line.text() + "\n";
  return text;
}

TEST(TopScreen, TheSummaryOfABatchIsFourLines) {
  const std::vector<std::string> lines = batch_summary(state_with({}));
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "haricot top: 127.0.0.1:11300, version 1.13, up 1d 1:01:01",
                       "jobs: 2 ready (1 urgent), 3 reserved, 4 delayed, 5 buried",
                       "a second: 120 put, - reserve, - delete, - timeout, - commands; CPU 2.5 %",
                       "connections: 6, 7 producers, 8 workers, 9 waiting, - new a second"}));
}

TEST(TopScreen, WarningsAreInTheFirstLineOfABatch) {
  TopState state = state_with({});
  state.sample.server = *StatsText::parse("---\ndraining: true\nbinlog-refusing: 1\n");
  EXPECT_EQ(batch_summary(state)[0],
            "haricot top: 127.0.0.1:11300, version -, up 0:00, DRAIN MODE, BINLOG FAILS");
}

TEST(TopScreen, EveryLineIsAsWideAsTheScreen) {
  TopView view;
  TopState state = state_with({"a", "b", std::string(200, 'x')});
  state.clients =
      SeenClients{.can_be_listed = true, .clients = {*StatsText::parse("---\nid: 7\n")}};
  for (const char* shown : {"", "help", "clients", "a", "gone"}) {
    view.shows_help = std::string(shown) == "help";
    view.clients.is_shown = std::string(shown) == "clients";
    view.tube = view.shows_help || view.clients.is_shown ? "" : shown;
    for (const ScreenSize size : {ScreenSize{24, 80}, {3, 10}, {1, 1}, {6, 200}, {100, 7}}) {
      const std::vector<ScreenLine> lines = draw_top(state, view, size, {});
      ASSERT_EQ(lines.size(), size.rows);
      for (const ScreenLine& line : lines) EXPECT_EQ(line.columns(), size.columns);
    }
  }
}

TEST(TopScreen, NothingInTheNamesSteersATerminal) {
  TopState state = state_with({"default"});
  state.address = "unix:/\x1b[2J";
  state.trouble = "it says \x9b";
  state.sample.tubes[0].name = "\x1b]0;x\x07";
  for (const char c : text_of(draw_top(state, {}, {}, {}))) {
    EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << static_cast<int>(c);
  }
}

TEST(TopScreen, TheTableScrollsToTheSelectedTube) {
  const TopState state = state_with({"tube-a", "tube-b", "tube-c", "tube-d"});
  TopView view;
  view.sort = TubeColumn::name;
  view.selected = "tube-d";
  const ScreenSize size{10, 100};  // Room for three rows.
  EXPECT_EQ(page_of(size), 3U);
  std::string text = text_of(draw_top(state, view, size, {}));
  EXPECT_EQ(text.find("tube-a"), std::string::npos);
  EXPECT_NE(text.find(">tube-d"), std::string::npos);
  // After tubes have ended, the remaining ones are shown, not an empty table.
  view.selected = "gone";
  view.selected_row = view.first_row = 50;
  text = text_of(draw_top(state, view, size, {}));
  EXPECT_NE(text.find("tube-b"), std::string::npos);
}

TEST(TopScreen, TheStateOfTheBinlogStandsInTheHead) {
  const struct {
    const char* stats;
    const char* shown;
    Tone tone;
  } cases[] = {
      {"binlog-current-index: 0\n", "binlog: off", Tone::plain},
      {"binlog-current-index: 3\n", "binlog: on", Tone::plain},
      {"binlog-errors: 0\n", "binlog: ok", Tone::plain},
      {"binlog-errors: 1\n", "binlog: works, 1 error", Tone::warning},
      {"binlog-errors: 1200\nbinlog-refusing: 1\n", "binlog: refuses, 1,200 errors", Tone::alarm},
      {"binlog-errors: 0\nbinlog-no-space: 1\n", "binlog: no space", Tone::alarm},
  };
  for (const auto& each : cases) {
    TopState state = state_with({});
    state.sample.server = *StatsText::parse(std::string("---\n") + each.stats);
    const ScreenLine line = draw_top(state, {}, {}, {})[3];
    EXPECT_NE(line.text().find(each.shown), std::string::npos) << line.text();
    EXPECT_EQ(line.has(Tone::alarm), each.tone == Tone::alarm) << each.shown;
    EXPECT_EQ(line.has(Tone::warning), each.tone == Tone::warning) << each.shown;
  }
}

TEST(TopScreen, TheHeadHasMemoryIfItIsKnown) {
  TopState state = state_with({});
  EXPECT_EQ(draw_top(state, {}, {}, {})[3].text().find("memory"), std::string::npos);
  state.memory = 40'000'000;
  EXPECT_NE(draw_top(state, {}, {}, {})[3].text().find("memory 38.1 MiB"), std::string::npos);
}

TEST(TopScreen, AnErrorIsShownBeforeALongAddress) {
  TopState state = state_with({});
  state.address = "unix:/" + std::string(100, 'x');
  state.sample.server = *StatsText::parse("---\ndraining: true\nmemory-full: 1\n");
  const ScreenLine line = draw_top(state, {}, {24, 60}, {})[0];
  EXPECT_NE(line.text().find(", DRAIN MODE, MEMORY FULL"), std::string::npos) << line.text();
  EXPECT_TRUE(line.has(Tone::alarm));
}

TEST(TopScreen, AQuestionStandsAboveTheTableAndKeepsItsEnd) {
  TopState state = state_with({std::string(200, 'x')});
  TopView view;
  std::string reason;
  view.question = Question::ask(Act::Kind::pause, state.sample.tubes[0], reason);
  ASSERT_TRUE(view.question);
  const std::string line = draw_top(state, view, {}, {})[5].text();
  EXPECT_TRUE(line.starts_with("..xxx")) << line;
  EXPECT_TRUE(line.ends_with(" 0 ends a pause)? _")) << line;
}

TEST(TopScreen, IdleTubesCanBeHidden) {
  TopState state = state_with({"sleepy", "busy", "waited-for"});
  state.sample.tubes[1].delayed = 1;
  state.sample.tubes[2].waiting = 1;
  TopView view;
  view.hides_idle = true;
  EXPECT_EQ(tubes_in_view(state, view).size(), 2U);
  EXPECT_EQ(text_of(draw_top(state, view, {}, {})).find("sleepy"), std::string::npos);
}

TEST(TopScreen, TroubleStandsAboveTheTableThatStays) {
  TopState state = state_with({"mail"});
  state.trouble = "cannot connect";
  const std::vector<ScreenLine> lines = draw_top(state, {}, {}, {});
  EXPECT_TRUE(lines[5].text().starts_with("cannot connect"));
  EXPECT_TRUE(lines[5].has(Tone::title));
  EXPECT_NE(text_of(lines).find("mail"), std::string::npos);
}

TEST(TopScreen, ABatchHasAllTubesInFull) {
  const TopState state = state_with({std::string(200, 'x'), "b"});
  const std::string text = batch_text(state, {});
  EXPECT_NE(text.find(std::string(200, 'x')), std::string::npos);
  const TopState one[] = {state_with({"b"})};
  const std::string json = batch_json(one, {});
  EXPECT_TRUE(json.starts_with(R"({"sum":{"rates":{"put":120.000,)")) << json;
  EXPECT_EQ(
      json.substr(json.find(R"("servers":)")),
      R"("servers":[{"address":"127.0.0.1:11300","rates":{"put":120.000,"reserve":null,"delete":null,)"
      R"("timeout":null,"commands":null,"connections":null,"cpu-percent":2.500},"server":{)" +
          state.sample.server.json_members() +
          R"(},"tubes":[{"name":"b","pause":0,"put-rate":null,"delete-rate":null}]}]})" + "\n");
}

TEST(TopScreen, WhyThereAreNoConnectionsIsSaid) {
  TopState state = state_with({"mail"});
  TopView view;
  view.clients.is_shown = true;
  const auto shown = [&](std::size_t row) {
    return draw_top(state, view, {10, 80}, {})[row].text();
  };
  EXPECT_TRUE(shown(6).starts_with("the server has not answered yet "));
  EXPECT_TRUE(shown(5).starts_with("c: back, h: help"));
  state.clients = SeenClients{.can_be_listed = false, .clients = {}};
  EXPECT_TRUE(shown(6).starts_with("the server does not know list-clients "));
  EXPECT_TRUE(shown(5).starts_with("c: back, h: help"));
  state.clients =
      SeenClients{.can_be_listed = true, .clients = {*StatsText::parse("---\nid: 7\n")}};
  EXPECT_TRUE(shown(5).starts_with("1 connection by jobs, c: back"));
  EXPECT_TRUE(shown(7).starts_with("     7 "));
  state.servers = 2;
  EXPECT_TRUE(shown(6).starts_with("this is the sum of several servers: select one"));
  state.trouble = "it is away";
  EXPECT_TRUE(shown(5).starts_with("it is away"));
}

}  // namespace
}  // namespace haricot::tool
