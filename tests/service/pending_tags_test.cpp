#include "haricot/service/pending_tags.hpp"

#include <gtest/gtest.h>

#include <string>

#include "service/service_world.hpp"
#include "support/allocations.hpp"

namespace haricot {
namespace {

bool keep(PendingTags& tags, JobId id, std::string_view text) {
  JobTags read;
  EXPECT_TRUE(read_tags(text, read));
  return tags.keep(id, text, read);
}

// Keeps the tags, and then destroys their line.
bool keep_without_line(PendingTags& tags, JobId id, std::string line) {
  const bool is_kept = keep(tags, id, line);
  tags.release_line();
  line.assign(line.size(), '?');
  return is_kept;
}

TEST(PendingTags, OnePutAtATimeNeedsNoAllocation) {
  PendingTags tags;
  for (JobId id = 1; id <= 3; ++id) {
    const std::int64_t before = test::made_allocations();
    ASSERT_TRUE(keep_without_line(tags, id, "idp:key-" + std::to_string(id) + " try:2"));
    const ReadTags& kept = tags.find(id);
    EXPECT_EQ(kept.text, "try:2 idp:key-" + std::to_string(id));
    EXPECT_EQ(kept.tags.unique_key, "key-" + std::to_string(id));
    EXPECT_EQ(kept.tags.tries, 2U);
    tags.forget(id);
    EXPECT_EQ(test::made_allocations(), before);
  }
}

TEST(PendingTags, AreCopiedOnlyWhenTheirLineIsReleased) {
  PendingTags tags;
  const std::string_view line = "idp:key";
  ASSERT_TRUE(keep(tags, 1, line));
  EXPECT_EQ(tags.find(1).text.data(), line.data());
  EXPECT_EQ(tags.find(1).tags.unique_key.data(), line.data() + 4);
  tags.release_line();
  EXPECT_NE(tags.find(1).text.data(), line.data());
  EXPECT_EQ(tags.find(1).text, line);
  EXPECT_EQ(tags.find(1).tags.unique_key, "key");
  tags.forget(1);
  tags.release_line();
}

TEST(PendingTags, AreReorderedAtOnce) {
  PendingTags tags;
  ASSERT_TRUE(keep(tags, 1, "idp:key try:2"));
  EXPECT_EQ(tags.find(1).text, "try:2 idp:key");
}

TEST(PendingTags, AreKeptForSeveralPuts) {
  PendingTags tags;
  for (JobId id = 1; id <= 4; ++id) {
    ASSERT_TRUE(keep_without_line(tags, id, "con:c idp:key-" + std::to_string(id)));
  }
  tags.forget(2);
  tags.forget(4);
  tags.forget(7);
  ASSERT_TRUE(keep(tags, 5, "try:5"));
  EXPECT_EQ(tags.find(5).tags.tries, 5U);
  for (const JobId id : {3U, 1U, 3U}) {
    EXPECT_EQ(tags.find(id).tags.unique_key, "key-" + std::to_string(id));
    EXPECT_EQ(tags.find(id).tags.lane, "c");
    EXPECT_EQ(tags.find(id).text, "con:c idp:key-" + std::to_string(id));
  }
}

TEST(PendingTags, KeepTheTimeOfAKey) {
  PendingTags tags;
  ASSERT_TRUE(keep_without_line(tags, 1, "idp:one:060 try:2"));
  ASSERT_TRUE(keep_without_line(tags, 2, "idp:two:4294967295"));
  ASSERT_TRUE(keep_without_line(tags, 3, "idp:three"));
  EXPECT_EQ(tags.find(1).text, "try:2 idp:one:60");
  EXPECT_EQ(tags.find(1).tags.tombstone_s, 60U);
  EXPECT_EQ(tags.find(2).tags.tombstone_s, kTombstoneSecondsMax);
  EXPECT_EQ(tags.find(3).tags.tombstone_s, 0U);
}

TEST(PendingTags, FailWithoutMemoryAndChangeNothing) {
  PendingTags tags;
  ASSERT_TRUE(keep_without_line(tags, 1, "idp:one"));
  bool is_kept = true;
  {
    const test::AllocationFailure failure;
    is_kept = keep(tags, 2, "idp:two");
  }
  EXPECT_FALSE(is_kept);
  EXPECT_EQ(tags.find(1).tags.unique_key, "one");
}

// Bodies of several connections arrive in pieces, alternately.
TEST(PendingTags, BelongToTheirPutsWhileBodiesArrive) {
  test::ServiceWorld world;
  Session& one = world.connect();
  Session& two = world.connect();
  Session& three = world.connect();
  world.send(one, "put 1 0 60 2 idp:one\r\na");
  world.send(two, "put 1 0 60 2 idp:two\r\na");
  world.send(three, "put 1 0 60 2 idp:three\r\n");
  EXPECT_EQ(world.ask(one, "b\r\n"), "INSERTED 1\r\n");
  world.disconnect(three);
  EXPECT_EQ(world.ask(two, "b\r\nput 1 0 60 1 idp:two\r\nx\r\nput 1 0 60 1 idp:one\r\nx\r\n"),
            "INSERTED 2\r\nINSERTED 2 READY\r\nINSERTED 1 READY\r\n");
  EXPECT_EQ(world.ask(one, "put 1 0 60 1 idp:three\r\nx\r\n"), "INSERTED 6\r\n");
  world.service.engine().check_invariants();
}

TEST(PendingTagsDeathTest, FindingMissingTagsAborts) {
  PendingTags tags;
  EXPECT_DEATH(tags.find(7), "found != others_.end");
  ASSERT_TRUE(keep(tags, 1, "idp:one"));
  EXPECT_DEATH((void)keep(tags, 1, "idp:two"), "last_id_");
}

}  // namespace
}  // namespace haricot
