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
