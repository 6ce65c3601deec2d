#include "haricot/queue/backlog.hpp"

#include "queue/parts.hpp"

namespace haricot {
namespace {

class BacklogTest : public test::Parts {
 protected:
  static constexpr std::uint32_t kPerCall = turn_limits::kStepsOfCalls / turn_limits::kStepsPerJob;
  static constexpr std::uint32_t kJobs = kPerCall + 10;
};

TEST_F(BacklogTest, AKickMovesABoundedNumberOfJobsInACall) {
  Client& client = open();
  for (std::uint32_t i = 0; i < kJobs; ++i) make_buried();
  EXPECT_EQ(backlog.kick(client, kJobs), Outcome::waiting);
  EXPECT_EQ(state.counts.ready, kPerCall);
  EXPECT_EQ(backlog.left_for_calls(), 0U);
  EXPECT_LE(backlog.next_event(), state.now);
  backlog.advance();
  EXPECT_EQ(state.counts.ready, kJobs);
  ASSERT_EQ(watching.deliveries().size(), 1U);
  EXPECT_EQ(watching.deliveries()[0].count, kJobs);
  EXPECT_FALSE(client.is_busy());
}

TEST_F(BacklogTest, AFlushThatIsRefusedTriesAgainLater) {
  Client& client = open();
  for (int i = 0; i < 5; ++i) make_ready();
  journal.refuse_from(4, JournalStatus::failed);
  EXPECT_EQ(backlog.flush(client, tube, {.ready = true}), Outcome::waiting);
  ASSERT_EQ(watching.deliveries().size(), 1U);
  EXPECT_EQ(watching.deliveries()[0].kind, Delivery::Kind::failed);
  EXPECT_FALSE(client.is_busy());
  EXPECT_EQ(state.counts.ready, 3U);
  EXPECT_EQ(tube.ready.size(), 0U);
  EXPECT_GT(backlog.next_event(), state.now);
  journal.accept();
  pass(Duration::seconds(1));
  EXPECT_EQ(state.counts.ready, 0U);
  EXPECT_EQ(flushes.size(), 0U);
}

TEST_F(BacklogTest, TheJobsOfAClosedClientGoBackInPieces) {
  Client& client = open();
  for (std::uint32_t i = 0; i < kJobs; ++i) {
    make_ready();
    give(client);
  }
  close(client);
  EXPECT_EQ(state.counts.reserved, 10U);
  backlog.advance();
  EXPECT_EQ(state.counts.reserved, 0U);
  EXPECT_EQ(state.counts.ready, kJobs);
}

TEST_F(BacklogTest, TimeEndsDelaysTtrsPausesAndWaits) {
  Client& worker = open();
  const JobRef held = make_ready();
  ASSERT_EQ(give(worker), held);
  const JobRef delayed = make_delayed(Duration::seconds(5));
  tube.paused = true;
  tube.pause_end = state.now + Duration::seconds(7);
  state.arm_tube(tube);
  Client& waiting = open();
  wait(waiting, state.now + Duration::seconds(3));
  pass(Duration::seconds(3));
  ASSERT_EQ(watching.deliveries().size(), 1U);
  EXPECT_EQ(watching.deliveries()[0].kind, Delivery::Kind::timed_out);
  pass(Duration::seconds(2));
  EXPECT_EQ(places.of(delayed), Place::ready);
  EXPECT_FALSE(tube.offers_job());
  pass(Duration::seconds(2));
  EXPECT_TRUE(tube.offers_job());
  pass(Duration::seconds(60));
  EXPECT_EQ(places.of(held), Place::ready);
  EXPECT_EQ(state.counts.timeouts, 1U);
}

}  // namespace
}  // namespace haricot
