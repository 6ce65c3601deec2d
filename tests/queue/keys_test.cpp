#include "haricot/queue/keys.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/job_tags.hpp"
#include "queue/parts.hpp"
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
    const std::uint64_t hash = keys.find(jobs[ref].tube, jobs.key<Tag::unique>(ref)).hash;
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
        EXPECT_EQ(store.key<Tag::unique>(ref), tags_in(tags).unique_key);
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

Instant at(std::int64_t nanoseconds) {
  return Instant::at(nanoseconds);
}

class TombstonesTest : public ::testing::Test {
 protected:
  void TearDown() override { keys.check_invariants(); }

  JobRef tombstone_of(JobId id, std::string_view tube_name, std::string_view key) {
    TagText text;
    const JobTags tags = text.write_tombstone_key(key, 60);
    return jobs.create_tombstone(id, tube_name, {text.view(), tags});
  }
  JobRef add(JobId id, std::string_view tube_name, std::string_view key, Instant end) {
    const JobRef ref = tombstone_of(id, tube_name, key);
    EXPECT_TRUE(keys.add(ref, end));
    return ref;
  }
  void drop(JobRef ref) {
    keys.release(ref);
    jobs.destroy_tombstone(ref);
  }

  JobStore jobs;
  Tombstones keys{jobs, HashKey{1, 2}};
};

TEST_F(TombstonesTest, AreFoundByTheNameOfTheTubeAndTheKey) {
  const JobRef one = add(1, "a", "k", at(10));
  const JobRef other = add(2, "b", "k", at(10));
  const JobRef turned = add(3, "k", "a", at(10));
  EXPECT_EQ(keys.find("a", "k"), one);
  EXPECT_EQ(keys.find("b", "k"), other);
  EXPECT_EQ(keys.find("k", "a"), turned);
  EXPECT_EQ(keys.find("a", "b"), JobRef::none);
  EXPECT_EQ(keys.find("", "ak"), JobRef::none);
  EXPECT_EQ(keys.size(), 3U);
  const HashKey hash_key{1, 2};
  EXPECT_EQ(keys.find("b", hash_of(hash_key, "b"), "k", hash_of(hash_key, "k")), other);
  drop(one);
  EXPECT_EQ(keys.find("a", "k"), JobRef::none);
  EXPECT_EQ(keys.find("b", "k"), other);
}

TEST_F(TombstonesTest, EndInTheirOrder) {
  EXPECT_EQ(keys.next_end(), Instant::never());
  const JobRef last = add(1, "t", "a", at(30));
  const JobRef first = add(2, "t", "b", at(10));
  const JobRef second = add(3, "t", "c", at(20));
  for (const JobRef ref : {first, second, last}) {
    EXPECT_EQ(keys.first(), ref);
    EXPECT_EQ(keys.next_end(), Tombstones::end_of(jobs[ref]));
    keys.check_invariants();
    drop(ref);
  }
  EXPECT_EQ(keys.next_end(), Instant::never());
  EXPECT_EQ(keys.size(), 0U);
}

TEST_F(TombstonesTest, AreReleasedInAnyOrder) {
  constexpr JobId kMany = 2000;
  std::vector<JobRef> refs;
  for (JobId id = 1; id <= kMany; ++id) {
    const auto end = static_cast<std::int64_t>(id * 7919 % kMany);
    refs.push_back(add(id, "t", "k" + std::to_string(id), at(end)));
  }
  keys.check_invariants();
  EXPECT_EQ(keys.memory_bytes(), kMany * sizeof(KeyNode*));
  for (std::size_t i = 0; i < refs.size(); i += 2) drop(refs[i]);
  keys.check_invariants();
  EXPECT_EQ(keys.size(), kMany / 2);
  for (std::size_t i = 0; i < refs.size(); ++i) {
    const JobRef found = keys.find("t", "k" + std::to_string(i + 1));
    EXPECT_EQ(found, i % 2 == 0 ? JobRef::none : refs[i]);
  }
  for (std::size_t i = 1; i < refs.size(); i += 2) drop(refs[i]);
  EXPECT_EQ(jobs.memory_bytes() + keys.memory_bytes(), 0U);
}

TEST_F(TombstonesTest, KnowTheSizeOfTheirRecords) {
  const JobRef one = add(1, "tube", "k", at(10));
  const JobRef other = add(2, "t", "key", at(10));
  EXPECT_EQ(keys.room_of({}), TombstoneRoom{});
  EXPECT_EQ(keys.room_of(std::vector{JobRef::none}), TombstoneRoom{});
  EXPECT_EQ(keys.room_of(std::vector{one, JobRef::none, other}),
            (TombstoneRoom{.keys = 2, .bytes = 4 + 1 + 1 + 3}));
}

