// The tags `grp` and `aft`.

#include <gtest/gtest.h>

#include <string>

#include "haricot/base/job_tags.hpp"

namespace haricot {
namespace {

TEST(GroupTags, AreNames) {
  JobTags tags;
  ASSERT_TRUE(read_tags("grp:a-+/;.$_()Z9", tags));
  EXPECT_EQ(tags.group, "a-+/;.$_()Z9");
  EXPECT_TRUE(tags.after.empty());
  ASSERT_TRUE(read_tags("aft:-", tags));
  EXPECT_EQ(tags.after, "-");
  EXPECT_TRUE(tags.group.empty());
  for (const char* text : {"grp:", "aft:", "grp", "grp:a:1", "aft:a:1", "grp:a*", "grp:a grp:b",
                           "aft:a aft:b", "GRP:a", "grp: a"}) {
    EXPECT_FALSE(read_tags(text, tags)) << text;
  }
}

TEST(GroupTags, OfTwoLongestNamesFitIntoALine) {
  const std::string longest(kKeyBytesMax, 'k');
  JobTags tags;
  const std::string text = "aft:x" + longest.substr(1) + " grp:" + longest;
  ASSERT_TRUE(read_tags(text, tags));
  EXPECT_EQ(TagText(tags).view(), "grp:" + longest + " aft:x" + longest.substr(1));
  EXPECT_FALSE(read_tags("grp:" + longest + "k", tags));
}

TEST(GroupTags, StandAfterTheOthers) {
  JobTags tags;
  ASSERT_TRUE(read_tags("aft:a grp:g idp:k con:l try:3", tags));
  EXPECT_EQ(TagText(tags).view(), "try:3 con:l idp:k grp:g aft:a");
  ASSERT_TRUE(read_tags("grp:g idp:k", tags));
  EXPECT_EQ(TagText(tags).view(), "idp:k grp:g");
}

TEST(GroupTags, AWaitMayLeaveOutBuriedJobs) {
  JobTags tags;
  ASSERT_TRUE(read_tags("aft:a:any", tags));
  EXPECT_EQ(tags.after, "a");
  EXPECT_TRUE(tags.is_after_any);
  EXPECT_EQ(TagText(tags).view(), "aft:a:any");
  ASSERT_TRUE(read_tags("aft:a", tags));
  EXPECT_FALSE(tags.is_after_any);
  for (const char* text :
       {"aft:a:", "aft:a:an", "aft:a:anyone", "aft:a:1", "aft::any", "aft:any:", "grp:a:any"}) {
    EXPECT_FALSE(read_tags(text, tags)) << text;
  }
  // A later version may have other words.
  EXPECT_TRUE(tags_in("aft:a:other").after.empty());
}

TEST(GroupTags, NoJobWaitsForItsOwnGroup) {
  JobTags tags;
  EXPECT_FALSE(read_tags("grp:a aft:a:any", tags));
  EXPECT_FALSE(read_tags("grp:a aft:a", tags));
  EXPECT_FALSE(read_tags("aft:a try:1 grp:a", tags));
  EXPECT_TRUE(read_tags("grp:a aft:b", tags));
}

}  // namespace
}  // namespace haricot
