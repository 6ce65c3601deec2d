#include "tool/client/put_tags.hpp"

#include <gtest/gtest.h>

#include <string>

#include "haricot/protocol/limits.hpp"

namespace haricot::tool {
namespace {

// Returns the text of a tag, or "-" if it is refused.
std::string added(std::string_view word, std::string_view value) {
  PutTags tags;
  return tags.add(word, value) ? tags.text() : tags.empty() ? "-" : "refused, but there";
}

TEST(PutTags, ValuesAreThoseThatAServerTakes) {
  EXPECT_EQ(added(kTriesTag, "1"), " try:1");
  EXPECT_EQ(added(kTriesTag, "65535"), " try:65535");
  EXPECT_EQ(added(kLaneTag, "a"), " con:a");
  EXPECT_EQ(added(kLaneTag, "a:65535"), " con:a:65535");
  EXPECT_EQ(added(kUniqueTag, "a"), " idp:a");
  EXPECT_EQ(added(kUniqueTag, std::string(100, 'k')), " idp:" + std::string(100, 'k'));
  for (const char* value : {"", "0", "65536", "-1", "+1", "1 ", " 1", "1 con:a", "x"}) {
    EXPECT_EQ(added(kTriesTag, value), "-") << value;
  }
  for (const char* value : {"", ":1", "a:", "a:0", "a:65536", "a:x", "a b", "a:1 try:3", "a,"}) {
    EXPECT_EQ(added(kLaneTag, value), "-") << value;
  }
  EXPECT_EQ(added(kUniqueTag, "a:1"), " idp:a:1");
  EXPECT_EQ(added(kUniqueTag, "a:4294967295"), " idp:a:4294967295");
  for (const char* value : {"", ":1", "a:", "a:0", "a:4294967296", "a:5m", "a:1:1", "a b",
                            "a:1 try:3", "a try:3", "a\r\n"}) {
    EXPECT_EQ(added(kUniqueTag, value), "-") << value;
  }
  EXPECT_EQ(added(kUniqueTag, std::string(101, 'k')), "-");
}

TEST(PutTags, SeveralFollowEachOther) {
  PutTags tags;
  EXPECT_TRUE(tags.empty());
  EXPECT_TRUE(tags.add(kTriesTag, "3"));
  EXPECT_FALSE(tags.add(kLaneTag, "a b"));
  EXPECT_TRUE(tags.add(kUniqueTag, "a"));
  EXPECT_EQ(tags.text(), " try:3 idp:a");
  EXPECT_EQ(put_line({1, 2, 3, 4}, tags), "put 1 2 3 4 try:3 idp:a\r\n");
  EXPECT_EQ(put_line({4294967295, 0, 60, 0}, {}), "put 4294967295 0 60 0\r\n");
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
