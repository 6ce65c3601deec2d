#include "tool/client/put_tags.hpp"

#include <gtest/gtest.h>

#include <string>

#include "haricot/protocol/command.hpp"

namespace haricot::tool {
namespace {

// Returns the text of a tag, or "-" if it is refused.
std::string added(Tag tag, std::string_view value) {
  PutTags tags;
  return tags.add(tag, value) ? tags.text() : tags.empty() ? "-" : "refused, but there";
}

TEST(PutTags, ValuesAreThoseThatAServerTakes) {
  EXPECT_EQ(added(Tag::tries, "1"), " try:1");
  EXPECT_EQ(added(Tag::tries, "65535"), " try:65535");
  EXPECT_EQ(added(Tag::lane, "a"), " con:a");
  EXPECT_EQ(added(Tag::lane, "a:65535"), " con:a:65535");
  EXPECT_EQ(added(Tag::unique, "a"), " idp:a");
  EXPECT_EQ(added(Tag::unique, std::string(100, 'k')), " idp:" + std::string(100, 'k'));
  for (const char* value : {"", "0", "65536", "-1", "+1", "1 ", " 1", "1 con:a", "x"}) {
    EXPECT_EQ(added(Tag::tries, value), "-") << value;
  }
  for (const char* value : {"", ":1", "a:", "a:0", "a:65536", "a:x", "a b", "a:1 try:3", "a,"}) {
    EXPECT_EQ(added(Tag::lane, value), "-") << value;
  }
  EXPECT_EQ(added(Tag::unique, "a:1"), " idp:a:1");
  EXPECT_EQ(added(Tag::unique, "a:4294967295"), " idp:a:4294967295");
  for (const char* value : {"", ":1", "a:", "a:0", "a:4294967296", "a:5m", "a:1:1", "a b",
                            "a:1 try:3", "a try:3", "a\r\n"}) {
    EXPECT_EQ(added(Tag::unique, value), "-") << value;
  }
  EXPECT_EQ(added(Tag::unique, std::string(101, 'k')), "-");
}

TEST(PutTags, SeveralFollowEachOther) {
  PutTags tags;
  EXPECT_TRUE(tags.empty());
  EXPECT_TRUE(tags.add(Tag::tries, "3"));
  EXPECT_FALSE(tags.add(Tag::lane, "a b"));
  EXPECT_TRUE(tags.add(Tag::unique, "a"));
  EXPECT_EQ(tags.text(), " try:3 idp:a");
  EXPECT_EQ(put_line({1, 2, 3, 4}, tags), "put 1 2 3 4 try:3 idp:a\r\n");
  EXPECT_EQ(put_line({4294967295, 0, 60, 0}, {}), "put 4294967295 0 60 0\r\n");
}

TEST(PutTags, HaveTheFormInWhichJobsHaveThem) {
  EXPECT_EQ(added(Tag::tries, "007"), " try:7");
  EXPECT_EQ(added(Tag::lane, "a:1"), " con:a");
}

// A server refuses a put with both, and would read its body as commands.
TEST(PutTags, NoneIsAddedThatExcludesAnotherOne) {
  PutTags tags;
  EXPECT_TRUE(tags.add(Tag::group, "a"));
  EXPECT_FALSE(tags.add(Tag::after, "a"));
  EXPECT_EQ(tags.text(), " grp:a");
  EXPECT_TRUE(tags.add(Tag::after, "b"));
  EXPECT_EQ(tags.value(Tag::group), "a");
  EXPECT_EQ(tags.value(Tag::after), "b");
  EXPECT_FALSE(tags.has(Tag::lane));
}

// The line says so: is_too_long().
TEST(PutTags, MayBeMoreThanALineHasRoomFor) {
  PutTags tags;
  for (const Tag tag : {Tag::lane, Tag::unique, Tag::group}) {
    EXPECT_TRUE(tags.add(tag, std::string(100, 'k')));
  }
  EXPECT_TRUE(is_too_long(put_line({}, tags)));
}

TEST(PutTags, ALineHasALongestLength) {
  const std::string line(kLineBytesMax, 'x');
  EXPECT_FALSE(is_too_long(line));
  EXPECT_TRUE(is_too_long(line + "x"));
}

TEST(PutTags, OfAListedJobAreThoseThatAreKnown) {
  const auto job =
      StatsText::parse("---\nid: 1\nidp: \"7\"\ntube: \"a\"\ncon: \"a b\"\ntry: 3\nnew: 4\n");
  ASSERT_TRUE(job);
  EXPECT_EQ(tags_of(*job).text(), " try:3 idp:7");
}

TEST(PutTags, OfACopyAreThoseOfTheirRows) {
  std::string text = "---\nid: 1\n";
  for (const TagRow& row : kTagTable) text.append(row.word).append(": 7\n");
  const auto job = StatsText::parse(text);
  const auto held = StatsText::parse(text + "held: true\n");
  ASSERT_TRUE(job && held);
  for (const TagRow& row : kTagTable) {
    if (row.tag == Tag::after) continue;  // It excludes the group of the same name.
    EXPECT_TRUE(tags_of(*job).has(row.tag)) << row.word;
  }
  EXPECT_FALSE(is_copied(row_of(Tag::after), false));
  EXPECT_TRUE(is_copied(row_of(Tag::after), true));
}

TEST(KeyOwner, IsReadFromTheAnswerToAPut) {
  const auto owner = read_key_owner("INSERTED 18446744073709551615 RESERVED");
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->id, 18446744073709551615U);
  EXPECT_EQ(owner->state, "reserved");
  EXPECT_FALSE(owner->priority);
  EXPECT_EQ(describe(*owner), "the key is taken: job 18446744073709551615, reserved");
  const auto raised = read_key_owner("INSERTED 7 DELAYED 0");
  ASSERT_TRUE(raised);
  EXPECT_EQ(raised->priority, 0U);
  EXPECT_EQ(describe(*raised), "the key is taken: job 7, delayed, now with priority 0");
  const auto gone = read_key_owner("INSERTED 7 DELETED");
  ASSERT_TRUE(gone);
  EXPECT_EQ(describe(*gone), "the key is still taken: job 7, deleted");
}

TEST(KeyOwner, IsInNoOtherAnswer) {
  for (const char* line : {"", "INSERTED", "INSERTED 7", "INSERTED READY", "INSERTED 7 ready",
                           "INSERTED 7 READY x", "INSERTED 7 READY 1 2", "INSERTED x READY",
                           "INSERTED 7  READY", "BURIED 7", "BURIED 7 READY", "FOUND 7 READY"}) {
    EXPECT_FALSE(read_key_owner(line)) << line;
  }
}

}  // namespace
}  // namespace haricot::tool
