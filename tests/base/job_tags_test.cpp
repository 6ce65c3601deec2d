#include "haricot/base/job_tags.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

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

// Values of a form: the shortest and longest ones, in the form in which a text of a job has them.
std::vector<std::string> values_of(const TagValue& form) {
  std::vector<std::string> values = {"a", std::string(kKeyBytesMax, 'k')};
  if (form.key == nullptr) values = {"1", std::to_string(form.head.max)};
  const std::string max = std::to_string(form.tail.max);
  if (form.tail.exists()) values.insert(values.end(), {values[0] + ":" + max, values[0] + ":2"});
  return values;
}

TEST(TagTable, EachRowReadsAndWritesTheValuesOfItsForm) {
  for (const TagRow& row : kTagTable) {
    for (const std::string& value : values_of(row.value)) {
      const std::string text = std::string(row.word) + ":" + value;
      JobTags tags;
      ASSERT_TRUE(read_tags(text, tags)) << text;
      EXPECT_EQ(tags.set, TagSet{row.tag}) << text;
      EXPECT_EQ(TagText(tags).view(), text);
      EXPECT_EQ(tags_in(text).set, TagSet{row.tag}) << text;
      EXPECT_EQ(value_in(text, row.tag), value);
      EXPECT_FALSE(read_tags(text + " " + text, tags)) << text;
    }
    const auto beyond = [](const TagNumber& n) { return std::to_string(std::uint64_t{n.max} + 1); };
    const bool has_key = row.value.key != nullptr;
    const std::string head = has_key ? "a" : "1";
    const std::string bad_head = has_key ? "" : beyond(row.value.head);
    for (const std::string& value :
         {std::string(), std::string("a b"), std::string(":"), std::string(has_key ? "" : "0"),
          bad_head, head + ":" + beyond(row.value.tail), head + ":0", head + ":"}) {
      JobTags tags;
      EXPECT_FALSE(read_tags(std::string(row.word) + ":" + value, tags)) << row.word << value;
    }
  }
}

TEST(TagTable, EachRowHasAWordAndAFlagOfItsOwn) {
  for (const TagRow& row : kTagTable) {
    EXPECT_EQ(find_tag(row.word), &row);
    EXPECT_EQ(&row_of(row.tag), &row);
    EXPECT_EQ(row.word.find(':'), std::string_view::npos);
    EXPECT_FALSE(row.help.empty() || row.metavar.empty()) << row.word;
    for (const TagRow& other : kTagTable) {
      EXPECT_EQ(other.flag == row.flag, &other == &row) << row.flag;
    }
  }
  EXPECT_EQ(find_tag("new"), nullptr);
  EXPECT_EQ(find_tag(""), nullptr);
}

TEST(TagTable, ATextHasValuesOfGoodTagsOnly) {
  EXPECT_EQ(value_in("try:1 con:a:2 new:b idp:c", Tag::lane), "a:2");
  EXPECT_EQ(value_in("try:1 con:a:0", Tag::lane), "");
  EXPECT_EQ(value_in("try:1", Tag::unique), "");
  EXPECT_EQ(value_in("", Tag::tries), "");
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
