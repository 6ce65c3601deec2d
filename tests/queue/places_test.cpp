#include "haricot/queue/places.hpp"

#include "queue/parts.hpp"

namespace haricot {
namespace {

class PlacesTest : public test::Parts {
 protected:
  // Compares the numbers of ready, reserved, delayed and buried jobs.
  void expect_counts(std::uint64_t ready, std::uint64_t reserved, std::uint64_t delayed,
                     std::uint64_t buried) {
    EXPECT_EQ(state.counts.ready, ready);
    EXPECT_EQ(state.counts.reserved, reserved);
    EXPECT_EQ(state.counts.delayed, delayed);
    EXPECT_EQ(state.counts.buried, buried);
    EXPECT_EQ(tube.ready.size(), ready);
    EXPECT_EQ(tube.reserved, reserved);
    EXPECT_EQ(tube.delayed.size(), delayed);
    EXPECT_EQ(tube.buried, buried);
  }
};

TEST_F(PlacesTest, AJobIsInOnePlaceAtATime) {
  Client& worker = open();
  const JobRef ref = make_ready();
  expect_counts(1, 0, 0, 0);
  ASSERT_EQ(give(worker), ref);
  EXPECT_EQ(places.of(ref), Place::reserved);
  EXPECT_EQ(state.jobs.counted(ref, JobEvent::reserve), 1U);
  EXPECT_EQ(worker.held_jobs(), 1U);
  expect_counts(0, 1, 0, 0);
  ASSERT_TRUE(tube.delayed.allocate_one());
  places.to_delayed(ref, Place::reserved, state.now + Duration::seconds(3));
  EXPECT_EQ(worker.held_jobs(), 0U);
  expect_counts(0, 0, 1, 0);
  places.to_buried(ref, Place::delayed, BurialCause::client);
  expect_counts(0, 0, 0, 1);
  ASSERT_TRUE(tube.ready.allocate_one());
  places.to_ready(ref, Place::buried);
  expect_counts(1, 0, 0, 0);
  destroy(ref);
  expect_counts(0, 0, 0, 0);
}

TEST_F(PlacesTest, BuriedJobsKeepTheirOrderWhenOthersLeave) {
  const JobRef first = make_buried();
  const JobRef second = make_buried();
  const JobRef third = make_buried();
  destroy(second);
  EXPECT_EQ(tube.first_buried, first);
  EXPECT_EQ(state.jobs[first].links.second, static_cast<std::uint32_t>(third));
  EXPECT_EQ(state.jobs[third].links.first, static_cast<std::uint32_t>(first));
  destroy(first);
  EXPECT_EQ(tube.first_buried, third);
  EXPECT_EQ(tube.last_buried, third);
  destroy(third);
  EXPECT_EQ(tube.first_buried, JobRef::none);
  EXPECT_EQ(tube.last_buried, JobRef::none);
}

TEST_F(PlacesTest, APriorityCountsWhereTheJobIs) {
  const JobRef ready = make_ready("", 5000);
  const JobRef buried = make_buried();
  EXPECT_EQ(state.counts.urgent, 0U);
  places.set_priority(ready, 5);
  EXPECT_EQ(state.counts.urgent, 1U);
  EXPECT_EQ(tube.ready.top().priority(), 5U);
  places.set_priority(buried, 5);
  EXPECT_EQ(state.counts.urgent, 1U);
  EXPECT_EQ(state.jobs[buried].priority, 5U);
  destroy(ready);
  EXPECT_EQ(state.counts.urgent, 0U);
}

TEST_F(PlacesTest, ATouchBeginsTheTtrAgain) {
  Client& worker = open();
  const JobRef first = make_ready("", 1);
  const JobRef second = make_ready("", 2);
  ASSERT_EQ(give(worker), first);
  ASSERT_EQ(give(worker), second);
  pass(Duration::seconds(5));
  places.touch(worker, first);
  pass(Duration::seconds(55));
  EXPECT_EQ(places.of(first), Place::reserved);
  EXPECT_EQ(places.of(second), Place::ready);
}

}  // namespace
}  // namespace haricot
