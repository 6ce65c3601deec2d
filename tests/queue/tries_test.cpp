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
  EXPECT_FALSE(tries.end_of_try(ref, 0).is_spent);
  try_once(ref);
  EXPECT_TRUE(tries.end_of_try(ref, 0).is_spent);
  state.jobs.count(ref, JobEvent::kick);
  EXPECT_FALSE(tries.end_of_try(ref, 0).is_spent);
  destroy(ref);
}

TEST_F(TriesTest, ALimitForAllHoldsForJobsWithoutATag) {
  const JobRef before = make_ready();
  try_once(before);
  EXPECT_FALSE(tries.end_of_try(before, 0).is_spent);
  destroy(before);
  EXPECT_FALSE(tries.has_some());
  tries.limit(1);
  EXPECT_TRUE(tries.limits_all() && tries.has_some());
  const JobRef ref = make_ready();
  try_once(ref);
  EXPECT_TRUE(tries.end_of_try(ref, 0).is_spent);
  destroy(ref);
}

TEST_F(TriesTest, AJobThatComesOutOfBurialIsPromisedTheNextOneIfItHasALimit) {
  const JobRef limited = make_buried("try:1");
  const JobRef plain = make_buried("idp:k");
  for (const JobRef ref : {limited, plain}) {
    ASSERT_EQ(tries.take_room_for_unburial(ref), JournalStatus::ok);
    ASSERT_TRUE(tube.ready.allocate_one());
    places.to_ready(ref, Place::buried);
    journal.record(JobChange::update, flushes.journaled(ref));
  }
  EXPECT_EQ(journal.promised_burials(), 1U);
  places.to_buried(limited, Place::ready, BurialCause::client);
  EXPECT_EQ(journal.promised_burials(), 1U) << "nothing is recorded yet";
  tries.record_burial(limited);
  EXPECT_EQ(journal.promised_burials(), 0U);
}

TEST_F(TriesTest, ABurialThatIsRefusedIsRecordedLater) {
  const JobRef ref = make_buried("try:1");
  journal.refuse_from(1, JournalStatus::later);
  tries.record_burial(ref);
  EXPECT_TRUE(tries.has_late());
  EXPECT_EQ(state.resume_all_at, state.now + QueueState::kPauseOfRefused);
  EXPECT_FALSE(tries.record_late(state.budget(1)));
  EXPECT_TRUE(journal.written.empty());
  journal.accept();
  EXPECT_TRUE(tries.record_late(state.budget(1)));
  ASSERT_EQ(journal.written.size(), 1U);
  EXPECT_EQ(journal.written[0].state, JobState::buried);
  EXPECT_FALSE(tries.has_late());
}

// Another burial has a record of its own.
TEST_F(TriesTest, ALateBurialThatIsOverIsNotRecorded) {
  const JobRef ref = make_buried("try:1");
  journal.refuse_from(1, JournalStatus::failed);
  tries.record_burial(ref);
  journal.accept();
  ASSERT_TRUE(tube.ready.allocate_one());
  places.to_ready(ref, Place::buried);
  state.jobs.count(ref, JobEvent::bury);
  places.to_buried(ref, Place::ready, BurialCause::client);
  tries.record_burial(ref);
  ASSERT_EQ(journal.written.size(), 1U);
  EXPECT_TRUE(tries.record_late(state.budget(Budget::kAll)));
  EXPECT_EQ(journal.written.size(), 1U);
  EXPECT_FALSE(tries.has_late());
}

}  // namespace
}  // namespace haricot
