#include "haricot/queue/job.hpp"

#include <gtest/gtest.h>

namespace haricot {
namespace {

TEST(Job, KeepsItsStateBesideItsCounters) {
  Job job{};
  job.history.reserves = job.history.timeouts = job.history.releases = 4095;
  job.history.buries = job.history.kicks = 4095;
  for (const JobState state :
       {JobState::buried, JobState::delayed, JobState::reserved, JobState::ready}) {
    job.set_state(state);
    EXPECT_EQ(job.state(), state);
  }
  EXPECT_EQ(job.history.reserves, 4095u);
  EXPECT_EQ(job.history.timeouts, 4095u);
  EXPECT_EQ(job.history.releases, 4095u);
  EXPECT_EQ(job.history.buries, 4095u);
  EXPECT_EQ(job.history.kicks, 4095u);
  EXPECT_EQ(job.history.carried, 0u);
}

TEST(Job, IsUrgentBelowPriority1024) {
  Job job{};
  job.priority = 0;
  EXPECT_TRUE(job.is_urgent());
  job.priority = 1023;
  EXPECT_TRUE(job.is_urgent());
  job.priority = 1024;
  EXPECT_FALSE(job.is_urgent());
  job.priority = 4294967295;
  EXPECT_FALSE(job.is_urgent());
}

TEST(Job, NamesItsHeapIndexAndItsHolder) {
  Job job{};
  job.links = Links{5, 6};
  EXPECT_EQ(job.heap_index(), 5u);
  EXPECT_EQ(job.holder(), static_cast<ClientRef>(6));
}

}  // namespace
}  // namespace haricot
