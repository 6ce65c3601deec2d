#include "haricot/queue/unique_keys.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "support/engine_world.hpp"

namespace haricot {
namespace {

class UniqueKeysTest : public ::testing::Test {
 protected:
  JobRef job(JobId id, std::string_view tags, TubeRef tube = TubeRef{1}) {
    const JobRef ref = jobs.create(id, test::body_of_bytes("body"), tags);
    jobs[ref].tube = tube;
    return ref;
  }
  JobRef holder(TubeRef tube, std::string_view key) const { return keys.find(tube, key).owner; }
  void hold(JobRef ref) {
    const std::uint64_t hash = keys.find(jobs[ref].tube, jobs.unique_key(ref)).hash;
    ASSERT_TRUE(keys.take(ref, hash));
  }

  JobStore jobs;
  UniqueKeys keys{jobs, HashKey{1, 2}};
};

TEST_F(UniqueKeysTest, AHolderIsFoundByItsTubeAndKey) {
  const JobRef one = job(1, "idp:k");
  const JobRef other = job(2, "idp:k", TubeRef{2});
  EXPECT_FALSE(keys.owns(one));
  hold(one);
  EXPECT_TRUE(keys.owns(one));
  EXPECT_EQ(holder(TubeRef{1}, "k"), one);
  EXPECT_EQ(holder(TubeRef{2}, "k"), JobRef::none);
  EXPECT_EQ(holder(TubeRef{1}, "kk"), JobRef::none);
  EXPECT_EQ(holder(TubeRef{1}, ""), JobRef::none);
  hold(other);
  EXPECT_EQ(holder(TubeRef{1}, "k"), one);
  EXPECT_EQ(holder(TubeRef{2}, "k"), other);
  EXPECT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys.memory_bytes(), 2 * UniqueKeys::kBytesOfKey);
}

TEST_F(UniqueKeysTest, AKeyIsTakenOver) {
  const JobRef before = job(1, "idp:k");
  const JobRef after = job(2, "idp:k");
  hold(before);
  hold(after);
  keys.release(before);
  EXPECT_EQ(holder(TubeRef{1}, "k"), after);
  EXPECT_FALSE(keys.owns(before));
  keys.release(before);
  EXPECT_EQ(keys.size(), 1U);
  keys.release(after);
  EXPECT_EQ(holder(TubeRef{1}, "k"), JobRef::none);
  EXPECT_EQ(keys.size(), 0U);
}

TEST_F(UniqueKeysTest, AJobWithoutAKeyHoldsNone) {
  JobId id = 0;
  for (const std::string_view tags : {"", "try:3", "con:k", "idp:k:0", "later:idp:k"}) {
    const JobRef ref = job(++id, tags);
    EXPECT_FALSE(jobs.has(ref, Tag::unique)) << tags;
    EXPECT_FALSE(keys.owns(ref)) << tags;
    if (!tags.empty()) keys.release(ref);
  }
}

TEST_F(UniqueKeysTest, ManyComeAndGo) {
  std::vector<JobRef> refs;
  const auto tube_of = [](JobId id) { return id % 2 == 0 ? TubeRef{1} : TubeRef{2}; };
  for (JobId id = 1; id <= 3000; ++id) {
    refs.push_back(job(id, "idp:key-" + std::to_string(id / 2), tube_of(id)));
    hold(refs.back());
  }
  for (JobId id = 1; id <= 3000; id += 3) {
    keys.release(refs[id - 1]);
    jobs.destroy(refs[id - 1]);
  }
  for (JobId id = 1; id <= 3000; ++id) {
    const JobRef expected = id % 3 == 1 ? JobRef::none : refs[id - 1];
    EXPECT_EQ(holder(tube_of(id), "key-" + std::to_string(id / 2)), expected) << id;
  }
  EXPECT_EQ(keys.size(), 2000U);
}

// The KeyNode of a job is between its body and its tags, and does not overlap either.
TEST(JobStoreWithKeys, KeepsBodyTagsAndNodesOfEachJob) {
  const std::string longest = "try:65535 idp:" + std::string(kKeyBytesMax, 'k');
  for (const bool has_notes : {false, true}) {
    JobStore store(has_notes);
    JobId id = 0;
    for (std::size_t bytes : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 100U, 1023U, 1024U, 1025U}) {
      for (const std::string& tags :
           {std::string("idp:k"), std::string("idp:kk"), std::string("con:l idp:kkk"),
            std::string("try:3 con:ll:2 idp:kkkk"), longest}) {
        const std::string body(bytes, 'b');
        const std::uint64_t before = store.memory_bytes();
        const JobRef ref = store.create(++id, test::body_of_bytes(body), tags);
        ASSERT_NE(ref, JobRef::none);
        EXPECT_EQ(store.memory_bytes() - before,
                  store.memory_bytes_for(bytes, JobStore::tag_bytes_of(tags)));
        EXPECT_TRUE(store.has(ref, Tag::unique));
        KeyNode& node = store.node<Tag::unique>(ref);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&node) % alignof(KeyNode), 0U);
        EXPECT_EQ(node.job, JobRef::none);
        node.hash = ~std::uint64_t{0};
        node.job = JobRef{~std::uint32_t{0}};
        std::memset(&node.next_in_bucket, 0xff, sizeof node.next_in_bucket);
        if (has_notes) store.journal_fields(ref).set_stamp(-1);
        const bool has_lane = !tags_in(tags).lane.empty();
        if (has_lane) std::memset(&store.node<Tag::lane>(ref), 0xff, sizeof(LaneNode));
        EXPECT_EQ(store.has_lane(ref, store[ref]), has_lane);
        EXPECT_EQ(store.body(ref), body);
        EXPECT_EQ(store.tags(ref), tags);
        EXPECT_EQ(store.unique_key(ref), tags_in(tags).unique_key);
        EXPECT_EQ(store.tries(ref), tags_in(tags).tries);
        EXPECT_EQ(store.node<Tag::unique>(ref).hash, ~std::uint64_t{0});
      }
    }
  }
}

// Without its bytes in the text, and with its entry in the table.
TEST(JobStoreWithKeys, AKeyTakesAtMost64BytesBesides) {
  const JobStore store(true);
  for (std::size_t body = 0; body < 64; ++body) {
    for (std::size_t bytes = 1; bytes <= kKeyBytesMax; ++bytes) {
      const std::string tags = "idp:" + std::string(bytes, 'k');
      const std::uint64_t with_key = store.memory_bytes_for(body, JobStore::tag_bytes_of(tags));
      // A bucket of the table has one job or more; sometimes every other one is empty.
      EXPECT_LE(with_key + 2 * UniqueKeys::kBytesOfKey - store.memory_bytes_for(body), bytes + 64);
    }
  }
}

}  // namespace
}  // namespace haricot
