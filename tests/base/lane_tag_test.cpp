// The tag con:<key>[:<n>].

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "haricot/base/job_tags.hpp"

namespace haricot {
namespace {

TEST(LaneTag, HasAKeyAndALimitOfOne) {
  JobTags tags;
  ASSERT_TRUE(read_tags("con:key", tags));
  EXPECT_EQ(tags.lane, "key");
  EXPECT_EQ(tags.lane_limit, 1U);
}

TEST(LaneTag, HasTheLimitThatItNames) {
  JobTags tags;
  for (const std::uint32_t limit : {1U, 2U, kLaneLimitMax}) {
    const std::string text = "con:a-+/;.$_()Z9:" + std::to_string(limit);
    ASSERT_TRUE(read_tags(text, tags)) << text;
    EXPECT_EQ(tags.lane, "a-+/;.$_()Z9");
    EXPECT_EQ(tags.lane_limit, limit);
  }
}

TEST(LaneTag, IsRefusedIfAnythingIsWrong) {
  const std::string key(kKeyBytesMax, 'k');
  JobTags tags;
  EXPECT_TRUE(read_tags("con:" + key + ":65535", tags));
  for (const std::string& text :
       {std::string("con"), std::string("con:"), std::string("con::1"), std::string("con:k:"),
        std::string("con:k:0"), std::string("con:k:65536"), std::string("con:k:-1"),
        std::string("con:k:1:1"), std::string("con:k,k"), std::string("con:k con:k"),
        std::string("con:k:x"), std::string("con:k:4294967297"), "con:k" + key}) {
    EXPECT_FALSE(read_tags(text, tags)) << text;
  }
}

TEST(LaneTag, IsKeptInOneForm) {
  JobTags tags;
  ASSERT_TRUE(read_tags("con:key:2 try:3", tags));
  EXPECT_EQ(TagText(tags).view(), "try:3 con:key:2");
  ASSERT_TRUE(read_tags("con:key:1", tags));
  EXPECT_EQ(TagText(tags).view(), "con:key");
  ASSERT_TRUE(read_tags("con:key:007", tags));
  EXPECT_EQ(TagText(tags).view(), "con:key:7");
}

TEST(LaneTag, IsFoundAmongOthersInATextThatIsKept) {
  const JobTags tags = tags_in("new:a con:key:2 newer:b");
  EXPECT_EQ(tags.lane, "key");
  EXPECT_EQ(tags.lane_limit, 2U);
}

}  // namespace
}  // namespace haricot
