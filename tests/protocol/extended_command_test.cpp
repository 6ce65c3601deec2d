// Commands that beanstalkd does not have, and the sets that include them.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/protocol/command.hpp"
#include "protocol/command_fields.hpp"

namespace haricot {

namespace {

using namespace std::string_view_literals;
using test::expect_all;
using test::expect_valid;
using test::Valid;

TEST(ParseExtendedCommand, AcceptsMissingOptionalParts) {
  const Valid rows[] = {
      {"flush-tube t", {.verb = Verb::flush_tube, .tube = "t"}},
      {"flush-tube t ready", {.verb = Verb::flush_tube, .tube = "t", .state = StateWord::ready}},
      {"flush-tube t delayed",
       {.verb = Verb::flush_tube, .tube = "t", .state = StateWord::delayed}},
      {"scan-jobs 0 1", {.verb = Verb::scan_jobs, .bound = 1}},
      {"scan-jobs 18446744073709551615 1000",
       {.verb = Verb::scan_jobs, .bound = 1000, .id = 18446744073709551615u}},
      {"scan-jobs  5   6", {.verb = Verb::scan_jobs, .bound = 6, .id = 5}},
      {"scan-jobs 5 6 t", {.verb = Verb::scan_jobs, .bound = 6, .id = 5, .tube = "t"}},
      {"scan-jobs 5 6 t buried",
       {.verb = Verb::scan_jobs, .bound = 6, .id = 5, .tube = "t", .state = StateWord::buried}},
      // A tube may be named like a state.
      {"scan-jobs 5 6 ready", {.verb = Verb::scan_jobs, .bound = 6, .id = 5, .tube = "ready"}},
      {"flush-tube ready ready",
       {.verb = Verb::flush_tube, .tube = "ready", .state = StateWord::ready}},
      {"list-jobs t delayed 1",
       {.verb = Verb::list_jobs, .bound = 1, .tube = "t", .state = StateWord::delayed}},
      {"list-jobs t buried  1000",
       {.verb = Verb::list_jobs, .bound = 1000, .tube = "t", .state = StateWord::buried}},
      {"list-jobs t reserved 1",
       {.verb = Verb::list_jobs, .bound = 1, .tube = "t", .state = StateWord::reserved}},
      {"stats-tube-detail t", {.verb = Verb::stats_tube_detail, .tube = "t"}},
      {"stats-tubes * 1", {.verb = Verb::stats_tubes, .bound = 1, .tube = "*"}},
      {"list-clients 0 1", {.verb = Verb::list_clients, .bound = 1}},
      {"list-clients  18446744073709551615  1000",
       {.verb = Verb::list_clients, .bound = 1000, .id = 18446744073709551615u}},
      {"stats-tubes t  1000", {.verb = Verb::stats_tubes, .bound = 1000, .tube = "t"}},
      {"reserve-batch 1", {.verb = Verb::reserve_batch, .bound = 1}},
      {"reserve-batch 1000", {.verb = Verb::reserve_batch, .bound = 1000}},
      {"reserve-batch 001", {.verb = Verb::reserve_batch, .bound = 1}},
      {"reserve-batch 2 0", {.verb = Verb::reserve_batch, .bound = 2, .has_timeout = true}},
      {"reserve-batch  2  2147483647",
       {.verb = Verb::reserve_batch, .seconds = 2147483647, .bound = 2, .has_timeout = true}},
      {"watch t 1", {.verb = Verb::watch_by_weight, .bound = 1, .tube = "t"}},
      {"watch t  65535", {.verb = Verb::watch_by_weight, .bound = 65535, .tube = "t"}},
      {"watch t", {.verb = Verb::watch, .tube = "t"}},
      {"reserve-mode fifo", {.verb = Verb::reserve_mode}},
      {"delete-batch 1", {.verb = Verb::delete_batch, .ids = "1"}},
      {"delete-batch   1  1 0", {.verb = Verb::delete_batch, .ids = "  1  1 0"}},
  };
  for (const Valid& row : rows) expect_valid(row);
}

TEST(ParseExtendedCommand, AMissingArgumentIsBadFormat) {
  expect_all({"flush-tube ",        "flush-tube  ",       "scan-jobs ",      "scan-jobs 1",
              "scan-jobs 1 ",       "list-jobs ",         "list-jobs t",     "list-jobs t ",
              "list-jobs t ready",  "list-jobs t ready ", "list-jobs t 5",   "list-jobs ready 5",
              "stats-tube-detail ", "stats-tubes ",       "stats-tubes *",   "stats-tubes * ",
              "list-clients ",      "list-clients 1",     "list-clients 1 ", "stats-tubes 5",
              "reserve-batch ",     "reserve-batch   ",   "delete-batch ",   "delete-batch   "},
             ParseResult::bad_format);
}

TEST(ParseExtendedCommand, AnythingBehindTheLastArgumentIsBadFormat) {
  for (const std::string_view line :
       {"capabilities", "flush-tube t ready", "scan-jobs 1 1", "scan-jobs 1 1 t ready",
        "list-jobs t ready 1", "list-clients 1 1", "stats-tubes t 1", "stats-tubes * 1",
        "reserve-batch 1", "reserve-batch 1 1", "delete-batch 1", "drain", "undrain"}) {
    for (const std::string_view tail : {" "sv, "  "sv, "\t"sv, "x"sv, ","sv, ".5"sv, "-"sv, " x*"sv,
                                        " -1"sv, "\r"sv, "\n"sv, "\xff"sv, "\0"sv}) {
      const std::string with_tail = std::string(line).append(tail);
      Command command;
      EXPECT_EQ(static_cast<int>(parse_command(with_tail, command)),
                static_cast<int>(ParseResult::bad_format))
          << "'" << with_tail << "'";
    }
  }
  expect_all({"capabilities 1", "flush-tube t ready 1", "flush-tube t ready ready",
              "scan-jobs 1 1 t ready 1", "list-jobs t ready 1 1", "reserve-batch 1 1 1",
              "drain now", "undrain now"},
             ParseResult::bad_format);
}

TEST(ParseExtendedCommand, ANumberOutOfRangeIsBadFormat) {
  expect_all({"list-clients 1 0",
              "list-clients 1 1001",
              "list-clients 18446744073709551616 1",
              "scan-jobs 1 0",
              "scan-jobs 1 1001",
              "scan-jobs 1 4294967296",
              "scan-jobs 1 4294967297",
              "scan-jobs 18446744073709551616 1",
              "list-jobs t ready 0",
              "list-jobs t ready 1001",
              "list-jobs t ready 4294967297",
              "stats-tubes * 0",
              "stats-tubes * 1001",
              "stats-tubes t 4294967297",
              "reserve-batch 0",
              "reserve-batch 1001",
              "reserve-batch 4294967297",
              "reserve-batch 1 2147483648",
              "reserve-batch 1 4294967296",
              "delete-batch 18446744073709551616",
              "delete-batch 1 18446744073709551616 2"},
             ParseResult::bad_format);
}

TEST(ParseExtendedCommand, AWeightIsFromOneToTheLargest) {
  expect_all({"watch t 0", "watch t 65536", "watch t 4294967297", "watch t x", "watch t 1 ",
              "watch t 1 1", "watch -t 1", "watch t ", "watch  t 1", "watch t 1.5"},
             ParseResult::bad_format);
}

TEST(ParseExtendedCommand, AModeIsOneOfTwoWords) {
  expect_all({"reserve-mode ", "reserve-mode", "reserve-mode f", "reserve-mode fifo ",
              "reserve-mode FIFO", "reserve-mode weighted x", "reserve-mode  fifo"},
             ParseResult::bad_format);
}

TEST(ParseExtendedCommand, OtherThanDigitsIsNoNumber) {
  expect_all(
      {"scan-jobs -1 1",      "scan-jobs +1 1",      "scan-jobs x 1",        "scan-jobs 1 -1",
       "scan-jobs 1 x",       "scan-jobs 1\t1",      "list-jobs t ready -1", "list-jobs t ready x",
       "reserve-batch -1",    "reserve-batch x",     "reserve-batch 1 x",    "reserve-batch 1 -1",
       "reserve-batch 1 1.5", "reserve-batch 1,1",   "delete-batch x",       "delete-batch 1,2",
       "delete-batch 1 -2",   "delete-batch 1 2x 3", "delete-batch 1\t2",    "delete-batch 0x10"},
      ParseResult::bad_format);
}

TEST(ParseExtendedCommand, ABadNameOrStateIsBadFormat) {
  const std::string too_long(201, 'x');
  expect_all({"flush-tube -a",
              "flush-tube a*b",
              "flush-tube  a",
              "flush-tube a  ready",
              "flush-tube a reserved",
              "flush-tube a READY",
              "flush-tube a readyx",
              "flush-tube a read",
              "flush-tube a ready,buried",
              "scan-jobs 1 1 -a",
              "scan-jobs 1 1  a",
              "scan-jobs 1 1 a*",
              "scan-jobs 1 1 a x",
              "scan-jobs 1 1 a  ready",
              "scan-jobs 1 1 a Ready",
              "list-jobs -a ready 1",
              "list-jobs  a ready 1",
              "list-jobs a none 1",
              "list-jobs a x 1",
              "list-jobs a  ready 1",
              "stats-tube-detail -a",
              "stats-tube-detail *",
              "stats-tube-detail  a",
              "stats-tube-detail a b",
              "stats-group *",
              "stats-group  a",
              "stats-group a b",
              "stats-group " + std::string(101, 'g'),
              "stats-tubes -a 1",
              "stats-tubes  a 1",
              "stats-tubes ** 1",
              "stats-tubes a* 1",
              "stats-tubes " + too_long + " 1",
              "flush-tube " + too_long,
              "scan-jobs 1 1 " + too_long,
              "list-jobs " + too_long + " ready 1"},
             ParseResult::bad_format);
}

TEST(ParseExtendedCommand, ALineWithANulIsBadFormat) {
  expect_all({"capabilities\0"sv, "flush-tube t\0"sv, "flush-tube t ready\0"sv,
              "flush-tube t\0 ready"sv, "scan-jobs 1\0 1"sv, "list-jobs t ready 1\0"sv,
              "reserve-batch 1\0"sv, "delete-batch 1\0 2"sv, "drain\0"sv, "flush\0"sv},
             ParseResult::bad_format);
}

TEST(ParseExtendedCommand, AWordWithoutItsBlankIsNoneOfThem) {
  expect_all({"flush-tube", "flush-tubet", "flush", "scan-jobs", "scan-jobs1 1", "list-jobs",
              "list-jobst ready 1", "delete-batch", "delete-batch1", "delete-", "dra", "undrai",
              "capabilitie", "CAPABILITIES", " drain"},
             ParseResult::unknown_command);
  // It begins with reserve, or with stats.
  expect_all(
      {"stats-tube-detail", "stats-tubes", "stats-group", "stats-tube-detailed a", "reserve-batch",
       "reserve-batch1", "reserve-batc", "capabilitiesx", "drainx", "undrainx"},
      ParseResult::bad_format);
}

TEST(ParseExtendedCommand, TakesAsManyIdsAsABatchMayHave) {
  std::string line = "delete-batch";
  for (std::uint32_t i = 0; i < kBatchMax; ++i) line += " 18446744073709551615";
  EXPECT_LT(line.size(), kBatchLineBytesMax);
  Command command;
  ASSERT_EQ(parse_command(line, command), ParseResult::ok);
  std::array<std::uint64_t, kBatchMax> ids{};
  EXPECT_EQ(read_ids(command.ids, ids), kBatchMax);
  EXPECT_EQ(ids[0], 18446744073709551615u);
  EXPECT_EQ(ids[kBatchMax - 1], 18446744073709551615u);
  EXPECT_EQ(parse_command(line + " 1", command), ParseResult::bad_format);
}

TEST(ParseExtendedCommand, TheIdsAreReadInTheirOrder) {
  Command command;
  ASSERT_EQ(parse_command("delete-batch 7  007 3 0", command), ParseResult::ok);
  std::array<std::uint64_t, kBatchMax> ids{};
  ASSERT_EQ(read_ids(command.ids, ids), 4U);
  EXPECT_EQ(std::vector<std::uint64_t>(ids.begin(), ids.begin() + 4),
            (std::vector<std::uint64_t>{7, 7, 3, 0}));
}

TEST(ParseExtendedCommand, AnyByteAnywhereHasAResult) {
  for (const std::string_view line : {"scan-jobs 1 2 t ready"sv, "delete-batch 1 22"sv,
                                      "reserve-batch 1 2"sv, "list-jobs t ready 5"sv}) {
    for (std::size_t index = 0; index < line.size(); ++index) {
      for (int value = 0; value < 256; ++value) {
        std::string changed(line);
        changed[index] = static_cast<char>(value);
        // A copy of exactly this length, so that a sanitizer detects reads beyond its end.
        const std::vector<char> exact(changed.begin(), changed.end());
        Command command;
        const ParseResult result = parse_command({exact.data(), exact.size()}, command);
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

void expect_in_set(CommandSet set, std::string_view line, ParseResult result) {
  Command command;
  EXPECT_EQ(static_cast<int>(parse_command(line, command, set)), static_cast<int>(result))
      << "'" << line << "' in set " << static_cast<int>(set);
}

// Lines that are shorter than a word, as long, or longer, and that differ from the word in one
// byte. The answers to unknown lines are beanstalkd's.
TEST(CommandSets, ALineIsKnownExactlyIfItBeginsWithAWord) {
  const auto is_known = [](std::string_view line) {
    return std::ranges::any_of(kCommandTable,
                               [&](const CommandRow& row) { return line.starts_with(row.word); });
  };
  for (const CommandRow& row : kCommandTable) {
    const std::string longest = std::string(row.word) + "1 2 3";
    for (std::size_t bytes = 0; bytes <= longest.size(); ++bytes) {
      for (std::size_t changed = 0; changed <= bytes; ++changed) {
        std::string line = longest.substr(0, bytes);
        if (changed < bytes) line[changed] = static_cast<char>(line[changed] ^ 1);
        // A copy of exactly this length, so that a sanitizer detects reads beyond its end.
        const std::vector<char> exact(line.begin(), line.end());
        Command command;
        const ParseResult result = parse_command({exact.data(), exact.size()}, command);
        ASSERT_EQ(result != ParseResult::unknown_command, is_known(line)) << line;
      }
    }
  }
}

TEST(CommandSets, TheStandardOneHasOnlyCommandsOfBeanstalkd) {
  for (const std::string_view line :
       {"capabilities", "flush-tube t", "scan-jobs 1 1", "delete-batch 1", "drain", "undrain",
        "list-jobs t ready 1", "flush-tube", "drainx", "delete-batch x"}) {
    expect_in_set(CommandSet::standard, line, ParseResult::unknown_command);
  }
  // It begins with reserve.
  expect_in_set(CommandSet::standard, "reserve-batch 3", ParseResult::bad_format);
  expect_in_set(CommandSet::standard, "drain\0"sv, ParseResult::bad_format);
  for (const std::string_view line : {"put 1 2 3 4", "reserve", "delete 1", "list-tubes", "quit",
                                      "stats", "reserve-with-timeout 3", "use drain"}) {
    for (const CommandSet set :
         {CommandSet::standard, CommandSet::extended, CommandSet::operators}) {
      expect_in_set(set, line, ParseResult::ok);
    }
  }
}

TEST(CommandSets, TheExtendedOneHasAllButTheOperatorsCommands) {
  for (const std::string_view line : {"capabilities", "flush-tube t", "scan-jobs 1 1",
                                      "delete-batch 1", "list-jobs t ready 1", "reserve-batch 3"}) {
    expect_in_set(CommandSet::extended, line, ParseResult::ok);
    expect_in_set(CommandSet::operators, line, ParseResult::ok);
  }
  for (const std::string_view line : {"drain", "undrain", "drainx", "drain x"}) {
    expect_in_set(CommandSet::extended, line, ParseResult::unknown_command);
  }
  expect_in_set(CommandSet::operators, "drain", ParseResult::ok);
  expect_in_set(CommandSet::operators, "undrain", ParseResult::ok);
}

TEST(PutWithTags, IsReadOnceWithItsTags) {
  Command command;
  ASSERT_EQ(parse_command("put 1 2 3 4 idp:key con:lane:2 try:3", command), ParseResult::ok);
  EXPECT_EQ(command.tags, "idp:key con:lane:2 try:3");
  ASSERT_TRUE(command.read_tags.has_value());
  EXPECT_EQ(command.read_tags->unique_key, "key");
  EXPECT_EQ(command.read_tags->lane, "lane");
  EXPECT_EQ(command.read_tags->lane_limit, 2U);
  EXPECT_EQ(command.read_tags->tries, 3U);
  EXPECT_EQ(command.read_tags->tombstone_s, 0U);
  ASSERT_EQ(parse_command("put 1 2 3 4 idp:key:60", command), ParseResult::ok);
  EXPECT_EQ(command.read_tags->unique_key, "key");
  EXPECT_EQ(command.read_tags->tombstone_s, 60U);
  for (const std::string_view line :
       {"put 1 2 3 4", "put 1 2 3 4 idp:", "put 1 2 3 4 idp:k:0", "put 1 2 3 4 idp:k idp:k"}) {
    Command other;
    (void)parse_command(line, other);
    EXPECT_FALSE(other.read_tags.has_value()) << line;
  }
}

// A command of a larger set does not change the lines of a smaller one, unless it is that command.
TEST(CommandSets, EveryWordIsFoundInItsSetAndInTheLargerOnes) {
  for (const CommandRow& row : kCommandTable) {
    for (std::size_t set = 0; set < kCommandSets; ++set) {
      Command command;
      command.verb = Verb::quit;
      parse_command(row.word, command, static_cast<CommandSet>(set));
      if (row.word == "watch ") continue;  // Two commands have it.
      const bool is_found = command.verb == row.verb;
      EXPECT_EQ(is_found, row.verb == Verb::quit || row.set <= static_cast<CommandSet>(set))
          << row.word << " in set " << set;
    }
  }
}

}  // namespace
}  // namespace haricot
