#include "haricot/service/idle_watch.hpp"

#include <gtest/gtest.h>

#include "haricot/base/turn_limits.hpp"
#include "service/part_world.hpp"

namespace haricot {
namespace {

class IdleWatchTest : public ::testing::Test, protected test::PartWorld {
 protected:
  static constexpr std::uint32_t kTimeout_s = 10;

  IdleWatchTest() { info.limits.idle_timeout_s = kTimeout_s; }
  ~IdleWatchTest() override {
    for (const auto& session : sessions) watch_.remove(*session);
  }

  Session& come() {
    Session& session = connect();
    session.idle.active = now;
    watch_.add(session);
    return session;
  }
  // Plays a turn each 50 ms.
  void pass(Duration duration) {
    for (const Instant end = now + duration; now < end;) {
      now = now + Duration::milliseconds(50);
      turn.begin(now);
      watch_.end_idle_sessions(now);
    }
  }
  void pass_s(std::uint32_t seconds) { pass(Duration::seconds(seconds)); }

  IdleWatch watch_{info.limits, engine, dispatcher, outbox, turn};
};

TEST_F(IdleWatchTest, ListsAllSessions) {
  EXPECT_EQ(watch_.first(), nullptr);
  Session& first = come();
  Session& second = come();
  EXPECT_EQ(watch_.first(), &first);
  EXPECT_EQ(watch_.after(first), &second);
  EXPECT_EQ(watch_.after(second), nullptr);
}

TEST_F(IdleWatchTest, EndsASessionSoonAfterItsTimeout) {
  Session& session = come();
  EXPECT_EQ(watch_.next_check(), now + Duration::seconds(kTimeout_s));
  pass_s(kTimeout_s);
  EXPECT_FALSE(session.is_ended());
  pass(Duration::milliseconds(200));
  EXPECT_TRUE(session.was_idle());
  EXPECT_TRUE(session.is_finished());
  EXPECT_EQ(to_send(), Sessions{&session});
}

TEST_F(IdleWatchTest, ActivityBeginsAnotherPeriod) {
  Session& first = come();
  Session& second = come();
  pass_s(kTimeout_s - 2);
  watch_.mark_active(first);
  EXPECT_EQ(watch_.first(), &second);
  pass_s(4);
  EXPECT_TRUE(second.was_idle());
  EXPECT_FALSE(first.was_idle());
  pass_s(kTimeout_s);
  EXPECT_TRUE(first.was_idle());
}

TEST_F(IdleWatchTest, AnOccupiedSessionGetsOneMorePeriod) {
  Session& waiting = come();
  ASSERT_EQ(engine.reserve(waiting.client(), Instant::never(), now).outcome, Outcome::waiting);
  pass_s(3 * kTimeout_s);
  EXPECT_FALSE(waiting.was_idle());
  engine.stop_waiting(waiting.client(), Delivery::Kind::timed_out);
  outbox.answer_deliveries();
  pass_s(kTimeout_s - 1);
  EXPECT_FALSE(waiting.was_idle());
  pass_s(kTimeout_s + 2);
  EXPECT_TRUE(waiting.was_idle());
}

TEST_F(IdleWatchTest, UnreadAnswersAreDropped) {
  Session& session = come();
  outbox.answer(session, {ReplyCode::deleted});
  pass_s(kTimeout_s + 1);
  EXPECT_TRUE(session.was_idle());
  EXPECT_FALSE(session.has_output());
}

TEST_F(IdleWatchTest, ALateCheckLeavesTimeToRead) {
  Session& session = come();
  pass_s(1);
  now = now + Duration::seconds(100);
  turn.begin(now);
  watch_.end_idle_sessions(now);
  EXPECT_FALSE(session.was_idle());
  EXPECT_GT(watch_.next_check(), now + Duration::milliseconds(500));
  pass_s(2);
  EXPECT_TRUE(session.was_idle());
}

TEST_F(IdleWatchTest, EndsABoundedNumberPerTurn) {
  constexpr std::uint32_t kMost = turn_limits::kStepsOfIdle / turn_limits::kStepsPerClose;
  for (std::uint32_t i = 0; i < 3 * kMost; ++i) come();
  pass_s(kTimeout_s);
  pass(Duration::milliseconds(50));
  std::size_t ended = 0;
  while (ended < sessions.size()) {
    pass(Duration::milliseconds(50));
    const std::size_t now_ended = to_send().size();
    ASSERT_GE(now_ended, 1U);
    ASSERT_LE(now_ended, kMost + 1);
    ended += now_ended;
  }
}

TEST_F(IdleWatchTest, ChecksNothingWithoutATimeout) {
  info.limits.idle_timeout_s = 0;
  Session& first = come();
  Session& second = come();
  EXPECT_EQ(watch_.next_check(), Instant::never());
  watch_.mark_active(first);
  EXPECT_EQ(watch_.first(), &first);
  EXPECT_EQ(watch_.after(first), &second);
  pass_s(3 * kTimeout_s);
  EXPECT_FALSE(first.is_ended());
}

}  // namespace
}  // namespace haricot
