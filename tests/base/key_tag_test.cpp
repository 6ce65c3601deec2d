// The tag idp:<key>.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "haricot/base/job_tags.hpp"

namespace haricot {
namespace {

TEST(KeyTag, HasAKey) {
  JobTags tags;
  ASSERT_TRUE(read_tags("idp:a-+/;.$_()Z9", tags));
  EXPECT_EQ(tags.unique_key, "a-+/;.$_()Z9");
  ASSERT_TRUE(read_tags("idp:" + std::string(1, 'k'), tags));
  ASSERT_TRUE(read_tags("try:3", tags));
  EXPECT_EQ(tags.unique_key, "");
}

TEST(KeyTag, IsRefusedIfAnythingIsWrong) {
  const std::string key(kKeyBytesMax, 'k');
  JobTags tags;
  EXPECT_TRUE(read_tags("idp:" + key, tags));
  for (const std::string& text :
       {std::string("idp"), std::string("idp:"), std::string("idp::"), std::string("idp:k:"),
        std::string("idp:k:60"), std::string("idp:k,k"), std::string("idp:k idp:k"),
        std::string("idp:k idp:l"), std::string("idp:\xc3\xa4"), "idp:k" + key}) {
    EXPECT_FALSE(read_tags(text, tags)) << text;
  }
}

TEST(KeyTag, IsKeptAfterTheOthers) {
  JobTags tags;
  ASSERT_TRUE(read_tags("idp:k con:l:2 try:3", tags));
  EXPECT_EQ(TagText(tags).view(), "try:3 con:l:2 idp:k");
}

TEST(KeyTag, IsFoundAmongOthersInATextThatIsKept) {
  EXPECT_EQ(tags_in("try:3 idp:key newer:b").unique_key, "key");
  EXPECT_EQ(tags_in("new:idp:x try:3").unique_key, "");
  EXPECT_EQ(tags_in("idp:k:60").unique_key, "");
}

TEST(TagText, SaysWhereItsTagsStand) {
  const std::string line = "idp:key con:lane:02 try:3";
  JobTags read;
  ASSERT_TRUE(read_tags(line, read));
  TagText text;
  const JobTags kept = text.write(read);
  EXPECT_EQ(text.view(), "try:3 con:lane:2 idp:key");
  EXPECT_EQ(kept.tries, 3U);
  EXPECT_EQ(kept.lane, "lane");
  EXPECT_EQ(kept.lane_limit, 2U);
  EXPECT_EQ(kept.unique_key, "key");
  for (const std::string_view part : {kept.lane, kept.unique_key}) {
    EXPECT_GE(part.data(), text.view().data());
    EXPECT_LE(part.data() + part.size(), text.view().data() + text.view().size());
  }
  ASSERT_TRUE(read_tags("try:1", read));
  EXPECT_EQ(text.write(read).unique_key, "");
  EXPECT_EQ(text.view(), "try:1");
}

}  // namespace
}  // namespace haricot
