#include "web/observe/tube_labels.hpp"

#include <gtest/gtest.h>

namespace haricot::web {
namespace {

TEST(TubeLabels, TheFirstPatternThatMatchesTheWholeNameCounts) {
  TubeLabels labels;
  std::string error;
  ASSERT_TRUE(labels.add("emails-[0-9]+=emails", error)) << error;
  ASSERT_TRUE(labels.add("emails.*=others", error)) << error;
  ASSERT_TRUE(labels.add("mails-.*=emails", error)) << error;
  EXPECT_EQ(labels.names(), (std::vector<std::string>{"emails", "others"}));
  EXPECT_EQ(labels.label_of("emails-17"), 1);
  EXPECT_EQ(labels.label_of("mails-17"), 1);
  EXPECT_EQ(labels.label_of("emails-x"), 2);
  EXPECT_EQ(labels.label_of("my-emails-17"), 0);
  // A tube that has the name of a label itself is one of its tubes, if no pattern says otherwise.
  EXPECT_EQ(labels.label_of("others"), 2);
  EXPECT_EQ(labels.label_of("emails"), 2);
  EXPECT_EQ(labels.label_of("default"), 0);
}

TEST(TubeLabels, MistakesAreRefusedWithAReason) {
  TubeLabels labels;
  for (const char* text : {"", "x", "x=", "=x", "(=x", "a=b c", "a{9}=x", "(a)\\1=x", "a=*"}) {
    std::string error;
    EXPECT_FALSE(labels.add(text, error)) << text;
    EXPECT_FALSE(error.empty()) << text;
  }
  EXPECT_TRUE(labels.names().empty());
}

// An engine that backtracks takes years for this.
TEST(NamePattern, TakesAShortTimeWhateverItIs) {
  std::string error;
  const auto pattern = NamePattern::make("a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", error);
  ASSERT_NE(pattern, nullptr) << error;
  EXPECT_FALSE(pattern->matches(std::string(200, 'a')));
  EXPECT_TRUE(pattern->matches(std::string(199, 'a') + "b"));
  EXPECT_EQ(NamePattern::make(std::string(201, 'a'), error), nullptr);
}

// Each such repetition doubles the time to compile a pattern, and many of them fit into one.
TEST(NamePattern, OnlyCharactersAreRepeated) {
  std::string error;
  for (const char* text : {"(a*)*", "(a?)+", "a**", "a?*", "a*+", "(a|)*", "()*", "(^)*", "(a$+)",
                           "*a", "x|*", "(a|(b*))+", "([a]*)*", "((b*)?)+", "(+a)", "(a*)?*"}) {
    EXPECT_EQ(NamePattern::make(text, error), nullptr) << text;
    EXPECT_NE(error.find("not as in (a*)*"), std::string::npos) << error;
  }
  for (const char* text : {"a*", "emails.*|default", "mail(-[0-9]+)?", "(a|b+)", "[.]+",
                           "[[:alpha:]]*", "(.*)(.*)", "[^]]*", "a|b*"}) {
    EXPECT_NE(NamePattern::make(text, error), nullptr) << text << ": " << error;
  }
}

}  // namespace
}  // namespace haricot::web
