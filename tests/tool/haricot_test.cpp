// Tests the tool's own command line: subcommands, help, errors.

#include <gtest/gtest.h>

#include <string>

#include "tool_fixture.hpp"

namespace haricot::test {
namespace {

class HaricotTool : public ToolTest {};

TEST_F(HaricotTool, HelpNamesTheSubcommands) {
  const Ending ending = run_tool({"--help"});
  EXPECT_EQ(ending.status.code, 0);
  EXPECT_NE(ending.output.find("\n  bench "), std::string::npos) << ending.output;
  EXPECT_EQ(ending.error, "");
}

TEST_F(HaricotTool, EachSubcommandHasItsOwnHelp) {
  const Ending ending = run_tool({"bench", "--help"});
  EXPECT_EQ(ending.status.code, 0);
  EXPECT_TRUE(ending.output.starts_with("Use: haricot bench ")) << ending.output;
}

TEST_F(HaricotTool, HelpIsASubcommandToo) {
  EXPECT_EQ(run_tool({"help"}).output, run_tool({"--help"}).output);
  EXPECT_EQ(run_tool({"help", "help"}).output, run_tool({"-h"}).output);
  for (const char* name : {"put", "bench", "binlog"}) {
    const Ending ending = run_tool({"help", name});
    EXPECT_EQ(ending.status.code, 0);
    EXPECT_EQ(ending.output, run_tool({name, "--help"}).output);
  }
  EXPECT_EQ(run_tool({"--help", "put"}).output, run_tool({"put", "--help"}).output);
}

TEST_F(HaricotTool, TheVersionIsOneLine) {
  const Ending ending = run_tool({"--version"});
  EXPECT_EQ(ending.status.code, 0);
  EXPECT_TRUE(ending.output.starts_with("haricot ")) << ending.output;
  EXPECT_EQ(ending.output.find('\n'), ending.output.size() - 1);
}

TEST_F(HaricotTool, MistakesEndWithStatusFiveAndSayWhich) {
  const struct {
    std::vector<std::string> words;
    const char* complaint;
  } cases[] = {
      {{}, "Use: haricot [OPTIONS] SUBCOMMAND"},
      {{"brew"}, "unknown subcommand: brew\n"},
      {{"tubse"}, "unknown subcommand: tubse (did you mean tubes?)\n"},
      {{"info"}, "unknown subcommand: info (did you mean stats?)\n"},
      {{"del", "5"}, "unknown subcommand: del (did you mean delete?)\n"},
      {{"-p", "11301", "ping"}, "unknown flag: -p (did you mean --address HOST:PORT?)"},
      {{"--host", "queue1", "ping"}, "unknown flag: --host (did you mean --address HOST:PORT?)"},
      {{"find", "x"}, "unknown subcommand: find (did you mean jobs --match TEXT?)"},
      {{"resume", "mail"}, "unknown subcommand: resume (did you mean pause TUBE 0?)"},
      {{"who"}, "unknown subcommand: who (did you mean clients?)"},
      {{"version"}, "unknown subcommand: version (did you mean --version?)"},
      {{"put", "--pri", "5", "x"}, "unknown flag: --pri (did you mean --priority?)"},
      {{"put", "--retries=5", "x"}, "unknown flag: --retries (did you mean --tries?)"},
      {{"hepl"}, "unknown subcommand: hepl (did you mean help?)\n"},
      {{"help", "tubse"}, "unknown subcommand: tubse (did you mean tubes?)\n"},
      {{"help", "put", "kick"}, "help takes one subcommand"},
      {{"--adress", "x", "tubes"}, "unknown flag: --adress (did you mean --address?)\n"},
      {{"--verison"}, "unknown flag: --verison (did you mean --version?)\n"},
      {{"-a"}, "-a needs a value"},
      {{"-a", "unix:/nowhere"}, "missing subcommand"},
      {{"-T", "5", "binlog"}, "binlog: flags must follow the subcommand"},
      {{"-T", "soon", "tubes"}, "-T: 'soon' is not a time"},
      {{"tubes", "--josn"}, "unknown flag: --josn (did you mean --json?)\n"},
      {{"--brew"}, "unknown flag: --brew"},
      {{"bench", "--brew"}, "unknown flag: --brew"},
      {{"bench", "-c", "many"}, "-c: 'many' is not a number"},
      {{"bench", "one", "two", "three"}, "more than two addresses: three"},
  };
  for (const auto& mistake : cases) {
    const Ending ending = run_tool(mistake.words);
    EXPECT_EQ(ending.status.code, 5) << mistake.complaint;
    EXPECT_NE(ending.error.find(mistake.complaint), std::string::npos) << ending.error;
    EXPECT_EQ(ending.output, "");
  }
}

}  // namespace
}  // namespace haricot::test
