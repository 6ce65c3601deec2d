#include "yaml_check.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace haricot::conformance {
namespace {

YamlExpectation expecting(YamlKeys keys,
                          const std::vector<std::pair<std::string, std::string>>& items) {
  YamlExpectation expectation;
  expectation.keys = keys;
  int line = 10;
  for (const auto& [key, value] : items) expectation.items.push_back({line++, key, value});
  return expectation;
}

bool fits(const YamlExpectation& expectation, const std::string& body) {
  return check_yaml(expectation, body).text.empty();
}

constexpr const char* kBody = "---\nname: \"a\"\nready: 3\nwaiting: 0\n";

TEST(YamlCheck, SomeKeysMeansInOrderWithOthersBetween) {
  EXPECT_TRUE(fits(expecting(YamlKeys::some, {}), kBody));
  EXPECT_TRUE(fits(expecting(YamlKeys::some, {{"name", "a"}, {"waiting", "0"}}), kBody));
  EXPECT_FALSE(fits(expecting(YamlKeys::some, {{"waiting", "0"}, {"name", "a"}}), kBody));
  EXPECT_FALSE(fits(expecting(YamlKeys::some, {{"ready", "3"}, {"ready", "3"}}), kBody));
  EXPECT_FALSE(fits(expecting(YamlKeys::some, {{"ready", "4"}}), kBody));
  EXPECT_FALSE(fits(expecting(YamlKeys::some, {{"read", "3"}}), kBody));
}

TEST(YamlCheck, ExactlyMeansNoOthers) {
  EXPECT_TRUE(
      fits(expecting(YamlKeys::exactly, {{"name", "a"}, {"ready", "3"}, {"waiting", "0"}}), kBody));
  EXPECT_FALSE(fits(expecting(YamlKeys::exactly, {{"name", "a"}, {"ready", "3"}}), kBody));
  EXPECT_FALSE(fits(expecting(YamlKeys::exactly, {{"name", "a"}, {"waiting", "0"}}), kBody));
  EXPECT_FALSE(fits(
      expecting(YamlKeys::exactly, {{"name", "a"}, {"ready", "3"}, {"waiting", "0"}, {"x", "0"}}),
      kBody));
}

TEST(YamlCheck, FirstMeansOnlyCountersBehind) {
  const YamlExpectation first = expecting(YamlKeys::first, {{"name", "a"}});
  EXPECT_TRUE(fits(first, kBody));
  EXPECT_TRUE(fits(first, "---\nname: a\n"));
  EXPECT_FALSE(fits(first, "---\nready: 3\nname: a\n"));
  EXPECT_FALSE(fits(first, "---\nname: a\nown-key: x\n"));
  EXPECT_FALSE(fits(first, "---\nname: a\nown-key: -1\n"));
  EXPECT_FALSE(fits(first, "---\nname: a\nOwn: 1\n"));
}

TEST(YamlCheck, AListOfGroupsIsReadLineByLine) {
  const std::string body = "---\nnext: 3\njobs:\n- id: 1\n  pri: 5\n- id: 2\n  pri: 6\n";
  EXPECT_TRUE(
      fits(expecting(YamlKeys::exactly,
                     {{"next", "3"}, {"-", "id: 1"}, {"pri", "5"}, {"-", "id: 2"}, {"pri", "6"}}),
           body));
  EXPECT_FALSE(fits(expecting(YamlKeys::some, {{"-", "id: 2"}, {"pri", "5"}}), body));
  EXPECT_FALSE(fits(expecting(YamlKeys::some, {{"-", "id: 3"}}), body));
  EXPECT_FALSE(fits(expecting(YamlKeys::some, {{"next", "3"}}), "---\nnext: 3\n:\n"));
}

TEST(YamlCheck, QuotesMatterOnlyLiterally) {
  YamlExpectation expectation = expecting(YamlKeys::some, {{"name", "a"}});
  EXPECT_TRUE(fits(expectation, kBody));
  expectation.literal = true;
  EXPECT_FALSE(fits(expectation, kBody));
  expectation.items[0].value = "\"a\"";
  EXPECT_TRUE(fits(expectation, kBody));
  EXPECT_FALSE(fits(expectation, "---\nname: a\n"));
  expectation.literal = false;
  EXPECT_TRUE(fits(expectation, "---\nname: a\n"));
}

TEST(YamlCheck, ValuesMayBeAnythingOrRangesOrPatterns) {
  EXPECT_TRUE(fits(expecting(YamlKeys::some, {{"ready", "*"}}), kBody));
  EXPECT_TRUE(fits(expecting(YamlKeys::some, {{"ready", "3..5"}}), kBody));
  EXPECT_TRUE(fits(expecting(YamlKeys::some, {{"ready", "0..3"}}), kBody));
  EXPECT_FALSE(fits(expecting(YamlKeys::some, {{"ready", "4..5"}}), kBody));
  EXPECT_FALSE(fits(expecting(YamlKeys::some, {{"name", "0..9"}}), kBody));
  EXPECT_TRUE(fits(expecting(YamlKeys::some, {{"name", "/[ab]/"}}), kBody));
  EXPECT_FALSE(fits(expecting(YamlKeys::some, {{"name", "/[bc]/"}}), kBody));
  EXPECT_FALSE(fits(expecting(YamlKeys::some, {{"ready", "/33/"}}), kBody));
}

TEST(YamlCheck, ListsKeepTheirOrder) {
  const std::string body = "---\n- default\n- b\n- a\n";
  EXPECT_TRUE(fits(expecting(YamlKeys::exactly, {{"-", "default"}, {"-", "b"}, {"-", "a"}}), body));
  EXPECT_FALSE(
      fits(expecting(YamlKeys::exactly, {{"-", "default"}, {"-", "a"}, {"-", "b"}}), body));
  EXPECT_FALSE(fits(expecting(YamlKeys::exactly, {{"-", "default"}, {"-", "b"}}), body));
  EXPECT_TRUE(fits(expecting(YamlKeys::some, {{"-", "default"}, {"-", "a"}}), body));
  EXPECT_FALSE(fits(expecting(YamlKeys::some, {{"-", "a"}, {"-", "b"}}), body));
}

TEST(YamlCheck, EveryBodyIsHeldToItsShape) {
  const YamlExpectation nothing = expecting(YamlKeys::some, {});
  EXPECT_TRUE(fits(nothing, "---\n"));
  for (const char* body : {"", "--\na: 1\n", "a: 1\n", "---\na: 1", "---\na: 1\n\nb: 1\n",
                           "---\na:1\n", "---\na: \n", "---\n: 1\n", "---\na: b: c\n",
                           "---\na: \xc3\xa4\n", "---\na: 1\r\n", "---\n-\n", "---\n- \n"}) {
    EXPECT_FALSE(fits(nothing, body)) << body;
  }
}

// On a busy machine more time passes than a script assumes. Only times may change with it, and only
// by so much.
TEST(YamlCheck, TimesMayAdvanceByAnUnknownTime) {
  const auto fits_later = [](const char* key, const char* expected, const char* value) {
    return check_yaml(expecting(YamlKeys::some, {{key, expected}}),
                      std::string("---\n") + key + ": " + value + "\n", 3)
        .text.empty();
  };
  EXPECT_TRUE(fits_later("age", "1..2", "5"));
  EXPECT_FALSE(fits_later("age", "1..2", "6"));
  EXPECT_FALSE(fits_later("age", "1..2", "0"));
  EXPECT_TRUE(fits_later("age", "0", "3"));
  EXPECT_FALSE(fits_later("age", "0", "4"));
  EXPECT_TRUE(fits_later("uptime", "0..1", "4"));
  EXPECT_TRUE(fits_later("idle", "2", "3"));
  EXPECT_TRUE(fits_later("time-left", "98", "95"));
  EXPECT_FALSE(fits_later("time-left", "98", "94"));
  EXPECT_FALSE(fits_later("time-left", "98", "99"));
  EXPECT_TRUE(fits_later("pause-time-left", "1", "0"));
  EXPECT_FALSE(fits_later("delay", "98", "97"));
  EXPECT_FALSE(fits_later("ready", "1", "2"));
  EXPECT_FALSE(fits(expecting(YamlKeys::some, {{"age", "1..2"}}), "---\nage: 3\n"));
}

TEST(YamlCheck, MismatchNamesTheLineOfTheScript) {
  const YamlMismatch mismatch =
      check_yaml(expecting(YamlKeys::some, {{"name", "a"}, {"ready", "4"}}), kBody);
  EXPECT_EQ(mismatch.line, 11);
  EXPECT_NE(mismatch.text.find("expected ready: 4"), std::string::npos);
  EXPECT_NE(mismatch.text.find("got ready: 3"), std::string::npos);
}

TEST(YamlItem, ThatNothingFitsIsUnusable) {
  EXPECT_TRUE(why_unusable({1, "key", "value"}).empty());
  EXPECT_TRUE(why_unusable({1, "-", "item"}).empty());
  EXPECT_FALSE(why_unusable({1, "", "value"}).empty());
  EXPECT_FALSE(why_unusable({1, "key", ""}).empty());
  EXPECT_FALSE(why_unusable({1, "key", "5..3"}).empty());
  EXPECT_FALSE(why_unusable({1, "key", "/[/"}).empty());
}

}  // namespace
}  // namespace haricot::conformance
