// The tag idp:<key>[:<seconds>].

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
        std::string("idp:k:60:"), std::string("idp:k,k"), std::string("idp:k idp:k"),
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
  EXPECT_EQ(tags_in("idp:k:60 newer:b").unique_key, "k");
  EXPECT_EQ(tags_in("idp:k:60 newer:b").tombstone_s, 60U);
  const JobTags with_more = tags_in("idp:k:60:newer");
  EXPECT_EQ(with_more.unique_key, "");
  EXPECT_EQ(with_more.tombstone_s, 0U);
}

TEST(KeyTag, MayHaveATime) {
  const std::string key(kKeyBytesMax, 'k');
  JobTags tags;
  for (const std::uint32_t seconds : {1U, 60U, kTombstoneSecondsMax}) {
    const std::string text = "idp:" + key + ':' + std::to_string(seconds);
    ASSERT_TRUE(read_tags(text, tags)) << text;
    EXPECT_EQ(tags.unique_key, key);
    EXPECT_EQ(tags.tombstone_s, seconds);
    EXPECT_EQ(TagText(tags).view(), text);
  }
  ASSERT_TRUE(read_tags("idp:k", tags));
  EXPECT_EQ(tags.tombstone_s, 0U);
}

TEST(KeyTag, HasATimeFromOneToTheLongest) {
  JobTags tags;
  for (const std::string_view time :
       {"0", "00", "4294967296", "99999999999999999999", "18446744073709551617", "-1", "+1", "1s",
        "1.5", "0x1", "60:", "60:60", ":60", "", "\t1"}) {
    EXPECT_FALSE(read_tags("idp:k:" + std::string(time), tags)) << time;
    EXPECT_FALSE(read_tags("try:3 idp:k:" + std::string(time), tags)) << time;
  }
  EXPECT_FALSE(read_tags("idp::60", tags));
  EXPECT_FALSE(read_tags("idp:k:60 idp:k", tags));
  EXPECT_FALSE(read_tags("idp:k idp:k:60", tags));
}

TEST(KeyTag, IsKeptWithItsTimeInOneForm) {
  JobTags tags;
  ASSERT_TRUE(read_tags("idp:k:0060 try:3", tags));
  TagText text;
  const JobTags kept = text.write(tags);
  EXPECT_EQ(text.view(), "try:3 idp:k:60");
  EXPECT_EQ(kept.unique_key, "k");
  EXPECT_EQ(kept.tombstone_s, 60U);
  EXPECT_EQ(kept.unique_key.data(), text.view().data() + 10);
  // The text is reused.
  ASSERT_TRUE(read_tags("idp:other", tags));
  EXPECT_EQ(text.write(tags).tombstone_s, 0U);
  EXPECT_EQ(text.view(), "idp:other");
}

TEST(TagText, ReportsThePositionsOfItsTags) {
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
