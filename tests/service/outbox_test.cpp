#include "haricot/service/outbox.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "haricot/base/memory.hpp"
#include "haricot/base/turn_limits.hpp"
#include "service/part_world.hpp"

namespace haricot {
namespace {

using Stopped = Session::Stopped;

class OutboxTest : public ::testing::Test, protected test::PartWorld {
 protected:
  OutboxTest() { journal.hold_back(); }

  // Answers a command that has made `records` records.
  void answer(Session& session, std::size_t records, ReplyCode code = ReplyCode::deleted) {
    const std::uint64_t before = journal.records();
    outbox.begin_answers(session);
    journal.written.resize(journal.written.size() + records);
    outbox.answer(session, {code});
    outbox.hold_back_if_recorded(session, before);
  }
};

TEST_F(OutboxTest, SessionsSendInTheOrderOfTheirAnswers) {
  Session& first = connect();
  Session& second = connect();
  answer(second, 0);
  answer(first, 0);
  answer(second, 0);
  EXPECT_EQ(to_send(), (Sessions{&second, &first}));
  EXPECT_EQ(take_output(second), "DELETED\r\nDELETED\r\n");
  EXPECT_EQ(to_send(), Sessions{});
}

TEST_F(OutboxTest, AReplyOfCodeNoneAddsNothing) {
  Session& session = connect();
  turn.begin(now + Duration::seconds(9));
  outbox.answer(session, {ReplyCode::none});
  EXPECT_EQ(session.idle_since(), CoarseInstant(turn.began));
  EXPECT_EQ(to_send(), Sessions{});
}

TEST_F(OutboxTest, AnAnswerWaitsUntilItsRecordIsSafe) {
  Session& session = connect();
  answer(session, 0);
  answer(session, 2);
  answer(session, 0);
  EXPECT_FALSE(session.may_send());
  EXPECT_TRUE(outbox.is_holding_back());
  EXPECT_EQ(to_send(), Sessions{});
  journal.make_safe(1);
  outbox.release_safe();
  EXPECT_FALSE(session.may_send());
  journal.make_safe();
  outbox.release_safe();
  EXPECT_TRUE(session.may_send());
  EXPECT_FALSE(outbox.is_holding_back());
  EXPECT_EQ(to_send(), Sessions{&session});
}

TEST_F(OutboxTest, ASafeRecordDoesNotHoldBackAnAnswer) {
  Session& session = connect();
  journal.written.resize(5);
  outbox.hold_back_if_recorded(session, 5);
  EXPECT_TRUE(session.may_send());
  journal.make_safe();
  outbox.hold_back(session);
  EXPECT_TRUE(session.may_send());
  journal.written.resize(6);
  outbox.hold_back(session);
  EXPECT_FALSE(session.may_send()) << "the record of another command may be meant";
}

TEST_F(OutboxTest, AnswersInDoubtBecomeFailures) {
  Session& session = connect();
  answer(session, 0, ReplyCode::touched);
  answer(session, 1);
  answer(session, 0, ReplyCode::not_found);
  journal.doubt(1);
  const std::uint64_t steps = engine.steps();
  outbox.release_safe();
  EXPECT_EQ(take_output(session), "TOUCHED\r\nINTERNAL_ERROR\r\nINTERNAL_ERROR\r\n");
  EXPECT_EQ(engine.steps() - steps, turn_limits::kStepsPerSend + 2);
}

TEST_F(OutboxTest, ASessionWithALaterRecordIsReleasedLater) {
  Session& first = connect();
  Session& second = connect();
  answer(first, 1);
  answer(second, 1);
  answer(first, 1);
  journal.make_safe(2);
  outbox.release_safe();
  EXPECT_EQ(to_send(), Sessions{&second});
  journal.make_safe();
  outbox.release_safe();
  EXPECT_EQ(to_send(), Sessions{&first});
}

TEST_F(OutboxTest, ReleasesABoundedNumberPerTurn) {
  constexpr std::size_t kMost = turn_limits::kStepsOfAnswers / turn_limits::kStepsPerSend;
  for (std::size_t i = 0; i < kMost + 5; ++i) answer(connect(), 1);
  journal.make_safe();
  outbox.release_safe();
  EXPECT_TRUE(outbox.has_safe());
  EXPECT_EQ(to_send().size(), kMost);
  outbox.release_safe();
  EXPECT_FALSE(outbox.has_safe());
  EXPECT_EQ(to_send().size(), 5U);
}

TEST_F(OutboxTest, ReleasingASessionWakesIt) {
  Session& session = connect();
  answer(session, 1);
  EXPECT_EQ(session.obstacle(turn.number), Stopped::not_stopped) << "it runs until the turn ends";
  turn.begin(now);
  EXPECT_EQ(session.obstacle(turn.number), Stopped::held_back);
  session.stop(Stopped::held_back);
  ASSERT_TRUE(session.requests.input.append("use t\r\n"));
  journal.make_safe();
  outbox.release_safe();
  EXPECT_EQ(session.stopped(), Stopped::has_had_share);
}

TEST_F(OutboxTest, ADeliveryAnswersAndWakesItsClient) {
  Session& worker = connect();
  ASSERT_EQ(engine.reserve(worker.client(), Instant::never(), now).outcome, Outcome::waiting);
  worker.stop(Stopped::waits_for_delivery);
  ASSERT_TRUE(worker.requests.input.append("use t\r\n"));
  outbox.answer_deliveries();
  EXPECT_EQ(to_send(), Sessions{});
  engine.stop_waiting(worker.client(), Delivery::Kind::timed_out);
  outbox.answer_deliveries();
  EXPECT_EQ(take_output(worker), "TIMED_OUT\r\n");
  EXPECT_EQ(worker.stopped(), Stopped::has_had_share);
  EXPECT_EQ(to_send(), Sessions{&worker});
  EXPECT_TRUE(engine.deliveries().empty());
}

TEST_F(OutboxTest, ASessionEndsWithoutMemoryForAnAnswer) {
  Session& session = connect();
  Memory::limit(1);
  {
    const Memory::Bounded bounded;
    outbox.answer(session,
                  {.code = ReplyCode::ok, .text = std::string(4 * Memory::kOwnBytes, 'x')});
  }
  Memory::limit(SIZE_MAX);
  EXPECT_TRUE(Memory::take_refusal());
  EXPECT_EQ(session.stopped(), Stopped::quit);
  EXPECT_EQ(to_send(), Sessions{&session});
}

TEST_F(OutboxTest, AnEndedSessionLeavesTheRunQueueAndMaySend) {
  Session& session = connect();
  run_queue.defer(session);
  outbox.end(session, Stopped::quit);
  EXPECT_FALSE(session.to_run.linked());
  EXPECT_TRUE(session.is_finished());
  EXPECT_EQ(to_send(), Sessions{&session});
  Session& held = connect();
  answer(held, 1);
  outbox.end(held, Stopped::idle);
  EXPECT_FALSE(held.is_finished());
  EXPECT_EQ(to_send(), Sessions{});
  journal.make_safe();
  outbox.release_safe();
  EXPECT_TRUE(held.is_finished());
  EXPECT_EQ(to_send(), Sessions{&held});
}

TEST_F(OutboxTest, AClosedSessionIsInNoList) {
  Session& sending = connect();
  Session& held = connect();
  answer(sending, 0);
  answer(held, 1);
  outbox.remove(sending);
  outbox.remove(held);
  outbox.remove(connect());
  EXPECT_EQ(to_send(), Sessions{});
  EXPECT_FALSE(outbox.is_holding_back());
  journal.make_safe();
}

}  // namespace
}  // namespace haricot
