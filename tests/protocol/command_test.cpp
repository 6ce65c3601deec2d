#include "haricot/protocol/command.hpp"
#include "haricot/base/name_bytes.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/command_fields.hpp"

namespace haricot {

namespace {

using namespace std::string_view_literals;

using test::expect_all;
using test::expect_valid;
using test::Fields;
using test::fields_of;
using test::Valid;

const Valid kEachVerb[] = {
    {"put 1 2 3 4", {.verb = Verb::put, .priority = 1, .seconds = 2, .ttr_s = 3, .body_bytes = 4}},
    {"use tube", {.verb = Verb::use, .tube = "tube"}},
    {"reserve", {.verb = Verb::reserve}},
    {"reserve-with-timeout 9", {.verb = Verb::reserve_with_timeout, .seconds = 9}},
    {"reserve-job 9", {.verb = Verb::reserve_job, .id = 9}},
    {"delete 9", {.verb = Verb::delete_job, .id = 9}},
    {"release 9 8 7", {.verb = Verb::release, .priority = 8, .seconds = 7, .id = 9}},
    {"bury 9 8", {.verb = Verb::bury, .priority = 8, .id = 9}},
    {"touch 9", {.verb = Verb::touch, .id = 9}},
    {"watch tube", {.verb = Verb::watch, .tube = "tube"}},
    {"ignore tube", {.verb = Verb::ignore, .tube = "tube"}},
    {"peek 9", {.verb = Verb::peek, .id = 9}},
    {"peek-ready", {.verb = Verb::peek_ready}},
    {"peek-delayed", {.verb = Verb::peek_delayed}},
    {"peek-buried", {.verb = Verb::peek_buried}},
    {"kick 9", {.verb = Verb::kick, .bound = 9}},
    {"kick-job 9", {.verb = Verb::kick_job, .id = 9}},
    {"stats", {.verb = Verb::stats}},
    {"stats-job 9", {.verb = Verb::stats_job, .id = 9}},
    {"stats-tube tube", {.verb = Verb::stats_tube, .tube = "tube"}},
    {"list-tubes", {.verb = Verb::list_tubes}},
    {"list-tube-used", {.verb = Verb::list_tube_used}},
    {"list-tubes-watched", {.verb = Verb::list_tubes_watched}},
    {"pause-tube tube 9", {.verb = Verb::pause_tube, .seconds = 9, .tube = "tube"}},
    {"quit", {.verb = Verb::quit}},
    {"capabilities", {.verb = Verb::capabilities}},
    {"flush-tube tube buried",
     {.verb = Verb::flush_tube, .tube = "tube", .state = StateWord::buried}},
    {"scan-jobs 9 8 tube reserved",
     {.verb = Verb::scan_jobs, .bound = 8, .id = 9, .tube = "tube", .state = StateWord::reserved}},
    {"list-jobs tube ready 9",
     {.verb = Verb::list_jobs, .bound = 9, .tube = "tube", .state = StateWord::ready}},
    {"stats-tube-detail tube", {.verb = Verb::stats_tube_detail, .tube = "tube"}},
    {"stats-tubes tube 9", {.verb = Verb::stats_tubes, .bound = 9, .tube = "tube"}},
    {"reserve-batch 9 8",
     {.verb = Verb::reserve_batch, .seconds = 8, .bound = 9, .has_timeout = true}},
    {"delete-batch 9 8 7", {.verb = Verb::delete_batch, .ids = "9 8 7"}},
    {"watch tube 9", {.verb = Verb::watch_by_weight, .bound = 9, .tube = "tube"}},
    {"reserve-mode weighted", {.verb = Verb::reserve_mode, .is_weighted = true}},
    {"drain", {.verb = Verb::drain}},
    {"undrain", {.verb = Verb::undrain}},
    {"flush-buried tube", {.verb = Verb::flush_buried, .tube = "tube"}},
    {"touch-all", {.verb = Verb::touch_all}},
    {"reserve-with-abort", {.verb = Verb::reserve_with_abort}},
    {"stats-group -g", {.verb = Verb::stats_group, .tube = "-g"}},
    {"wait-job 9 8", {.verb = Verb::wait_job, .seconds = 8, .id = 9}},
    {"list-clients 9 8", {.verb = Verb::list_clients, .bound = 8, .id = 9}},
    {"note 9 8", {.verb = Verb::note, .body_bytes = 8, .id = 9}},
    {"peek-note 9", {.verb = Verb::peek_note, .id = 9}},
};

TEST(ParseCommand, EveryVerbIsReadWithItsArguments) {
  std::set<Verb> verbs;
  for (const Valid& row : kEachVerb) {
    expect_valid(row);
    verbs.insert(row.fields.verb);
  }
  EXPECT_EQ(verbs.size(), kVerbs);
}

TEST(ParseCommand, NumbersReachToTheEndOfTheirRange) {
  const Valid rows[] = {
      {"put 4294967295 4294967295 4294967295 4294967295",
       {.verb = Verb::put,
        .priority = 4294967295,
        .seconds = 4294967295,
        .ttr_s = 4294967295,
        .body_bytes = 4294967295}},
      {"put 0 0 0 0", {.verb = Verb::put}},
      {"delete 18446744073709551615", {.verb = Verb::delete_job, .id = 18446744073709551615u}},
      {"delete 0", {.verb = Verb::delete_job}},
      {"release 18446744073709551615 4294967295 4294967295",
       {.verb = Verb::release,
        .priority = 4294967295,
        .seconds = 4294967295,
        .id = 18446744073709551615u}},
      {"pause-tube t 4294967295", {.verb = Verb::pause_tube, .seconds = 4294967295, .tube = "t"}},
      {"reserve-with-timeout 2147483647",
       {.verb = Verb::reserve_with_timeout, .seconds = 2147483647}},
      {"put 007 0000000000000000000000001 01 00",
       {.verb = Verb::put, .priority = 7, .seconds = 1, .ttr_s = 1}},
      {"touch 0000000000000000000000000000000009", {.verb = Verb::touch, .id = 9}},
      {"wait-job 18446744073709551615 4294967295",
       {.verb = Verb::wait_job, .seconds = 4294967295, .id = 18446744073709551615u}},
  };
  for (const Valid& row : rows) expect_valid(row);
}

TEST(ParseCommand, ANumberOutOfRangeIsBadFormat) {
  expect_all(
      {
          "put 4294967296 0 0 0",
          "put 0 4294967296 0 0",
          "put 0 0 4294967296 0",
          "put 0 0 0 4294967296",
          "put 0 0 0 99999999999999999999999999",
          "delete 18446744073709551616",
          "release 1 4294967296 0",
          "release 1 0 4294967296",
          "bury 1 4294967296",
          "wait-job 1 4294967296",
          "wait-job 18446744073709551616 1",
          "bury 18446744073709551616 1",
          "reserve-with-timeout 2147483648",
          "reserve-with-timeout 4294967295",
          "reserve-with-timeout 4294967296",
          "pause-tube t 4294967296",
          "kick 18446744073709551616",
      },
      ParseResult::bad_format);
}

TEST(ParseCommand, BlanksBeforeANumberAreSkipped) {
  const Valid rows[] = {
      {"put  0   0 9    1", {.verb = Verb::put, .ttr_s = 9, .body_bytes = 1}},
      {"delete    5", {.verb = Verb::delete_job, .id = 5}},
      {"release  5  6  7", {.verb = Verb::release, .priority = 6, .seconds = 7, .id = 5}},
      {"reserve-with-timeout   5", {.verb = Verb::reserve_with_timeout, .seconds = 5}},
      {"pause-tube   t   5", {.verb = Verb::pause_tube, .seconds = 5, .tube = "t"}},
  };
  for (const Valid& row : rows) expect_valid(row);
}

TEST(ParseCommand, OtherThanDigitsIsNoNumber) {
  expect_all(
      {
          "put -1 0 0 0",
          "put +1 0 0 0",
          "put 0 0 0 x",
          "put 0 0 0x1 0",
          "put \t0 0 0 0",
          "put 0\t0 0 0",
          "put 0,0,0,0",
          "put 1.5 0 0 0",
          "delete -1",
          "delete +1",
          "delete x",
          "delete 0x10",
          "delete \t5",
          "peek \v5",
          "touch 1e3",
          "reserve-job one",
          "kick-job -1",
          "stats-job +1",
          "bury 1 -1",
          "release 1 -1 0",
          "release 1 0 -1",
          "pause-tube t -1",
          "pause-tube t x",
          "reserve-with-timeout x",
          "pause-tube t +1",
          "reserve-with-timeout -1",
          "reserve-with-timeout +1",
          "reserve-with-timeout \t0",
      },
      ParseResult::bad_format);
}

TEST(ParseCommand, AMissingArgumentIsBadFormat) {
  expect_all(
      {
          "put ",         "put 0",        "put 0 0",       "put 0 0 0",    "put 0 0 0 ",
          "delete ",      "delete   ",    "release ",      "release 1",    "release 1 2",
          "release 1 2 ", "bury ",        "bury 1",        "bury 1 ",      "touch ",
          "peek ",        "kick ",        "kick   ",       "kick-job ",    "stats-job ",
          "stats-tube ",  "use ",         "watch ",        "ignore ",      "pause-tube",
          "pause-tube ",  "pause-tube t", "pause-tube t ", "reserve-job ", "reserve-with-timeout ",
      },
      ParseResult::bad_format);
}

TEST(ParseCommand, AnythingBehindTheLastArgumentIsBadFormat) {
  expect_all(
      {
          "delete 1 ",        "delete 1 2",     "delete 1x",      "release 1 2 3 ",
          "release 1 2 3 4",  "bury 1 2 ",      "bury 1 2 3",     "touch 1 ",
          "peek 1 ",          "peek 1\r",       "kick-job 1 ",    "kick-job 1 1",
          "stats-job 1 1",    "stats-tube a ",  "stats-tube a b", "use a ",
          "use a b",          "watch a ",       "ignore a b",     "pause-tube a 1 ",
          "pause-tube a 1 2", "reserve-job 1 ",
      },
      ParseResult::bad_format);
}

TEST(ParseCommand, AnythingMayStandBehindTheDigitsOfATimeout) {
  for (const std::string_view tail :
       {" ", "\t", "x", ",5", ".5", ".", " 7", "-", "+1", "e3", "\xff"}) {
    const std::string line = "reserve-with-timeout 2" + std::string(tail);
    expect_valid({line, {.verb = Verb::reserve_with_timeout, .seconds = 2}});
  }
  expect_all({"reserve-with-timeout 2147483648.5", "reserve-with-timeout 99999999999 ",
              "reserve-with-timeout .5", "reserve-with-timeout ,5", "reserve-with-timeout 2\0"sv,
              "reserve-with-timeout 2 \0"sv},
             ParseResult::bad_format);
}

TEST(ParseCommand, APutWithAnythingBehindItsNumbersIsNoticedLate) {
  for (const std::string_view tail : {" ", "\t", "x", ",", ".5", " 1", " x", "-", "\n", "\xff"}) {
    const std::string line = "put 1 2 3 4" + std::string(tail);
    Command command;
    EXPECT_EQ(parse_command(line, command), ParseResult::late_bad_format) << line;
    EXPECT_EQ(fields_of(command),
              (Fields{.verb = Verb::put, .priority = 1, .seconds = 2, .ttr_s = 3, .body_bytes = 4}))
        << line;
  }
  expect_all({"put 1 2 3 4\0"sv, "put 1 2 3 4 x\0"sv, "put 1 2 3 4294967296 x", "put 1 2x 3 4 5",
              "put 1 2 3 x 5"},
             ParseResult::bad_format);
}

TEST(ParseCommand, APauseWithABadNameIsNoticedLate) {
  const std::string too_long = "pause-tube " + std::string(201, 'x') + " 1";
  for (const std::string_view line :
       {"pause-tube -a 1"sv, "pause-tube - 1"sv, "pause-tube -1 1"sv, "pause-tube-a 1"sv,
        "pause-tube  -a  1"sv, "pause-tube -a 4294967295"sv, std::string_view(too_long)}) {
    Command command;
    EXPECT_EQ(parse_command(line, command), ParseResult::late_bad_format) << line;
    EXPECT_EQ(command.verb, Verb::pause_tube) << line;
  }
  expect_all(
      {"pause-tube -a", "pause-tube -a ", "pause-tube -a x", "pause-tube -a 1 ", "pause-tube -a 1x",
       "pause-tube -a 4294967296", "pause-tube -a*b 1", "pause-tube -a\t1", "pause-tube 1",
       "pause-tube  1", "pause-tube -a\0 1"sv, "pause-tube -a 1\0"sv, "use -a", "stats-tube -a"},
      ParseResult::bad_format);
}

TEST(ParseCommand, ABadTubeNameIsBadFormat) {
  const std::string too_long = "use " + std::string(201, 'x');
  expect_all({"use -a", "use a*b", "use  a", "watch a\tb", "ignore \xe4", "stats-tube a:b",
              "pause-tube a*b 0", "stats-tube  a", too_long},
             ParseResult::bad_format);
}

TEST(ParseCommand, ATubeNameOfTheGreatestLengthIsTaken) {
  const std::string name(kTubeNameBytesMax, 'x');
  const std::string line = "pause-tube " + name + " 3";
  expect_valid({line, {.verb = Verb::pause_tube, .seconds = 3, .tube = name}});
}

TEST(ParseCommand, ATubeNamePointsIntoTheLine) {
  const std::string line = "use tube";
  Command command;
  ASSERT_EQ(parse_command(line, command), ParseResult::ok);
  EXPECT_EQ(command.tube.data(), line.data() + 4);
}

// A word without an argument matches as a prefix, so text after it is garbage.
TEST(ParseCommand, AWordWithGarbageBehindItIsBadFormat) {
  expect_all(
      {
          "reserve ",
          "reserve x",
          "reservex",
          "reserve-",
          "reserve-with",
          "reserve-with-timeout",
          "reserve-with-timeout\t1",
          "reserve-job",
          "stats ",
          "stats x",
          "statsx",
          "stats-",
          "stats-job",
          "stats-jobx",
          "stats-tube",
          "stats-tubes x",
          "list-tubes ",
          "list-tubesx",
          "list-tubes-",
          "list-tube-used ",
          "list-tube-usedx",
          "list-tubes-watched ",
          "list-tubes-watchedx",
          "list-tubes-watche",
          "peek-ready ",
          "peek-readyx",
          "peek-delayed 1",
          "peek-buriedx",
      },
      ParseResult::bad_format);
}

TEST(ParseCommand, AnUnmatchedWordIsUnknown) {
  expect_all(
      {
          "",
          " ",
          "put",
          "delete",
          "release",
          "bury",
          "touch",
          "peek",
          "kick",
          "kick-job",
          "use",
          "watch",
          "ignore",
          "qui",
          "q",
          " quit",
          " reserve",
          " put 0 0 1 1",
          "PUT 0 0 1 1",
          "Stats",
          "RESERVE",
          "peek-",
          "peek5",
          "peek-read",
          "list-tube",
          "list",
          "list-",
          "reserv",
          "stat",
          "pause",
          "pause-",
          "pause-tub",
          "kick\t1",
          "kickx",
          "delete5",
          "put\t0 0 1 1",
          "usetube",
          "watchdog",
          "\r",
          "\xff",
          "\x80put",
          "help",
          "version",
          "putx 0 0 1 1",
      },
      ParseResult::unknown_command);
}

TEST(ParseCommand, ALineWithANulIsBadFormat) {
  expect_all({"\0"sv, "quit\0"sv, "\0quit"sv, "stats\0"sv, "use a\0b"sv, "delete 1\0"sv,
              "no such command\0"sv, "put 0 0\0 1 1"sv, "kick 1\0"sv},
             ParseResult::bad_format);
}

TEST(ParseCommand, ALoneCarriageReturnOrLineFeedIsAnOrdinaryCharacter) {
  expect_all({"stats\r", "stats\n", "use a\rb", "use a\n", "delete 1\n"}, ParseResult::bad_format);
  expect_all({"\n", "\rstats", "\nstats"}, ParseResult::unknown_command);
}

TEST(ParseCommand, PauseTubeNeedsNoBlankBeforeTheName) {
  expect_valid({"pause-tubet 5", {.verb = Verb::pause_tube, .seconds = 5, .tube = "t"}});
}

TEST(ParseCommand, QuitIgnoresTrailingText) {
  for (const std::string_view line : {"quit", "quitx", "quit ", "quit now"}) {
    expect_valid({line, {.verb = Verb::quit}});
  }
}

TEST(ParseCommand, TheBoundOfAKickIsReadLikeStrtoulDoes) {
  struct Row {
    std::string_view line;
    std::uint32_t bound;
  };
  const Row rows[] = {
      {"kick 0", 0},
      {"kick 10", 10},
      {"kick   10", 10},
      {"kick \t1", 1},
      {"kick \n\v\f\r 1", 1},
      {"kick +1", 1},
      {"kick -1", 4294967295},
      {"kick -0", 0},
      {"kick 0x10", 0},
      {"kick 1x", 1},
      {"kick 1 1", 1},
      {"kick 1 ", 1},
      {"kick 007", 7},
      {"kick 4294967295", 4294967295},
      {"kick 4294967296", 0},
      {"kick 4294967297", 1},
      {"kick 18446744073709551615", 4294967295},
      {"kick -18446744073709551615", 1},
  };
  for (const Row& row : rows) {
    expect_valid({row.line, {.verb = Verb::kick, .bound = row.bound}});
  }
  expect_all({"kick x", "kick -", "kick +", "kick +-1", "kick --1", "kick - 1", "kick .5"},
             ParseResult::bad_format);
}

// Bytes in a line neither end the program nor make it read beyond the end.
TEST(ParseCommand, AnyByteAnywhereInAnyCommandHasAResult) {
  for (const std::string_view line :
       {"put 1 2 3 4"sv, "pause-tube t 1"sv, "kick 1"sv, "release 1 2 3"sv, "watch tube"sv}) {
    for (std::size_t index = 0; index < line.size(); ++index) {
      for (int value = 0; value < 256; ++value) {
        std::string changed(line);
        changed[index] = static_cast<char>(value);
        Command command;
        const ParseResult result = parse_command(changed, command);
        if (value == 0) {
          ASSERT_EQ(result, ParseResult::bad_format);
        }
        if (changed == line) {
          ASSERT_EQ(result, ParseResult::ok);
        }
      }
    }
  }
}

TEST(ParseCommand, EveryBeginningOfACommandHasAResult) {
  const std::string line = "reserve-with-timeout 12";
  for (std::size_t length = 0; length <= line.size(); ++length) {
    // A copy of exactly this length, so that a sanitizer detects reads beyond its end.
    const std::vector<char> exact(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(length));
    Command command;
    const ParseResult result = parse_command({exact.data(), exact.size()}, command);
    ParseResult expected = ParseResult::unknown_command;
    if (length == 7 || length > 21) expected = ParseResult::ok;
    if (length > 7 && length <= 21) expected = ParseResult::bad_format;
    EXPECT_EQ(static_cast<int>(result), static_cast<int>(expected)) << length;
  }
}

// Clients and monitors use the line numbers of `stats`.
TEST(Commands, HaveTheCountersOfBeanstalkdInTheirOrder) {
  std::string counters;
  for (const CommandRow& row : kCommandTable) {
    if (!row.counter.empty()) counters.append(row.counter.substr(4)) += ' ';
  }
  EXPECT_EQ(counters,
            "put peek peek-ready peek-delayed peek-buried reserve reserve-with-timeout delete "
            "release use watch ignore bury kick touch stats stats-job stats-tube list-tubes "
            "list-tube-used list-tubes-watched pause-tube ");
}

TEST(Commands, AreFoundByTheirWords) {
  for (const CommandRow& row : kCommandTable) {
    Command command;
    parse_command(std::string(row.word), command);
    // Two commands have the word `watch`: the text after the tube distinguishes them.
    if (row.word != "watch ") {
      EXPECT_EQ(command.verb, row.verb) << row.word;
    }
    EXPECT_EQ(row_of(row.verb).word, row.word);
    EXPECT_FALSE(row.help.empty()) << row.word;
  }
}

std::string text_of(const std::string& page) {
  std::ifstream file(HARICOT_DOCS "/" + page);
  return {std::istreambuf_iterator<char>(file), {}};
}

// beanstalkd's commands have a page of their own.
TEST(Commands, AreAllInTheirDocumentAsTheyAreWritten) {
  const std::string standard = text_of("protocol.md");
  const std::string extended = text_of("beyond.md");
  for (const CommandRow& row : kCommandTable) {
    const std::string& text = row.set == CommandSet::standard ? standard : extended;
    const std::string usage = std::string(row.name()).append(names_of(row.arguments));
    EXPECT_NE(text.find("`" + usage + "`"), std::string::npos) << usage;
  }
}

}  // namespace
}  // namespace haricot
