#include "haricot/service/run_queue.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace haricot {
namespace {

using Stopped = Session::Stopped;

class RunQueueTest : public ::testing::Test {
 protected:
  struct OwnSession : Session {
    OwnSession() : Session(nullptr, CommandSet::extended, Instant::at(1'000'000'000)) {}
  };

  ~RunQueueTest() override {
    for (Session& session : sessions) queue.remove(session);
  }

  // Plays a round, and returns the indexes of its sessions.
  std::vector<std::ptrdiff_t> play_round() {
    std::vector<std::ptrdiff_t> order;
    queue.begin_round();
    while (Session* session = queue.take_next()) {
      order.push_back(static_cast<OwnSession*>(session) - sessions.data());
      session->stop(Stopped::needs_input);
    }
    queue.end_round();
    return order;
  }
  using Order = std::vector<std::ptrdiff_t>;

  Turn turn;
  RunQueue queue{turn};
  std::array<OwnSession, 4> sessions;
};

TEST_F(RunQueueTest, IsEmptyAtFirst) {
  EXPECT_TRUE(queue.is_empty());
  EXPECT_FALSE(queue.is_short_of_memory());
  EXPECT_EQ(play_round(), Order{});
}

TEST_F(RunQueueTest, RunsSessionsInTheOrderOfTheirArrival) {
  queue.push(sessions[2], Stopped::has_had_share);
  queue.push(sessions[0], Stopped::put_off);
  EXPECT_EQ(sessions[0].stopped(), Stopped::put_off);
  EXPECT_FALSE(queue.is_empty());
  EXPECT_EQ(play_round(), (Order{2, 0}));
  EXPECT_TRUE(queue.is_empty());
}

TEST_F(RunQueueTest, ASessionAddedDuringARoundRunsInTheNextOne) {
  for (Session& session : sessions) queue.push(session, Stopped::has_had_share);
  queue.begin_round();
  EXPECT_EQ(queue.take_next(), &sessions[0]);
  queue.push(sessions[0], Stopped::has_had_share);
  EXPECT_EQ(queue.take_next(), &sessions[1]);
  sessions[1].stop(Stopped::needs_input);
  queue.end_round();
  EXPECT_EQ(play_round(), (Order{2, 3, 0}));
}

TEST_F(RunQueueTest, APutOffSessionKeepsItsPlace) {
  for (Session& session : sessions) queue.push(session, Stopped::has_had_share);
  queue.begin_round();
  ASSERT_EQ(queue.take_next(), &sessions[0]);
  queue.push(sessions[0], Stopped::put_off);
  queue.keep_place(sessions[0]);
  queue.end_round();
  EXPECT_EQ(play_round(), (Order{0, 1, 2, 3}));
}

TEST_F(RunQueueTest, ASessionCanBeRemovedFromEachList) {
  queue.push(sessions[0], Stopped::has_had_share);
  queue.defer(sessions[1]);
  queue.wait_for_memory(sessions[2]);
  EXPECT_TRUE(queue.is_short_of_memory());
  for (Session& session : sessions) queue.remove(session);
  for (const Session& session : sessions) EXPECT_FALSE(session.to_run.linked());
  EXPECT_TRUE(queue.is_empty());
  EXPECT_FALSE(queue.is_short_of_memory());
  // Removal during a round works, too.
  queue.push(sessions[0], Stopped::has_had_share);
  queue.push(sessions[1], Stopped::has_had_share);
  queue.begin_round();
  queue.remove(sessions[0]);
  EXPECT_EQ(queue.take_next(), &sessions[1]);
}

TEST_F(RunQueueTest, DeferredSessionsRunWhenRetried) {
  queue.push(sessions[3], Stopped::has_had_share);
  queue.defer(sessions[1]);
  queue.defer(sessions[0]);
  EXPECT_EQ(sessions[0].stopped(), Stopped::deferred);
  EXPECT_EQ(play_round(), Order{3});
  queue.push(sessions[3], Stopped::has_had_share);
  queue.retry_deferred();
  queue.defer(sessions[2]);
  EXPECT_EQ(play_round(), (Order{3, 1, 0}));
}

TEST_F(RunQueueTest, WakesTheRequestedNumberForMemory) {
  for (Session& session : sessions) queue.wait_for_memory(session);
  EXPECT_EQ(sessions[0].stopped(), Stopped::deferred);
  queue.wake_for_memory(0);
  EXPECT_TRUE(queue.is_empty());
  queue.wake_for_memory(3);
  EXPECT_TRUE(queue.is_short_of_memory());
  EXPECT_EQ(play_round(), (Order{0, 1, 2}));
  queue.wake_for_memory(3);
  EXPECT_FALSE(queue.is_short_of_memory());
  EXPECT_EQ(play_round(), Order{3});
}

TEST_F(RunQueueTest, AWokenSessionRunsIfItHasInput) {
  sessions[0].stop(Stopped::output_full);
  ASSERT_TRUE(sessions[0].requests.input.append("use t\r\n"));
  queue.wake(sessions[0]);
  EXPECT_EQ(sessions[0].stopped(), Stopped::has_had_share);
  sessions[1].stop(Stopped::waits_for_delivery);
  queue.wake(sessions[1]);
  EXPECT_EQ(sessions[1].stopped(), Stopped::needs_input);
  sessions[2].stop(Stopped::output_full);
  sessions[2].list = std::make_unique<Session::LongList>();
  queue.wake(sessions[2]);
  EXPECT_EQ(play_round(), (Order{0, 2}));
}

TEST_F(RunQueueTest, AWokenSessionWithAnotherObstacleDoesNotRun) {
  turn.number = 7;
  ASSERT_TRUE(sessions[0].requests.input.append("use t\r\n"));
  sessions[0].stop(Stopped::output_full);
  sessions[0].send.until = 5;
  sessions[0].send.turn = 6;
  queue.wake(sessions[0]);
  EXPECT_EQ(sessions[0].stopped(), Stopped::held_back);
  // An answer that is held back since this turn is no obstacle.
  sessions[0].send.turn = 7;
  queue.wake(sessions[0]);
  EXPECT_EQ(sessions[0].stopped(), Stopped::has_had_share);
  for (const Stopped end : {Stopped::quit, Stopped::idle}) {
    sessions[1].stop(end);
    queue.wake(sessions[1]);
    EXPECT_EQ(sessions[1].stopped(), end);
  }
}

TEST_F(RunQueueTest, OnlyASessionWithAnObstacleIsWoken) {
  ASSERT_TRUE(sessions[0].requests.input.append("use t\r\n"));
  queue.wake(sessions[0]);
  EXPECT_EQ(sessions[0].stopped(), Stopped::needs_input);
  queue.defer(sessions[1]);
  queue.wake(sessions[1]);
  EXPECT_EQ(sessions[1].stopped(), Stopped::deferred);
  EXPECT_TRUE(queue.is_empty());
}

}  // namespace
}  // namespace haricot
