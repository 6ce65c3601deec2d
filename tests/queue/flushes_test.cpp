#include "haricot/queue/flushes.hpp"

#include <memory>
#include <vector>

#include "queue/parts.hpp"

namespace haricot {
namespace {

class FlushesTest : public test::Parts {
 protected:
  void take(JobStates states) { flushes.take(tube, states, std::make_unique<FlushedJobs>()); }
  // Frees all jobs, and returns them in order.
  std::vector<JobRef> free_all() {
    std::vector<JobRef> freed;
    while (!tube.flushed->empty()) {
      const Flushes::Flushed next = flushes.next(tube);
      freed.push_back(next.job);
      places.to_nowhere(next.job, Place::flushed);
      flushes.drop_next(tube, next);
      state.jobs.destroy(next.job);
    }
    flushes.end(tube);
    return freed;
  }
};

TEST_F(FlushesTest, HaveTheJobsOfTheirStatesAndNoOthers) {
  const JobRef ready = make_ready();
  const JobRef buried = make_buried();
  const JobRef delayed = make_delayed(Duration::seconds(9));
  EXPECT_TRUE(Flushes::has_some(tube, {.delayed = true}));
  take({.ready = true, .buried = true});
  EXPECT_FALSE(Flushes::has_some(tube, {.ready = true, .buried = true}));
  EXPECT_TRUE(flushes.have(ready));
  EXPECT_TRUE(flushes.have(buried));
  EXPECT_FALSE(flushes.have(delayed));
  EXPECT_EQ(flushes.find(state.jobs[ready].id), JobRef::none);
  EXPECT_EQ(flushes.find(state.jobs[delayed].id), delayed);
  // Later jobs take the indexes of earlier ones.
  const JobRef later_ready = make_ready();
  const JobRef later_buried = make_buried();
  EXPECT_FALSE(flushes.have(later_ready));
  EXPECT_FALSE(flushes.have(later_buried));
  EXPECT_EQ(tube.ready_jobs(), 2U);
  EXPECT_EQ(free_all(), (std::vector<JobRef>{buried, ready}));
  EXPECT_EQ(flushes.size(), 0U);
  EXPECT_EQ(state.counts.ready, 1U);
  EXPECT_EQ(state.counts.buried, 1U);
  for (const JobRef ref : {later_ready, later_buried, delayed}) destroy(ref);
}

TEST_F(FlushesTest, RecordTheDueTimeOfADelayedJob) {
  const JobRef soon = make_delayed(Duration::seconds(1));
  take({.delayed = true});
  const JobRef later = make_delayed(Duration::seconds(5));
  EXPECT_EQ(flushes.journaled(soon).deadline, state.now + Duration::seconds(1));
  EXPECT_EQ(flushes.journaled(later).deadline, state.now + Duration::seconds(5));
  EXPECT_EQ(flushes.next(tube).deadline, state.now + Duration::seconds(1));
  free_all();
  destroy(later);
}

TEST_F(FlushesTest, TakeTheBuriedJobsInTheirOrder) {
  std::vector<JobRef> buried;
  for (int i = 0; i < 5; ++i) buried.push_back(make_buried());
  take({.buried = true});
  EXPECT_EQ(free_all(), buried);
}

}  // namespace
}  // namespace haricot
