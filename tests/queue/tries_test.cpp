#include "haricot/queue/tries.hpp"

#include "queue/parts.hpp"

namespace haricot {
namespace {

class TriesTest : public test::Parts {
 protected:
  void try_once(JobRef ref) { state.jobs.count(ref, JobEvent::reserve); }
};

TEST_F(TriesTest, AJobIsSpentAfterSoManyReservesAndAKickGivesOneMore) {
  const JobRef ref = make_ready("try:2");
  try_once(ref);
  EXPECT_FALSE(tries.is_spent(ref));
  try_once(ref);
  EXPECT_TRUE(tries.is_spent(ref));
  state.jobs.count(ref, JobEvent::kick);
  EXPECT_FALSE(tries.is_spent(ref));
  destroy(ref);
}

TEST_F(TriesTest, ALimitForAllHoldsForJobsWithoutATag) {
  const JobRef before = make_ready();
  try_once(before);
  EXPECT_FALSE(tries.is_spent(before));
  destroy(before);
  EXPECT_FALSE(tries.has_some());
  tries.limit(1);
  EXPECT_TRUE(tries.limits_all() && tries.has_some());
  const JobRef ref = make_ready();
  try_once(ref);
  EXPECT_TRUE(tries.is_spent(ref));
  destroy(ref);
}

TEST_F(TriesTest, CountTheBurialsToComeByWhereJobsAre) {
  const JobRef one = make_ready("try:1");
  const JobRef other = make_buried("try:1");
  make_buried();
  EXPECT_EQ(tries.burials_to_come(), 1U);
  places.to_buried(one, Place::ready);
  EXPECT_EQ(tries.burials_to_come(), 0U);
  ASSERT_TRUE(tube.ready.reserve_one());
  places.to_ready(other, Place::buried);
  EXPECT_EQ(tries.burials_to_come(), 1U);
  destroy(other);
  EXPECT_EQ(tries.burials_to_come(), 0U);
}

TEST_F(TriesTest, ABurialThatIsRefusedIsRecordedLater) {
  const JobRef ref = make_buried("try:1");
  journal.refuse_from(1, JournalStatus::later);
  tries.record_burial(ref);
  EXPECT_TRUE(tries.waits_for_disk());
  EXPECT_EQ(tries.burials_to_come(), 1U);
  EXPECT_GT(tries.next_event(), state.now);
  std::uint32_t budget = 5;
  tries.record_late(budget);
  EXPECT_TRUE(journal.written.empty());
  journal.accept();
  tries.told_in_time();
  tries.record_late(budget);
  EXPECT_EQ(budget, 3U);
  ASSERT_EQ(journal.written.size(), 1U);
  EXPECT_EQ(journal.written[0].state, JobState::buried);
  EXPECT_EQ(tries.next_event(), Instant::never());
  EXPECT_FALSE(tries.waits_for_disk());
}

}  // namespace
}  // namespace haricot
