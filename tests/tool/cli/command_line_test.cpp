#include "tool/cli/command_line.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace haricot::tool {
namespace {

struct Outcome {
  bool good = false;
  std::string seen;  // Applied flags, in order.
  std::vector<std::string_view> operands;
  std::string error;
};

Outcome read(const std::vector<const char*>& words, FlagPlaces places = FlagPlaces::anywhere) {
  Outcome outcome;
  const auto note = [&outcome](const char* name) {
    return [&outcome, name](std::string_view value) {
      outcome.seen += std::string(name) + "(" + std::string(value) + ")";
      return value != "bad";
    };
  };
  const std::vector<Flag> flags = {
      {'n', "number", "N", "a number", note("n"), "a good number"},
      {'a', "all", "", "everything", note("a")},
      {0, "long", "X", "without a letter", note("long"), "long"},
  };
  outcome.good = read_flags(flags, words, outcome.operands, outcome.error, places);
  return outcome;
}

TEST(Flags, AValueFollowsInEveryUsualWay) {
  for (const std::vector<const char*>& words : std::vector<std::vector<const char*>>{
           {"--number=5"}, {"--number", "5"}, {"-n5"}, {"-n", "5"}}) {
    const Outcome outcome = read(words);
    EXPECT_TRUE(outcome.good) << outcome.error;
    EXPECT_EQ(outcome.seen, "n(5)");
  }
}

TEST(Flags, LettersCanBeJoined) {
  EXPECT_EQ(read({"-aan7"}).seen, "a()a()n(7)");
  EXPECT_EQ(read({"-an", "7", "--all"}).seen, "a()n(7)a()");
}

TEST(Flags, OtherWordsAreOperands) {
  const Outcome outcome = read({"one", "-a", "-", "--", "-n", "--all"});
  EXPECT_TRUE(outcome.good);
  EXPECT_EQ(outcome.seen, "a()");
  EXPECT_EQ(outcome.operands, (std::vector<std::string_view>{"one", "-", "-n", "--all"}));
}

TEST(Flags, TheFirstOperandCanEndThem) {
  const Outcome outcome = read({"-a", "one", "-a", "--", "--nothing"}, FlagPlaces::in_front);
  EXPECT_TRUE(outcome.good);
  EXPECT_EQ(outcome.seen, "a()");
  EXPECT_EQ(outcome.operands, (std::vector<std::string_view>{"one", "-a", "--", "--nothing"}));
  EXPECT_EQ(read({"--", "-a", "--"}, FlagPlaces::in_front).operands,
            (std::vector<std::string_view>{"-a", "--"}));
}

TEST(Flags, MistakesNameTheWord) {
  EXPECT_EQ(read({"--nothing"}).error, "unknown flag: --nothing");
  EXPECT_EQ(read({"--nothing=3"}).error, "unknown flag: --nothing");
  EXPECT_EQ(read({"-x"}).error, "unknown flag: -x");
  EXPECT_EQ(read({"-ax"}).error, "unknown flag: -x");
  EXPECT_EQ(read({"--all=1"}).error, "--all takes no value");
  EXPECT_EQ(read({"--number"}).error, "--number needs a value");
  EXPECT_EQ(read({"-an"}).error, "-n needs a value");
  EXPECT_EQ(read({"-n", "bad"}).error, "-n: 'bad' is not a good number");
  EXPECT_EQ(read({"--long=bad"}).error, "--long: 'bad' is not long");
  for (const char* word : {"--nothing", "-x", "--all=1", "--number"})
    EXPECT_FALSE(read({word}).good);
}

TEST(Flags, AMistypedNameHasASuggestion) {
  EXPECT_EQ(read({"--nubmer=3"}).error, "unknown flag: --nubmer (did you mean --number?)");
  EXPECT_EQ(read({"--al"}).error, "unknown flag: --al (did you mean --all?)");
  EXPECT_EQ(read({"--brew"}).error, "unknown flag: --brew");
}

TEST(Flags, UsualFlagsCanStandBeforeASubcommand) {
  const struct {
    std::vector<const char*> words;
    std::size_t count;
  } cases[] = {
      {{}, 0},
      {{"tubes", "-j"}, 0},
      {{"-a", "host", "tubes"}, 2},
      {{"-ahost", "tubes"}, 1},
      {{"--address=host", "-jT5", "tubes", "-j"}, 2},
      {{"--timeout", "5", "--json", "tubes"}, 3},
      {{"-jT", "5", "tubes"}, 2},
      {{"-j", "-x", "tubes"}, 1},
      {{"-j", "--", "tubes"}, 1},
      {{"-a"}, 0},
      {{"-ja"}, 0},
      {{"--json=1", "tubes"}, 0},
      {{"-a", "-j", "tubes"}, 2},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(count_usual_flags(one.words), one.count)
        << (one.words.empty() ? "" : one.words.front());
  }
}

TEST(Flags, ATimeOfTheProtocolIsInWholeSecondsAndNeverShorter) {
  std::uint64_t seconds = 0;
  EXPECT_TRUE(set_seconds(seconds)("300"));
  EXPECT_EQ(seconds, 300U);
  EXPECT_TRUE(set_seconds(seconds)("1h30m"));
  EXPECT_EQ(seconds, 5400U);
  EXPECT_TRUE(set_seconds(seconds)("4294967295"));
  EXPECT_EQ(seconds, 4294967295U);
  EXPECT_TRUE(set_seconds(seconds)("2.5"));
  EXPECT_EQ(seconds, 3U);
  EXPECT_TRUE(set_seconds(seconds)("250ms"));
  EXPECT_EQ(seconds, 1U);
  EXPECT_TRUE(set_seconds(seconds)("0"));
  EXPECT_EQ(seconds, 0U);
  for (const char* text : {"4294967296", "4294967295.5", "", "soon", "-1"}) {
    EXPECT_FALSE(set_seconds(seconds)(text)) << text;
  }
}

TEST(Flags, EachHasALineOfHelp) {
  const std::vector<Flag> flags = {{'n', "number", "N", "a number", {}, {}},
                                   {0, "quiet", "", "say nothing", {}, {}}};
  EXPECT_EQ(describe_flags(flags),
            "  -n, --number N              a number\n"
            "      --quiet                 say nothing\n");
}

TEST(Flags, ValuesOutsideTheirLimitsAreRefused) {
  std::uint64_t number = 0;
  EXPECT_TRUE(set_count(number, 1, 2000)("2k"));
  EXPECT_EQ(number, 2000U);
  EXPECT_FALSE(set_count(number, 1, 2000)("2001"));
  EXPECT_FALSE(set_count(number, 1, 2000)("0"));
  EXPECT_TRUE(set_milliseconds(number, 1)("0.5"));
  EXPECT_EQ(number, 500U);
  EXPECT_FALSE(set_milliseconds(number, 1)("0"));
  EXPECT_FALSE(set_milliseconds(number, 0)("99999999999"));
  EXPECT_TRUE(set_milliseconds(number, 1, 2000)("2"));
  EXPECT_FALSE(set_milliseconds(number, 1, 2000)("2.001"));
  std::string tube;
  EXPECT_TRUE(set_tube(tube)("mail"));
  EXPECT_EQ(tube, "mail");
  EXPECT_FALSE(set_tube(tube)("no mail"));
  EXPECT_FALSE(set_tube(tube)(""));
}

TEST(FlagsDeathTest, EachHasANameAndALetterOfItsOwn) {
  std::vector<std::string_view> operands;
  std::string error;
  const Flag count{'n', "count", "", "", [](std::string_view) { return true; }};
  Flag other = count;
  other.letter = 'm';
  EXPECT_DEATH((void)read_flags(std::array{count, other}, {}, operands, error), "name");
  other.letter = 'n';
  other.name = "number";
  EXPECT_DEATH((void)read_flags(std::array{count, other}, {}, operands, error), "letter");
}

TEST(Suggestion, EachMistakeOfTypingIsOneChange) {
  EXPECT_EQ(typing_distance("tubes", "tubes"), 0U);
  EXPECT_EQ(typing_distance("tube", "tubes"), 1U);
  EXPECT_EQ(typing_distance("ttubes", "tubes"), 1U);
  EXPECT_EQ(typing_distance("tibes", "tubes"), 1U);
  EXPECT_EQ(typing_distance("tubse", "tubes"), 1U);
  EXPECT_EQ(typing_distance("utbse", "tubes"), 2U);
  EXPECT_EQ(typing_distance("", "tubes"), 5U);
  EXPECT_EQ(typing_distance("tubes", ""), 5U);
}

TEST(Suggestion, TheNearestWordIsTheOneThatWasMeant) {
  constexpr std::string_view kWords[] = {"stats", "tubes", "top", "put", "pause", "capabilities"};
  EXPECT_EQ(nearest_word("tubse", kWords), "tubes");
  EXPECT_EQ(nearest_word("stat", kWords), "stats");
  EXPECT_EQ(nearest_word("pu", kWords), "put");
  EXPECT_EQ(nearest_word("capabilites", kWords), "capabilities");
  EXPECT_EQ(nearest_word("capablities", kWords), "capabilities");
  EXPECT_EQ(nearest_word("kapabiliteis", kWords), "capabilities");
}

TEST(Suggestion, AWordThatIsFarAwayIsNotSuggested) {
  constexpr std::string_view kWords[] = {"stats", "tubes", "top", "put", "capabilities"};
  for (const char* word : {"brew", "", "s", "tubsee", "kapabiliteiss", "xyz"}) {
    EXPECT_EQ(nearest_word(word, kWords), "") << word;
  }
  EXPECT_EQ(nearest_word(std::string(1000, 'x'), kWords), "");
  EXPECT_EQ(nearest_word("stats", {}), "");
}

TEST(Suggestion, TheSentenceHasTheWord) {
  constexpr std::string_view kWords[] = {"--count", "tubes"};
  EXPECT_EQ(suggestion("--cuont", kWords), " (did you mean --count?)");
  EXPECT_EQ(suggestion("tubse", kWords), " (did you mean tubes?)");
  EXPECT_EQ(suggestion("--brew", kWords), "");
  EXPECT_EQ(suggestion("-", kWords), "");
}

TEST(Suggestion, WordsOfOtherToolsAreKnownWhereTheirMeaningCanStand) {
  constexpr std::string_view kWords[] = {"jobs", "pause", "--address", "--tries"};
  EXPECT_EQ(suggestion("grep", kWords), " (did you mean jobs --match TEXT?)");
  EXPECT_EQ(suggestion("unpause", kWords), " (did you mean pause TUBE 0?)");
  EXPECT_EQ(suggestion("--host", kWords), " (did you mean --address HOST:PORT?)");
  EXPECT_EQ(suggestion("-p", kWords), " (did you mean --address HOST:PORT?)");
  EXPECT_EQ(suggestion("--retries", kWords), " (did you mean --tries?)");
  constexpr std::string_view kFew[] = {"put"};
  EXPECT_EQ(suggestion("grep", kFew), "");
  EXPECT_EQ(suggestion("--retries", kFew), "");
}

TEST(Suggestion, TheOnlyWordThatBeginsSoIsMeant) {
  constexpr std::string_view kWords[] = {"--priority", "--concurrency", "--connections"};
  EXPECT_EQ(suggestion("--pri", kWords), " (did you mean --priority?)");
  EXPECT_EQ(suggestion("--conc", kWords), " (did you mean --concurrency?)");
  EXPECT_EQ(suggestion("--con", kWords), "");
  EXPECT_EQ(suggestion("--pr", kWords), "");
}

}  // namespace
}  // namespace haricot::tool
