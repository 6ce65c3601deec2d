#include "haricot/queue/lanes.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "queue/parts.hpp"
#include "support/engine_world.hpp"

namespace haricot {
namespace {

class LanesTest : public ::testing::Test {
 protected:
  JobRef job(JobId id, std::uint32_t priority, std::string_view tags = "con:k") {
    const JobRef ref = jobs.create(id, test::body_of_bytes("body"), tags);
    jobs[ref].priority = priority;
    return ref;
  }

  JobStore jobs;
  Lanes lanes{jobs, HashKey{}};
};

TEST_F(LanesTest, ALaneIsFoundByItsTubeAndKey) {
  Lane* const lane = lanes.find_or_create(TubeRef{1}, "k");
  ASSERT_NE(lane, nullptr);
  EXPECT_EQ(lanes.find(TubeRef{1}, "k"), lane);
  EXPECT_EQ(lanes.find_or_create(TubeRef{1}, "k"), lane);
  EXPECT_EQ(lanes.find(TubeRef{2}, "k"), nullptr);
  EXPECT_EQ(lanes.find(TubeRef{1}, "kk"), nullptr);
  EXPECT_EQ(lanes.size(), 1U);
  lanes.drop_if_empty(*lane);
  EXPECT_EQ(lanes.size(), 0U);
  EXPECT_EQ(lanes.memory_bytes(), 0U);
}

TEST_F(LanesTest, ALaneGoesWithItsLastJob) {
  Lane& lane = *lanes.find_or_create(TubeRef{1}, "k");
  const JobRef first = job(1, 0);
  const JobRef second = job(2, 0);
  EXPECT_EQ(lanes.lane_of(first), nullptr);
  lanes.join(lane, first);
  lanes.join(lane, second);
  EXPECT_EQ(lanes.lane_of(first), &lane);
  EXPECT_EQ(lane.jobs, 2U);
  lanes.leave(lane, first);
  EXPECT_EQ(lanes.lane_of(first), nullptr);
  EXPECT_EQ(lanes.find(TubeRef{1}, "k"), &lane);
  lanes.leave(lane, second);
  EXPECT_EQ(lanes.find(TubeRef{1}, "k"), nullptr);
}

TEST_F(LanesTest, TheBestReadyJobIsToBeOpenWhileThereIsRoom) {
  Lane& lane = *lanes.find_or_create(TubeRef{1}, "k");
  const std::vector<JobRef> refs{job(1, 5), job(2, 3), job(3, 3)};
  for (const JobRef ref : refs) {
    lanes.join(lane, ref);
    lanes.add_ready(lane, ref);
  }
  EXPECT_EQ(lane.wanted_open(), refs[1]);
  lane.reserved = 1;
  EXPECT_EQ(lane.wanted_open(), JobRef::none);
  lane.limit = 2;
  EXPECT_EQ(lane.wanted_open(), refs[1]);
  lane.open = refs[1];
  lanes.remove_ready(lane, refs[1]);
  EXPECT_EQ(lane.open, JobRef::none);
  EXPECT_EQ(lane.wanted_open(), refs[2]);
  for (const JobRef ref : {refs[0], refs[2]}) lanes.remove_ready(lane, ref);
  EXPECT_EQ(lane.wanted_open(), JobRef::none);
  lane.reserved = 0;
  for (const JobRef ref : refs) lanes.leave(lane, ref);
}

// The LaneNode of a job is between its body and its tags, and does not overlap either.
TEST(JobStoreWithLanes, KeepsBodyTagsAndNodeOfEachJob) {
  for (const bool has_notes : {false, true}) {
    JobStore store(has_notes);
    JobId id = 0;
    for (std::size_t bytes :
         {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 100U, 1021U, 1024U, 1025U, 5000U}) {
      for (const std::string_view tags : {"con:k", "con:k:2", "try:3 con:kk:2", "con:kkkk:12"}) {
        const std::string body(bytes, 'b');
        const std::uint64_t before = store.memory_bytes();
        const JobRef ref = store.create(++id, test::body_of_bytes(body), tags);
        ASSERT_NE(ref, JobRef::none);
        EXPECT_EQ(store.memory_bytes() - before,
                  store.memory_bytes_for(bytes, JobStore::tag_bytes_of(tags)));
        EXPECT_FALSE(store.has_lane(ref, store[ref]));
        LaneNode& node = store.node<Tag::lane>(ref);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&node) % alignof(LaneNode), 0U);
        std::memset(&node, 0xff, sizeof node);
        if (has_notes) store.journal_fields(ref).set_stamp(-1);
        EXPECT_TRUE(store.has_lane(ref, store[ref]));
        EXPECT_EQ(store.body(ref), body);
        EXPECT_EQ(store.tags(ref), tags);
        EXPECT_EQ(store.node<Tag::lane>(ref).lane, static_cast<LaneRef>(0xffff'ffff));
      }
    }
  }
}

TEST(JobStoreWithLanes, HasNoLaneForOtherTags) {
  JobStore store;
  for (const std::string_view tags : {"", "try:3", "later:con:k"}) {
    const JobRef ref = store.create(tags.size() + 1, test::body_of_bytes("x"), tags);
    EXPECT_FALSE(store.has_lane(ref, store[ref])) << tags;
    EXPECT_EQ(JobStore::tag_bytes_of(tags), tags.size());
  }
}

class LaneOrderTest : public test::Parts {
 protected:
  bool is_open(JobRef ref) const {
    return !tube.ready.at(state.jobs[ref].heap_index()).is_blocked();
  }
};

TEST_F(LaneOrderTest, OneReadyJobOfALaneIsOpen) {
  const JobRef second = make_ready("con:a", 5);
  EXPECT_TRUE(is_open(second));
  const JobRef first = make_ready("con:a", 1);
  const JobRef other = make_ready("con:b", 9);
  EXPECT_TRUE(is_open(first) && is_open(other));
  EXPECT_FALSE(is_open(second));
  destroy(first);
  EXPECT_TRUE(is_open(second));
}

TEST_F(LaneOrderTest, NoneIsOpenWhileSoManyAreReserved) {
  Client& worker = open();
  const JobRef first = make_ready("con:a:2", 1);
  const JobRef second = make_ready("con:a:2", 2);
  const JobRef third = make_ready("con:a:2", 3);
  ASSERT_EQ(give(worker), first);
  EXPECT_TRUE(is_open(second));
  ASSERT_EQ(give(worker), second);
  EXPECT_FALSE(is_open(third));
  EXPECT_FALSE(tube.offers_job());
  places.to_buried(first, Place::reserved, BurialCause::client);
  EXPECT_TRUE(is_open(third));
  ASSERT_TRUE(tube.ready.allocate_one());
  places.to_ready(second, Place::reserved);
  EXPECT_TRUE(is_open(second));
  EXPECT_FALSE(is_open(third));
}

TEST_F(LaneOrderTest, AChangedPriorityOpensAnotherJob) {
  const JobRef one = make_ready("con:a", 5);
  const JobRef other = make_ready("con:a", 7);
  places.set_priority(other, 3);
  EXPECT_TRUE(is_open(other));
  EXPECT_FALSE(is_open(one));
  EXPECT_EQ(tube.ready.top().job, other);
}

TEST_F(LaneOrderTest, ALaneForgetsTheJobsOfAFlush) {
  make_ready("con:a");
  make_ready("con:a");
  flushes.take(tube, {.ready = true}, std::make_unique<FlushedJobs>());
  const JobRef next = make_ready("con:a");
  EXPECT_TRUE(is_open(next));
  while (!tube.flushed->empty()) {
    const Flushes::Flushed flushed = flushes.next(tube);
    places.to_nowhere(flushed.job, Place::flushed);
    flushes.drop_next(tube, flushed);
    state.jobs.destroy(flushed.job);
  }
  flushes.end(tube);
  EXPECT_EQ(lanes.lanes().size(), 1U);
  destroy(next);
  EXPECT_EQ(lanes.lanes().size(), 0U);
}

TEST_F(LaneOrderTest, TheListTakesSoManyOfALaneAsMayBeReserved) {
  const JobRef first = make_ready("con:a:2", 1);
  const JobRef second = make_ready("con:a:2", 2);
  const JobRef third = make_ready("con:a:2", 3);
  const JobRef plain = make_ready("", 9);
  std::vector<JobRef> found;
  lanes.list_ready(tube, 9, found);
  EXPECT_EQ(found, (std::vector<JobRef>{first, second, plain, third}));
  EXPECT_FALSE(lanes.has(plain));
  EXPECT_TRUE(lanes.has(first));
}

}  // namespace

}  // namespace haricot
