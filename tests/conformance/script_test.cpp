#include "script.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace haricot::conformance {
namespace {

using std::chrono::milliseconds;

// Parses the text after the comment with which every script begins.
ParsedScript parse(std::string_view text, Target target = kMemory) {
  return parse_script("# What it pins.\n" + std::string(text), "x.script", target);
}

std::vector<Verb> verbs(const Script& script) {
  std::vector<Verb> result;
  for (const Step& step : script.steps) result.push_back(step.verb);
  return result;
}

TEST(ParseScript, ReadsEveryKindOfStep) {
  const ParsedScript parsed = parse(
      "flags -z 100 --rule='a b' ''\n"
      "A!open\n"
      "A> put 0 0 60 5\n"
      "A>> hel\\0o\\r\\n\n"
      "A< INSERTED 1\n"
      "A<< raw\n"
      "A<lines 20\n"
      "A< OK yaml exactly literally\n"
      "  id: 1\n"
      "A<nothing\n"
      "advance 1.5s\n"
      "signal drain\n"
      "A!shutdown\n"
      "A<eof\n"
      "A!close\n"
      "Worker2!reset\n");
  ASSERT_EQ(parsed.error, "");
  const Script& script = parsed.script;
  EXPECT_EQ(script.flags, (std::vector<std::string>{"-z", "100", "--rule=a b", ""}));
  EXPECT_EQ(verbs(script),
            (std::vector<Verb>{Verb::open, Verb::send, Verb::send, Verb::expect_line,
                               Verb::expect_bytes, Verb::expect_lines, Verb::expect_yaml,
                               Verb::expect_nothing, Verb::advance, Verb::drain, Verb::half_close,
                               Verb::expect_end, Verb::close, Verb::reset}));
  EXPECT_EQ(script.steps[1].bytes, "put 0 0 60 5\r\n");
  EXPECT_EQ(script.steps[1].line, 4);
  EXPECT_EQ(script.steps[2].bytes, std::string("hel\0o\r\n", 7));
  EXPECT_EQ(script.steps[3].bytes, "INSERTED 1\r\n");
  EXPECT_EQ(script.steps[4].bytes, "raw");
  EXPECT_EQ(script.steps[6].yaml.keys, YamlKeys::exactly);
  EXPECT_EQ(script.steps[5].count, 20U);
  EXPECT_TRUE(script.steps[6].yaml.literal);
  ASSERT_EQ(script.steps[6].yaml.items.size(), 1U);
  EXPECT_EQ(script.steps[6].yaml.items[0].line, 10);
  EXPECT_EQ(script.steps[8].duration, milliseconds(1500));
  EXPECT_EQ(script.steps[13].connection, "Worker2");
}

TEST(ParseScript, EmptyLinesCanBeSentAndExpected) {
  const ParsedScript parsed = parse("A>\nA<\n");
  ASSERT_EQ(parsed.error, "");
  EXPECT_EQ(parsed.script.steps[0].bytes, "\r\n");
  EXPECT_EQ(parsed.script.steps[1].bytes, "\r\n");
}

TEST(ParseScript, KeywordsBehindABlankAreOrdinaryLines) {
  const ParsedScript parsed = parse("A< nothing\nA< eof\n");
  ASSERT_EQ(parsed.error, "");
  EXPECT_EQ(verbs(parsed.script), (std::vector<Verb>{Verb::expect_line, Verb::expect_line}));
}

TEST(ParseScript, ReadsTimesExactly) {
  const ParsedScript parsed = parse(
      "A<nothing\nadvance 1s\nadvance 0.25s\nadvance 70ms\nadvance 0.5ms\nadvance 4294967295s\n");
  ASSERT_EQ(parsed.error, "");
  EXPECT_EQ(parsed.script.steps[1].duration, milliseconds(1000));
  EXPECT_EQ(parsed.script.steps[2].duration, milliseconds(250));
  EXPECT_EQ(parsed.script.steps[3].duration, milliseconds(70));
  EXPECT_EQ(parsed.script.steps[4].duration, std::chrono::microseconds(500));
  EXPECT_EQ(parsed.script.steps[5].duration, std::chrono::seconds(4294967295));
}

TEST(ParseScript, LinesForOtherTargetsAreLeftOut) {
  constexpr std::string_view kText =
      "@haricot flags --compat=1.12\n"
      "A> stats\n"
      "@haricot A< ours\n"
      "@beanstalkd A< theirs\n"
      "@memory advance 5s\n"
      "@haricot @tcp A< daemon\n"
      "A< OK yaml\n"
      "  a: 1\n"
      "  @haricot b: 1\n"
      "@beanstalkd A< OK yaml\n"
      "  c: 1\n";
  const ParsedScript ours = parse(kText);
  ASSERT_EQ(ours.error, "");
  EXPECT_EQ(ours.script.flags.size(), 1U);
  EXPECT_EQ(verbs(ours.script),
            (std::vector<Verb>{Verb::send, Verb::expect_line, Verb::advance, Verb::expect_yaml}));
  EXPECT_EQ(ours.script.steps[1].bytes, "ours\r\n");
  EXPECT_EQ(ours.script.steps[3].yaml.items.size(), 2U);

  const ParsedScript theirs = parse(kText, kBeanstalkd);
  ASSERT_EQ(theirs.error, "");
  EXPECT_TRUE(theirs.script.flags.empty());
  EXPECT_EQ(verbs(theirs.script), (std::vector<Verb>{Verb::send, Verb::expect_line,
                                                     Verb::expect_yaml, Verb::expect_yaml}));
  EXPECT_EQ(theirs.script.steps[2].yaml.items.size(), 1U);
  EXPECT_EQ(theirs.script.steps[3].yaml.items.size(), 1U);
}

TEST(ParseScript, OnlyExcludesTargets) {
  EXPECT_TRUE(parse("only haricot\nA<nothing\n").script.applies);
  EXPECT_FALSE(parse("only beanstalkd\nA<nothing\n").script.applies);
  EXPECT_FALSE(parse("only haricot\nonly tcp\nA<nothing\n").script.applies);
  EXPECT_FALSE(parse("only memory\nA<nothing\n", kBeanstalkd).script.applies);
  const Target old = kBeanstalkd;
  const Target recent{ServerKind::beanstalkd, Transport::tcp, true};
  EXPECT_TRUE(parse("only 1.12\nA<nothing\n", old).script.applies);
  EXPECT_FALSE(parse("only 1.12\nA<nothing\n", recent).script.applies);
  EXPECT_FALSE(parse("only 1.13\nA<nothing\n", old).script.applies);
  EXPECT_TRUE(parse("only 1.13\nA<nothing\n", kHaricotd).script.applies);
}

TEST(ParseScript, ErrorsNameFileAndLine) {
  const ParsedScript parsed = parse("A> stats\nA< \\q\n");
  EXPECT_EQ(parsed.error.substr(0, 11), "x.script:3:");
}

TEST(ParseScript, RefusesUnknownLines) {
  for (const char* line : {
           "a> lower case name",
           "A",
           "A stats",
           "A>stats",
           "A<OK",
           "A!jump",
           "advance",
           "advance 5",
           "advance s",
           "advance -1s",
           "advance 1.s",
           "advance 0s",
           "advance 99999999999999s",
           "signal term",
           "restarted",
           "restart",
           "kill -z 5",
           "killA",
           "binlog",
           "only me",
           "only",
           "@me A> x",
           "@haricot",
           "  id: 1",
           "A>> ",
           "A>>",
           "A<<",
           "A> \\q",
           "A< a\\r\\nb",
           "A> trailing ",
           "A> tab\tinside",
           "A< OK yaml sometimes",
           "> x",
       }) {
    const std::string text = "A> before\nA< before\n" + std::string(line) + "\n";
    EXPECT_FALSE(parse(text).error.empty()) << line;
    EXPECT_NE(parse(text).error.find(":4: "), std::string::npos) << line;
  }
}

TEST(ParseScript, RefusesMistakesInLinesForOtherTargets) {
  EXPECT_FALSE(parse("A< x\n@beanstalkd A> \\q\n").error.empty());
  EXPECT_FALSE(parse("@beanstalkd A< OK yaml\n  nonsense\nA< x\n").error.empty());
}

TEST(ParseScript, RefusesYamlThatNothingFits) {
  EXPECT_FALSE(parse("A< OK yaml\n  a: 5..3\n").error.empty());
  EXPECT_FALSE(parse("A< OK yaml\n  a: /[/\n").error.empty());
  EXPECT_FALSE(parse("A< OK yaml\n\n  a: 1\n").error.empty());
}

TEST(ParseScript, RefusesAConnectionThatWasClosed) {
  EXPECT_FALSE(parse("A> x\nA< x\nA!close\nA> x\n").error.empty());
  EXPECT_FALSE(parse("A> x\nA< x\nA!reset\nA<eof\n").error.empty());
}

TEST(ParseScript, RefusesFlagsBehindTheStart) {
  EXPECT_FALSE(parse("A< x\nflags -z 1\n").error.empty());
  EXPECT_FALSE(parse("A< x\nbinlog\n").error.empty());
}

TEST(ParseScript, RestartsKeepTheFlagsUntilTheyNameOthers) {
  const ParsedScript parsed =
      parse("flags -z 100\nbinlog\nA< x\nrestart\nkill -z 5 -V\n@beanstalkd kill -z 7\nrestart\n");
  ASSERT_EQ(parsed.error, "");
  EXPECT_TRUE(parsed.script.keeps_binlog);
  const std::vector<Step>& steps = parsed.script.steps;
  EXPECT_EQ(verbs(parsed.script),
            (std::vector<Verb>{Verb::expect_line, Verb::restart, Verb::kill, Verb::restart}));
  EXPECT_EQ(steps[1].flags, (std::vector<std::string>{"-z", "100"}));
  EXPECT_EQ(steps[2].flags, (std::vector<std::string>{"-z", "5", "-V"}));
  EXPECT_EQ(steps[3].flags, steps[2].flags);
}

TEST(ParseScript, NamesAreFreeAgainBehindARestart) {
  EXPECT_EQ(parse("binlog\nA> x\nA< x\nA!close\nrestart\nA> x\nA< x\n").error, "");
  EXPECT_FALSE(
      parse("binlog\nA> x\nA< x\nA!close\n@beanstalkd restart\nA> x\nA< x\n").error.empty());
}

TEST(ParseScript, RefusesScriptsThatCannotFail) {
  EXPECT_FALSE(parse("").error.empty());
  EXPECT_FALSE(parse("A> stats\n").error.empty());
  EXPECT_FALSE(parse("A> stats\n@beanstalkd A< x\n").error.empty());
  EXPECT_TRUE(parse("only beanstalkd\nA> stats\n@beanstalkd A< x\n").error.empty());
}

TEST(ParseScript, RefusesScriptsWithoutAComment) {
  EXPECT_FALSE(parse_script("A<nothing\n", "x.script", kMemory).error.empty());
}

TEST(Pipelined, JoinsTheSendsOfOneConnection) {
  const ParsedScript parsed = parse("A> one\nA< 1\nA>> two\nA< OK yaml\n  a: 1\nA<< 3\n");
  ASSERT_EQ(parsed.error, "");
  const Script joined = pipelined(parsed.script);
  EXPECT_EQ(verbs(joined), (std::vector<Verb>{Verb::send, Verb::expect_line, Verb::expect_yaml,
                                              Verb::expect_bytes}));
  EXPECT_EQ(joined.steps[0].bytes, "one\r\ntwo");
  EXPECT_EQ(joined.steps[0].connection, "A");
  EXPECT_EQ(joined.steps[2].yaml.items.size(), 1U);
}

TEST(Pipelined, KeepsTheVisibleParts) {
  const ParsedScript parsed = parse(
      "A> one\nA<nothing\nA> two\nB> three\nA< 1\nadvance 1s\nA> four\nsignal drain\nA> "
      "five\nA<eof\n");
  ASSERT_EQ(parsed.error, "");
  EXPECT_EQ(verbs(pipelined(parsed.script)), verbs(parsed.script));
}

}  // namespace
}  // namespace haricot::conformance
