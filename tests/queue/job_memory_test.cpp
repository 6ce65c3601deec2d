#include "haricot/queue/job_memory.hpp"

#include "queue/parts.hpp"

namespace haricot {
namespace {

class JobMemoryTest : public test::Parts {
 protected:
  // In addition to the current use.
  void allow(std::uint64_t bytes) { memory.limit(state.jobs.memory_bytes() + bytes); }
};

TEST_F(JobMemoryTest, WithoutALimitEverythingIsAdmitted) {
  EXPECT_FALSE(memory.is_limited());
  EXPECT_TRUE(memory.admit(std::uint64_t{1} << 60));
  EXPECT_FALSE(memory.is_short());
  EXPECT_EQ(state.counts.refused_puts, 0U);
}

TEST_F(JobMemoryTest, TheLastByteThatFitsIsAdmittedAndARefusalIsCounted) {
  allow(1000);
  EXPECT_TRUE(memory.is_limited());
  EXPECT_TRUE(memory.admit(1000));
  EXPECT_EQ(state.counts.refused_puts, 0U);
  EXPECT_FALSE(memory.admit(1001));
  EXPECT_EQ(state.counts.refused_puts, 1U);
}

TEST_F(JobMemoryTest, AShortageEndsWhenTheRefusedJobFitsAndAnEighthIsFree) {
  memory.limit(100 * state.jobs.memory_bytes_for(4));
  std::vector<JobRef> jobs;
  while (memory.admit_put(4, 0)) jobs.push_back(make_ready());
  EXPECT_TRUE(memory.is_short());
  EXPECT_EQ(memory.used_bytes(), state.jobs.memory_bytes());
  std::size_t deleted = 0;
  while (memory.is_short()) {
    ASSERT_LT(deleted, jobs.size());
    destroy(jobs[deleted++]);
  }
  EXPECT_GE(deleted, jobs.size() / 8);
  EXPECT_LE(deleted, jobs.size() / 8 + 2);
  while (deleted < jobs.size()) destroy(jobs[deleted++]);
}

TEST_F(JobMemoryTest, KeysAndLanesCount) {
  const std::uint64_t before = memory.used_bytes();
  const JobRef plain = make_ready();
  const std::uint64_t of_plain = memory.used_bytes() - before;
  destroy(plain);
  const JobRef tagged = make_ready("con:l");
  EXPECT_GT(memory.used_bytes() - before, of_plain);
  destroy(tagged);
}

}  // namespace
}  // namespace haricot
