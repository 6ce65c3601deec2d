#include "haricot/queue/tombstones.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/job_tags.hpp"

namespace haricot {
namespace {

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
  EXPECT_EQ(jobs.unique_key(left), "k");
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

}  // namespace
}  // namespace haricot