TEST_F(TombstonesTest, RemainsAreNoJobs) {
  const JobRef job = jobs.create(7, NewBody{.bytes = "body", .blob = {}}, "idp:k:60");
  const std::uint64_t with_job = jobs.memory_bytes();
  const JobRef left = add(7, "tube", "k", at(10));
  EXPECT_EQ(jobs.find(7), job);
  EXPECT_EQ(jobs.find_tombstone(7), left);
  EXPECT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs.tombstones(), 1U);
  EXPECT_EQ(jobs.tube_name_of(left), "tube");
  EXPECT_EQ(jobs.tags(left), "idp:k:60");
  EXPECT_EQ(jobs.key<Tag::unique>(left), "k");
  EXPECT_EQ(jobs.tombstone_seconds(left), 60U);
  const std::size_t tag_bytes = JobStore::tag_bytes_of(jobs.tags(left));
  EXPECT_EQ(jobs.memory_bytes(), with_job + jobs.memory_bytes_for(4, tag_bytes));
  jobs.destroy(job);
  EXPECT_EQ(jobs.find(7), JobRef::none);
  EXPECT_EQ(jobs.first_from(0), JobRef::none);
  EXPECT_EQ(jobs.find_tombstone(7), left);
  EXPECT_EQ(jobs.first_tombstone_from(0), left);
  EXPECT_EQ(jobs.first_tombstone_from(8), JobRef::none);
  drop(left);
  EXPECT_EQ(jobs.find_tombstone(7), JobRef::none);
  EXPECT_EQ(jobs.memory_bytes(), 0U);
}

class KeysTest : public test::Parts {};

TEST_F(KeysTest, AJobHasItsKeyUntilItIsDestroyed) {
  EXPECT_EQ(keys.find(tube, "k").owner, JobRef::none);
  const JobRef ref = make_ready("idp:k");
  EXPECT_EQ(keys.find(tube, "k").owner, ref);
  EXPECT_EQ(keys.find(*state.tubes.find_or_create("other"), "k").owner, JobRef::none);
  EXPECT_FALSE(keys.outlives(ref));
  destroy(ref);
  EXPECT_EQ(keys.find(tube, "k").owner, JobRef::none);
}

TEST_F(KeysTest, AKeyWithATimeOutlivesItsJob) {
  const JobRef ref = make_ready("idp:k:60");
  ASSERT_TRUE(keys.outlives(ref));
  const JobRef tombstone_ref = keys.make_tombstone(ref);
  ASSERT_NE(tombstone_ref, JobRef::none);
  EXPECT_EQ(keys.tombstone(tombstone_ref).key, "k");
  EXPECT_EQ(keys.tombstone(tombstone_ref).tube_name, "default");
  destroy(ref);
  EXPECT_EQ(keys.find(tube, "k").tombstone, tombstone_ref);
  EXPECT_EQ(keys.next_event(), state.now + Duration::seconds(60));
  pass(Duration::seconds(60));
  EXPECT_EQ(journal.forgotten, std::vector<JobRef>{tombstone_ref});
  EXPECT_EQ(keys.find(tube, "k").tombstone, JobRef::none);
  EXPECT_EQ(state.jobs.tombstones(), 0U);
}

TEST_F(KeysTest, RemainsAreMadeForAllJobsOrForNone) {
  const std::vector<JobRef> refs = {make_ready("idp:a:60"), make_ready(), make_ready("idp:b:60")};
  std::vector<JobRef> tombstone_refs;
  ASSERT_TRUE(keys.make_tombstones(refs, tombstone_refs));
  ASSERT_EQ(tombstone_refs.size(), 3U);
  EXPECT_EQ(tombstone_refs[1], JobRef::none);
  EXPECT_EQ(keys.room_of(tombstone_refs).keys, 2U);
  keys.unmake_tombstones(tombstone_refs);
  EXPECT_EQ(state.jobs.tombstones(), 0U);
  for (const JobRef ref : refs) destroy(ref);
}

TEST_F(KeysTest, OfSeveralThatComeBackTheOneWithTheHighestIdHoldsAKey) {
  const JobRef older = make_ready("idp:k");
  const JobRef newer = state.jobs.create(99, {.bytes = "body", .blob = {}}, "idp:k");
  state.jobs[newer].tube = tube.ref;
  ASSERT_TRUE(extras.restore(newer));
  EXPECT_EQ(keys.find(tube, "k").owner, newer);
  destroy(older);
  EXPECT_EQ(keys.find(tube, "k").owner, newer);
}

}  // namespace

}  // namespace haricot
