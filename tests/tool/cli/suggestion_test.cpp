#include "tool/cli/command_line.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace haricot::tool {
namespace {

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
