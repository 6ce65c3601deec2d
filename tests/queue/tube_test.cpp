#include "haricot/queue/tube.hpp"

#include <gtest/gtest.h>

namespace haricot {
namespace {

struct NoIndexes {
  void moved(const ReadyEntry&, std::uint32_t) {}
  void moved(const DeadlineEntry&, std::uint32_t) {}
};

ReadyEntry ready(std::uint32_t priority, JobId id) {
  return {id, priority, JobRef::none};
}

DeadlineEntry delayed(std::int64_t deadline, std::uint64_t arrival) {
  return {.deadline = Instant::at(deadline), .arrival = arrival, .job = JobRef::none};
}

TEST(ReadyEntry, IsOrderedByPriorityThenId) {
  EXPECT_TRUE(ready(1, 9) < ready(2, 1));
  EXPECT_FALSE(ready(2, 1) < ready(1, 9));
  EXPECT_TRUE(ready(1, 1) < ready(1, 2));
  EXPECT_FALSE(ready(1, 1) < ready(1, 1));
  EXPECT_TRUE(ready(0, 18446744073709551615u) < ready(4294967295, 1));
}

TEST(ReadyEntry, IsBehindAllOthersWhereItIsBlocked) {
  const ReadyEntry blocked(1, 0, JobRef::none, true);
  EXPECT_TRUE(ready(4294967295, 9223372036854775807u) < blocked);
  EXPECT_FALSE(blocked < ready(4294967295, 9223372036854775807u));
  EXPECT_TRUE(blocked < ReadyEntry(2, 0, JobRef::none, true));
  EXPECT_TRUE(blocked < ReadyEntry(1, 1, JobRef::none, true));
}

TEST(ReadyEntry, ReturnsItsConstructionArguments) {
  const JobId id = 0x7654'3210'fedc'ba98;
  for (const bool is_blocked : {false, true}) {
    const ReadyEntry entry(id, 0x89ab'cdef, JobRef{7}, is_blocked);
    EXPECT_EQ(entry.id(), id);
    EXPECT_EQ(entry.priority(), 0x89ab'cdefU);
    EXPECT_EQ(entry.is_blocked(), is_blocked);
    EXPECT_EQ(entry.job, JobRef{7});
    EXPECT_TRUE(entry == ReadyEntry(id, 0x89ab'cdef, JobRef{7}, is_blocked));
    EXPECT_FALSE(entry == ReadyEntry(id, 0x89ab'cdef, JobRef{7}, !is_blocked));
  }
}

TEST(DeadlineEntry, IsOrderedByDeadlineThenArrival) {
  EXPECT_TRUE(delayed(1, 9) < delayed(2, 1));
  EXPECT_FALSE(delayed(2, 1) < delayed(1, 9));
  EXPECT_TRUE(delayed(1, 1) < delayed(1, 2));
  EXPECT_FALSE(delayed(1, 1) < delayed(1, 1));
}

TEST(Tube, ANewOneIsReferredToByNothing) {
  const Tube tube;
  EXPECT_FALSE(tube.is_referenced());
  EXPECT_FALSE(tube.has_jobs());
  EXPECT_FALSE(tube.offers_job());
}

TEST(Tube, OffersNoJobThatIsBlocked) {
  NoIndexes indexes;
  Tube tube;
  ASSERT_TRUE(tube.ready.allocate_one());
  tube.ready.push(ReadyEntry(1, 1, JobRef::none, true), indexes);
  EXPECT_FALSE(tube.offers_job());
  ASSERT_TRUE(tube.ready.allocate_one());
  tube.ready.push(ready(2, 2), indexes);
  EXPECT_TRUE(tube.offers_job());
}

TEST(Tube, EachUseWatchAndJobRefersToIt) {
  NoIndexes indexes;
  {
    Tube tube;
    tube.using_clients = 1;
    EXPECT_TRUE(tube.is_referenced());
    tube.using_clients = 0;
    tube.watching_clients = 1;
    EXPECT_TRUE(tube.is_referenced());
  }
  {
    Tube tube;
    tube.buried = 1;
    EXPECT_TRUE(tube.is_referenced());
    tube.buried = 0;
    tube.reserved = 1;
    EXPECT_TRUE(tube.is_referenced());
  }
  {
    Tube tube;
    ASSERT_TRUE(tube.ready.allocate_one());
    tube.ready.push(ready(1, 1), indexes);
    EXPECT_TRUE(tube.is_referenced());
  }
  {
    Tube tube;
    ASSERT_TRUE(tube.delayed.allocate_one());
    tube.delayed.push(delayed(1, 1), indexes);
    EXPECT_TRUE(tube.is_referenced());
  }
}

TEST(Tube, OffersItsReadyJobsUnlessItIsPaused) {
  NoIndexes indexes;
  Tube tube;
  ASSERT_TRUE(tube.ready.allocate_one());
  tube.ready.push(ready(1, 1), indexes);
  EXPECT_TRUE(tube.offers_job());
  tube.paused = true;
  EXPECT_FALSE(tube.offers_job());
}

}  // namespace
}  // namespace haricot
