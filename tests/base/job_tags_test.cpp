#include "haricot/base/job_tags.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace haricot {
namespace {

TEST(JobTags, AreReadFromTheirText) {
  JobTags tags;
  ASSERT_TRUE(read_tags("try:1", tags));
  EXPECT_EQ(tags.tries, 1U);
  ASSERT_TRUE(read_tags("try:65535", tags));
  EXPECT_EQ(tags.tries, 65535U);
}

TEST(JobTags, AreRefusedWhereAnythingIsWrong) {
  const std::string too_long = "try:" + std::string(kTagTextBytesMax, '1');
  for (const std::string_view text : {std::string_view(),
                                      std::string_view(" "),
                                      std::string_view("try"),
                                      std::string_view("try:"),
                                      std::string_view("try:0"),
                                      std::string_view("try:65536"),
                                      std::string_view("try:4294967297"),
                                      std::string_view("try:-1"),
                                      std::string_view("try:+1"),
                                      std::string_view("try:1x"),
                                      std::string_view("try:1 "),
                                      std::string_view(" try:1"),
                                      std::string_view("try:1 try:1"),
                                      std::string_view("try:1  try:2"),
                                      std::string_view(":1"),
                                      std::string_view("tr:1"),
                                      std::string_view("tryy:1"),
                                      std::string_view("Try:1"),
                                      std::string_view("try :1"),
                                      std::string_view("unknown:1"),
                                      std::string_view("try:1\tx"),
                                      std::string_view("try:\0001", 6),
                                      std::string_view(too_long)}) {
    JobTags tags;
    EXPECT_FALSE(read_tags(text, tags)) << text;
  }
}

TEST(JobTags, AreWrittenInOneForm) {
  JobTags tags;
  ASSERT_TRUE(read_tags("try:007", tags));
  EXPECT_EQ(TagText(tags).view(), "try:7");
  EXPECT_TRUE(TagText(JobTags{}).empty());
}

TEST(JobTags, OfALaterVersionArePassedOver) {
  EXPECT_EQ(tags_in("new:a:b try:5 newer:1").tries, 5U);
  EXPECT_EQ(tags_in("new try:x").tries, 0U);
  EXPECT_EQ(tags_in("").tries, 0U);
}

TEST(TagText, TakesAsMuchAsALineHas) {
  TagText text;
  EXPECT_TRUE(text.has_room(kTagTextBytesMax));
  text.add(std::string(kTagTextBytesMax - 3, 'a'));
  text.add(std::uint64_t{123});
  EXPECT_FALSE(text.has_room(1));
  EXPECT_EQ(text.view(), std::string(kTagTextBytesMax - 3, 'a') + "123");
  text.clear();
  EXPECT_TRUE(text.empty());
}

TEST(JobTags, ATextOfAJobHasThemInTheirOrder) {
  for (const char* const text : {"", "try:3", "con:a:2 idp:b", "try:1 con:a idp:b:5"}) {
    EXPECT_TRUE(is_tag_text(text)) << text;
  }
  for (const char* const text : {" con:a", "idp:b con:a", "con:a:1", "con:", "con:a con:a",
                                 "con:a ", "new:a", "con:a\r\n"}) {
    EXPECT_FALSE(is_tag_text(text)) << text;
  }
  EXPECT_FALSE(is_tag_text(std::string(kTagTextBytesMax + 1, 'x')));
}

}  // namespace
}  // namespace haricot
