#include "haricot/queue/lane_order.hpp"

#include <memory>
#include <vector>

#include "queue/parts.hpp"

namespace haricot {
namespace {

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
  places.to_buried(first, Place::reserved);
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
