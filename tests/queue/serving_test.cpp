#include "haricot/queue/serving.hpp"

#include "queue/parts.hpp"

namespace haricot {
namespace {

class OffersTest : public test::Parts {};

TEST_F(OffersTest, AWaitingClientGetsTheFirstJob) {
  Client& first = open();
  Client& second = open();
  for (Client* client : {&first, &second}) {
    ASSERT_TRUE(Places::allocate_reserved(*client));
    wait(*client);
  }
  make_ready("", 9);
  const JobRef best = make_ready("", 1);
  serving.serve(tube);
  ASSERT_EQ(watching.deliveries().size(), 2U);
  EXPECT_EQ(watching.deliveries()[0].client, &first);
  EXPECT_EQ(watching.deliveries()[0].job, best);
  EXPECT_FALSE(second.is_busy());
  EXPECT_EQ(state.counts.reserved, 2U);
}

TEST_F(OffersTest, ATubeThatIsBehindContinuesAtItsTimer) {
  for (int i = 0; i < 5; ++i) {
    Client& client = open();
    ASSERT_TRUE(Places::allocate_reserved(client));
    wait(client);
  }
  for (int i = 0; i < 9; ++i) make_ready();
  // Each job that is given costs its delivery, too.
  const Budget budget = state.budget(QueueState::kStepsPerJob + QueueState::kStepsPerDelivery + 2);
  serving.serve_waiting(tube, budget);
  EXPECT_TRUE(budget.is_used_up());
  EXPECT_TRUE(tube.is_behind);
  EXPECT_EQ(state.counts.reserved, 2U);
  Client& late = open();
  EXPECT_EQ(watching.best_tube(late), nullptr);
  EXPECT_LE(backlog.next_event(), state.now);
  backlog.advance();
  EXPECT_FALSE(tube.is_behind);
  EXPECT_EQ(state.counts.reserved, 5U);
  EXPECT_EQ(watching.best_tube(late), &tube);
}

TEST_F(OffersTest, AJobWhoseTriesAreUsedUpIsBuriedAndRecorded) {
  Client& worker = open();
  const JobRef ref = make_ready("try:1");
  ASSERT_EQ(give(worker), ref);
  serving.take_back(ref, BurialCause::timed_out);
  EXPECT_EQ(places.of(ref), Place::buried);
  ASSERT_EQ(journal.written.size(), 1U);
  EXPECT_EQ(journal.written[0].state, JobState::buried);
  EXPECT_EQ(state.spent_jobs.total(tube.ref), 1U);
}

TEST_F(OffersTest, AReleasedJobWaitsForItsDelay) {
  Client& worker = open();
  const JobRef ref = make_ready();
  ASSERT_EQ(give(worker), ref);
  state.jobs[ref].delay_s = 7;
  ASSERT_TRUE(Serving::allocate_after_delay(tube, state.jobs[ref].delay_s));
  serving.to_ready_after_delay(ref, Place::reserved);
  EXPECT_EQ(places.of(ref), Place::delayed);
  EXPECT_EQ(tube.delayed.top().deadline, state.now + Duration::seconds(7));
}

}  // namespace
}  // namespace haricot
