#include "web/observe/name_pattern.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace haricot::web {
namespace {

bool matches(const std::string& pattern, const std::string& name) {
  std::string error;
  const auto made = NamePattern::make(pattern, error);
  EXPECT_NE(made, nullptr) << pattern << ": " << error;
  return made && made->matches(name);
}

TEST(NamePattern, MatchesTheWholeName) {
  struct Row {
    const char* pattern;
    std::vector<const char*> names;
    std::vector<const char*> others;
  };
  const Row rows[] = {
      {"mail", {"mail"}, {"mails", "xmail", "mai", ""}},
      {"m.il", {"mail", "m.il"}, {"ml", "maail"}},
      {"a|bc|", {"a", "bc", ""}, {"b", "abc"}},
      {"(a|b)c*", {"a", "bccc"}, {"c", "ab", "acb"}},
      {"(?:ab)+", {"ab", "abab"}, {"", "aba"}},
      {"(a*)*b", {"b", "aab"}, {"a", "ba"}},
      {"((a?b?)+c)*", {"", "abc", "cabbac"}, {"ab", "cab"}},
      {"x{0}y", {"y"}, {"xy"}},
      {"[0-9]{2,3}", {"12", "123"}, {"1", "1234"}},
      {"(ab){2}", {"abab"}, {"ab", "ababab"}},
      {"(a|b{2}){2,}", {"aa", "abb", "bbbbaa"}, {"a", "ab", "bb"}},
      {"^mail$", {"mail"}, {"mails"}},
      {"^a|^b$|(^c$)", {"a", "b", "c"}, {"ab", "d"}},
      {"[^a-c]+", {"xyz"}, {"xa", ""}},
      {"[]a]|[^]b]", {"]", "a", "c"}, {"b"}},
      {"[a-]|[.]", {"a", "-", "."}, {"b"}},
      {"[[:digit:]_]+[[:^alpha:]]", {"1_2"}, {"12a", "1"}},
      {R"(\d+\.\w[\s\-]\D)", {"12.x-y"}, {"12.x-1", "12xx-y"}},
      {"a+?b*?c??", {"a", "aabbc"}, {"b"}},
  };
  for (const Row& row : rows) {
    for (const char* name : row.names)
      EXPECT_TRUE(matches(row.pattern, name)) << row.pattern << name;
    for (const char* name : row.others) {
      EXPECT_FALSE(matches(row.pattern, name)) << row.pattern << name;
    }
  }
}

TEST(NamePattern, RefusesUnsupportedSyntax) {
  std::string error;
  for (const char* text :
       {"",    "(",      ")",     "a)",      "(a",      "[",   "[a",     "[b-a]", "[[:nope:]]",
        "*",   "a|*",    "(+a)",  "a**",     "a{2}{3}", "a{",  "a{}",    "a{,3}", "a{3,2}",
        "a{1", "a{257}", "a{x}",  "\\",      "\\q",     "\\1", "(a)\\1", "(?i)a", "(?=a)",
        "a^b", "a$b",    "(a$)b", "(^a){2}", "(a$)*",   "\\b"}) {
    EXPECT_EQ(NamePattern::make(text, error), nullptr) << text;
    EXPECT_FALSE(error.empty()) << text;
  }
  EXPECT_EQ(NamePattern::make(std::string(201, 'a'), error), nullptr);
  EXPECT_EQ(NamePattern::make("(([ab]{16}){16}){2}", error), nullptr);
  EXPECT_NE(NamePattern::make("([ab]{16}){16}", error), nullptr) << error;
  EXPECT_EQ(NamePattern::make(std::string(100, '(') + std::string(100, ')'), error), nullptr);
}

// Expressions that fill the cache of a deterministic automaton, or make a matcher backtrack, take
// no more steps than positions times bytes.
TEST(NamePattern, HostilePatternsTakeNoLongerThanPlainOnes) {
  const auto time_of = [](const std::string& pattern) {
    std::string error;
    const auto made = NamePattern::make(pattern, error);
    EXPECT_NE(made, nullptr) << error;
    std::string name(200, '1');
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 300; ++i) {
      name[static_cast<std::size_t>(i % 200)] ^= 1;
      made->matches(name);
    }
    return std::chrono::steady_clock::now() - begin;
  };
  const auto plain = time_of("[01]{190}.*");
  for (const std::string& hostile :
       {".*[0-7]" + std::string(36, '.'), std::string("(.*[01]){60}x"), std::string("(1*)*(1*)*x"),
        std::string("(((1{0,9}){0,9}){0,2}1*)*x")}) {
    EXPECT_LT(time_of(hostile), 2000 * plain) << hostile;
  }
}

TEST(NamePattern, EmptyGroupsAreNotRepeated) {
  std::string error;
  EXPECT_NE(NamePattern::make("(((){255}){255}){255}a", error), nullptr) << error;
  std::string empties = "(";
  for (int i = 0; i < 60; ++i) empties += "()?";
  EXPECT_NE(NamePattern::make(empties + "a){250}", error), nullptr) << error;
}

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
  // A tube with the name of a label belongs to it, unless a pattern matches.
  EXPECT_EQ(labels.label_of("others"), 2);
  EXPECT_EQ(labels.label_of("emails"), 2);
  EXPECT_EQ(labels.label_of("default"), 0);
}

TEST(TubeLabels, MistakesAreRefusedWithAReason) {
  TubeLabels labels;
  for (const char* text : {"", "x", "x=", "=x", "(=x", "a=b c", "a{,9}=x", "(a)\\1=x", "a=*"}) {
    std::string error;
    EXPECT_FALSE(labels.add(text, error)) << text;
    EXPECT_FALSE(error.empty()) << text;
  }
  EXPECT_TRUE(labels.names().empty());
}

}  // namespace
}  // namespace haricot::web
