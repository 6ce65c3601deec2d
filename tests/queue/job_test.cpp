#include "haricot/queue/job.hpp"

#include <gtest/gtest.h>

#include <array>

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
  EXPECT_EQ(job.history.has_extra, 0u);
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

// Exact for a job that is ready at once, and within a hundred-millionth of its age for others.
TEST(Job, KeepsSinceWhenItIsReady) {
  Job job{};
  for (const std::int64_t created :
       std::array<std::int64_t, 3>{-5'000'000'000'000, 0, 77'000'000'000}) {
    job.created = Instant::at(created);
    job.set_ready_since(job.created);
    EXPECT_EQ(job.ready_since(), job.created);
    job.set_ready_since(Instant::at(created - 1));
    EXPECT_EQ(job.ready_since(), job.created);
    for (std::int64_t age = 1; age < std::int64_t{1} << 61; age += 1 + age / 7) {
      job.set_ready_since(Instant::at(created + age));
      const std::int64_t kept = job.ready_since().count() - created;
      ASSERT_LE(kept, age);
      ASSERT_LE(age - kept, 4096 + age / 50'000'000);
    }
  }
}

}  // namespace
}  // namespace haricot
