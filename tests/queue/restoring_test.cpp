#include "haricot/queue/restoring.hpp"

#include "queue/parts.hpp"

namespace haricot {
namespace {

class RestoringTest : public test::Parts {
 protected:
  RestoredJob job(JobId id, JobState job_state = JobState::ready) const {
    return {.id = id, .created = state.now, .priority = 7, .ttr_s = 60, .state = job_state};
  }
  JobRef restore(const RestoredJob& restored, std::string_view tube_name = "mail") {
    const JobRef ref = restoring.restore(restored, tube_name, {.bytes = "body", .blob = {}});
    EXPECT_NE(ref, JobRef::none);
    return ref;
  }
};

TEST_F(RestoringTest, AJobIsInNoPlaceUntilItIsPlaced) {
  const JobRef ref = restore(job(5));
  Tube* mail = state.tubes.find("mail");
  ASSERT_NE(mail, nullptr);
  EXPECT_TRUE(mail->ready.empty());
  ASSERT_TRUE(restoring.place(ref, {}));
  EXPECT_EQ(places.of(ref), Place::ready);
  restoring.end(6);
  EXPECT_EQ(state.next_id, 6U);
  destroy(ref);
}

TEST_F(RestoringTest, ALaterChangeCountsAndTheIdStays) {
  const JobRef ref = restore(job(5));
  RestoredJob later = job(5, JobState::buried);
  later.priority = 9;
  later.counters[static_cast<std::size_t>(JobEvent::bury)] = 3;
  restoring.change(ref, later);
  ASSERT_TRUE(restoring.place(ref, {}));
  EXPECT_EQ(places.of(ref), Place::buried);
  EXPECT_EQ(state.jobs[ref].id, 5U);
  EXPECT_EQ(state.jobs[ref].priority, 9U);
  EXPECT_EQ(state.jobs.counted(ref, JobEvent::bury), 3U);
  restoring.end(6);
  destroy(ref);
}

TEST_F(RestoringTest, ADelayedJobKeepsItsDeadline) {
  const JobRef ref = restore(job(5, JobState::delayed));
  const Instant deadline = state.now + Duration::seconds(90);
  ASSERT_TRUE(restoring.place(ref, deadline));
  EXPECT_EQ(places.of(ref), Place::delayed);
  EXPECT_EQ(flushes.journaled(ref).deadline, deadline);
  restoring.end(6);
  destroy(ref);
}

TEST_F(RestoringTest, ATubeWhoseJobsWereAllDroppedGoesAtTheEnd) {
  restoring.drop(restore(job(5)));
  EXPECT_NE(state.tubes.find("mail"), nullptr) << "the next job may be of it";
  restoring.end(6);
  EXPECT_EQ(state.tubes.find("mail"), nullptr);
}

TEST_F(RestoringTest, IdsNeverGoBack) {
  state.next_id = 10;
  restoring.end(6);
  EXPECT_EQ(state.next_id, 10U);
}

}  // namespace
}  // namespace haricot
