#include "haricot/queue/watching.hpp"

#include <string>

#include "queue/parts.hpp"

namespace haricot {
namespace {

class WatchingTest : public test::Parts {};

TEST_F(WatchingTest, TheBestJobOfAllWatchedTubesComesNext) {
  Client& worker = open();
  ASSERT_EQ(watching.watch(worker, "other"), Outcome::done);
  EXPECT_EQ(watching.best_tube(worker), nullptr);
  make_ready("", 5);
  EXPECT_EQ(watching.best_tube(worker), &tube);
  EXPECT_EQ(watching.reserve_steps(worker), 4U);
  ASSERT_EQ(watching.ignore(worker, "default"), Outcome::done);
  EXPECT_EQ(watching.best_tube(worker), nullptr);
  EXPECT_EQ(watching.ignore(worker, "other"), Outcome::only_watched);
}

TEST_F(WatchingTest, TheLongestWaitIsFirst) {
  Client& many = open();
  for (std::uint32_t i = 0; i < WatchIndex::kManyFrom; ++i) {
    ASSERT_EQ(watching.watch(many, "t" + std::to_string(i)), Outcome::done);
  }
  Client& few = open();
  EXPECT_EQ(watching.first_waiting(tube), nullptr);
  wait(few);
  wait(many);
  EXPECT_EQ(watching.first_waiting(tube), &few);
  EXPECT_EQ(watching.waiting_clients(tube), 2U);
  watching.end_wait(few);
  EXPECT_EQ(watching.first_waiting(tube), &many);
  watching.end_wait(many);
  EXPECT_EQ(state.counts.waiting, 0U);
}

TEST_F(WatchingTest, AClientWithManyWatchesLearnsTheOffersOfATube) {
  Client& many = open();
  for (std::uint32_t i = 0; i < WatchIndex::kManyFrom; ++i) {
    ASSERT_EQ(watching.watch(many, "t" + std::to_string(i)), Outcome::done);
  }
  make_ready();
  EXPECT_EQ(watching.best_tube(many), nullptr);
  watching.announce(tube);
  EXPECT_EQ(watching.best_tube(many), &tube);
}

TEST_F(WatchingTest, TubesAreServedByWeightInThatMode) {
  Client& worker = open();
  Tube& other = *state.tubes.create("other");
  std::unique_ptr<WatchWeights> made;
  ASSERT_EQ(watching.make_weights(made, worker, state.budget(0)), Outcome::done);
  ASSERT_EQ(watching.watch(worker, other, 1), Outcome::done);
  ASSERT_EQ(watching.watch(worker, tube, 3), Outcome::done);
  for (int i = 0; i < 8; ++i) {
    const JobRef ref = make();
    state.jobs[ref].tube = i % 2 == 0 ? tube.ref : other.ref;
    ASSERT_TRUE(state.tube_of(ref).ready.allocate_one());
    places.to_ready(ref, Place::nowhere);
  }
  tasks::ModeChange change{true};
  ASSERT_EQ(watching.change_mode(change, worker, state.budget(10)), Outcome::done);
  int from_other = 0;
  for (int i = 0; i < 4; ++i) {
    Tube* const best = watching.best_tube(worker);
    ASSERT_NE(best, nullptr);
    if (best == &other) ++from_other;
    ASSERT_TRUE(Places::allocate_reserved(worker));
    serving.give(*best, worker);
  }
  EXPECT_EQ(from_other, 1);
}

TEST_F(WatchingTest, AUsedTubeIsThereUntilAnotherOneIsUsed) {
  Client& producer = open();
  EXPECT_EQ(watching.use(producer, "x"), Outcome::done);
  EXPECT_NE(state.tubes.find("x"), nullptr);
  EXPECT_EQ(watching.use(producer, "default"), Outcome::done);
  EXPECT_EQ(state.tubes.find("x"), nullptr);
}

TEST_F(WatchingTest, TheAnswerToAClosedClientIsDropped) {
  Client& client = open();
  watching.allocate_deliveries(0);
  watching.deliver({.client = &client, .kind = Delivery::Kind::kicked, .count = 5});
  ASSERT_EQ(watching.deliveries().size(), 1U);
  close(client);
  EXPECT_TRUE(watching.deliveries().empty());
  EXPECT_EQ(state.counts.clients, 0U);
  EXPECT_EQ(tube.watching_clients, 0U);
}

}  // namespace
}  // namespace haricot
