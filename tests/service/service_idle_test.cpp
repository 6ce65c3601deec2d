// The idle timeout: which sessions are closed, and when.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "service/service_state.hpp"
#include "service/service_world.hpp"

namespace haricot {
namespace {

using test::put_line;
using test::ServiceWorld;
using test::whole_put;

constexpr std::uint32_t kTimeout_s = 10;

class IdleTimeout : public ::testing::Test {
 protected:
  static bool is_ended(const Session& session) {
    return session.was_idle() && session.is_finished() && !session.has_output();
  }
  // Checks that the session ends after `seconds`, and not a millisecond before.
  void expect_end_after(Session& session, std::uint32_t seconds) {
    world.pass(Duration::milliseconds(std::int64_t{seconds} * 1000 - 1));
    EXPECT_FALSE(is_ended(session));
    world.to_send();
    world.pass(Duration::milliseconds(1));
    EXPECT_TRUE(is_ended(session));
    EXPECT_TRUE(world.is_to_be_sent(session));
  }
  // Checks that the session does not end within ten times the timeout.
  void expect_no_end(Session& session) {
    for (int i = 0; i < 100; ++i) {
      world.pass_s(1);
      ASSERT_FALSE(is_ended(session)) << "after " << i + 1 << " s";
    }
  }
  void TearDown() override { world.service.engine().check_invariants(); }

  ServiceWorld world{Limits{.idle_timeout_s = kTimeout_s}};
};

TEST_F(IdleTimeout, ClosesASilentSession) {
  expect_end_after(world.connect(), kTimeout_s);
  Session& other = world.connect();
  EXPECT_EQ(world.stat(other, "idle-closed"), 1U);
}

TEST_F(IdleTimeout, ClosesNoSessionWithoutALimit) {
  ServiceWorld without;
  Session& session = without.connect();
  without.pass_s(1'000'000);
  EXPECT_FALSE(session.is_finished());
  EXPECT_EQ(without.service.next_event(), Instant::never());
}

TEST_F(IdleTimeout, AByteInTheLastMillisecondIsInTime) {
  Session& session = world.connect();
  world.pass(Duration::milliseconds(std::int64_t{kTimeout_s} * 1000 - 1));
  // Two turns begin after the deadline; input that arrived before is read after the second begin.
  world.now = world.now + Duration::milliseconds(1);
  world.service.advance(world.now);
  world.service.advance(world.now);
  EXPECT_EQ(world.ask(session, "use t\r\n"), "USING t\r\n");
  expect_end_after(session, kTimeout_s);
}

TEST_F(IdleTimeout, RestartsWithEachCommand) {
  Session& session = world.connect();
  for (int i = 0; i < 5; ++i) {
    world.pass_s(kTimeout_s - 1);
    EXPECT_EQ(world.ask(session, "use t\r\n"), "USING t\r\n");
  }
  expect_end_after(session, kTimeout_s);
}

TEST_F(IdleTimeout, RestartsWithEachByte) {
  Session& session = world.connect();
  for (const char c : std::string("use t")) {
    world.pass_s(kTimeout_s - 1);
    world.send(session, std::string(1, c));
  }
  world.send(session, "\r\n" + put_line(30'000));
  for (int i = 0; i < 3; ++i) {
    world.pass_s(kTimeout_s - 1);
    world.send(session, std::string(9'000, 'x'));
  }
  expect_end_after(session, kTimeout_s);
}

TEST_F(IdleTimeout, AnIncompleteCommandIsIdle) {
  for (const std::string& half :
       {std::string("use"), put_line(10) + "x", put_line(30'000) + "x", put_line(4'000'000'000)}) {
    Session& session = world.connect();
    world.send(session, half);
    expect_end_after(session, kTimeout_s);
    world.disconnect(session);
  }
}

TEST_F(IdleTimeout, AWaitingSessionIsNotIdle) {
  Session& session = world.connect();
  world.send(session, "reserve\r\n");
  expect_no_end(session);
  EXPECT_EQ(world.ask(world.connect(), whole_put("x")), "INSERTED 1\r\n");
  EXPECT_EQ(world.receive(session), "RESERVED 1 1\r\nx\r\n");
}

TEST_F(IdleTimeout, ASessionThatWaitsForTheEndOfAJobIsNotIdle) {
  Session& session = world.connect();
  EXPECT_EQ(world.ask(session, whole_put("x")), "INSERTED 1\r\n");
  world.send(session, "wait-job 1 4294967295\r\n");
  expect_no_end(session);
  EXPECT_EQ(world.ask(world.connect(), "delete 1\r\n"), "DELETED\r\n");
  EXPECT_EQ(world.receive(session), "DELETED\r\n");
  expect_end_after(session, kTimeout_s);
}

TEST_F(IdleTimeout, RestartsWhenAWaitEnds) {
  Session& session = world.connect();
  world.send(session, "reserve-with-timeout 25\r\n");
  world.pass_s(25);
  EXPECT_EQ(world.receive(session), "TIMED_OUT\r\n");
  expect_end_after(session, kTimeout_s);
}

TEST_F(IdleTimeout, ASessionThatHoldsAJobIsNotIdle) {
  Session& session = world.connect();
  world.ask(session, "put 0 0 1000 1\r\nx\r\nreserve\r\n");
  expect_no_end(session);
  EXPECT_EQ(world.ask(session, "delete 1\r\n"), "DELETED\r\n");
  expect_end_after(session, kTimeout_s);
}

// The instant at which the session lost the job is unknown, so it may have twice the time.
TEST_F(IdleTimeout, ALostJobAllowsUpToTwiceTheTime) {
  for (std::uint32_t ttr_s = 1; ttr_s <= 2 * kTimeout_s; ++ttr_s) {
    SCOPED_TRACE(ttr_s);
    Session& session = world.connect();
    const std::string put = "put 0 0 " + std::to_string(ttr_s) + " 1\r\nx\r\n";
    const std::string id = world.ask(session, put).substr(9, 5);
    ASSERT_TRUE(world.ask(session, "reserve\r\n").starts_with("RESERVED " + id.substr(0, 1)));
    world.pass_s(ttr_s);
    world.pass(Duration::milliseconds(kTimeout_s * 1000 - 1));
    EXPECT_FALSE(is_ended(session));
    world.pass(Duration::milliseconds(kTimeout_s * 1000 + 1));
    EXPECT_TRUE(is_ended(session));
    world.disconnect(session);
    Session& other = world.connect();
    EXPECT_EQ(world.ask(other, "delete " + id), "DELETED\r\n");
    world.disconnect(other);
  }
}

// A server that was stopped or handed over has not read the input of that time yet.
TEST_F(IdleTimeout, ExcludesTheTimeOfAStoppedServer) {
  Session& quiet = world.connect();
  world.pass_s(kTimeout_s - 1);
  Session& session = world.connect();
  world.now = world.now + Duration::milliseconds(kTimeout_s * 1000 + 200);
  world.service.advance(world.now);
  EXPECT_FALSE(is_ended(quiet));
  EXPECT_FALSE(is_ended(session));
  EXPECT_EQ(world.ask(session, "use t\r\n"), "USING t\r\n");
  expect_end_after(quiet, 1);
  expect_end_after(session, kTimeout_s - 1);
}

TEST_F(IdleTimeout, ClosesASessionThatWasReadInTime) {
  Session& session = world.connect();
  world.pass(Duration::milliseconds(kTimeout_s * 1000 - 1));
  world.now = world.now + Duration::milliseconds(50);
  world.settle();
  EXPECT_TRUE(is_ended(session));
}

TEST_F(IdleTimeout, DropsUnreadAnswers) {
  Session& session = world.connect();
  world.send(session, whole_put(std::string(50'000, 'x')) + "peek 1\r\nuse t\r\n");
  EXPECT_TRUE(session.has_output());
  expect_end_after(session, kTimeout_s);
}

TEST_F(IdleTimeout, ASlowReaderIsNotIdle) {
  Session& session = world.connect();
  world.send(session, whole_put(std::string(50'000, 'x')) + "peek 1\r\n");
  for (int i = 0; i < 5; ++i) {
    world.pass_s(kTimeout_s - 1);
    EXPECT_EQ(world.receive(session, 1'000).size(), 1'000U);
  }
  expect_end_after(session, kTimeout_s);
}

TEST_F(IdleTimeout, ASessionThatWaitsForTheDiskIsNotIdle) {
  world.journal.hold_back();
  Session& session = world.connect();
  world.send(session, whole_put("x"));
  expect_no_end(session);
  world.journal.make_safe();
  world.service.end_turn(world.now);
  EXPECT_EQ(world.receive(session), "INSERTED 1\r\n");
  expect_end_after(session, kTimeout_s);
}

TEST_F(IdleTimeout, ClosesASessionThatDoesNotReadAfterQuit) {
  Session& session = world.connect();
  world.send(session, whole_put("x") + "quit\r\n");
  EXPECT_TRUE(session.has_output());
  expect_end_after(session, kTimeout_s);
}

// Many sessions are closed over several turns, and each is counted once.
TEST_F(IdleTimeout, ClosesThousandsOverSeveralTurns) {
  std::vector<Session*> sessions;
  for (int i = 0; i < 5'000; ++i) sessions.push_back(&world.connect());
  world.pass(Duration::milliseconds(kTimeout_s * 1000 - 1));
  world.now = world.now + Duration::milliseconds(1);
  for (int turn = 0; turn < 2; ++turn) world.service.advance(world.now);
  EXPECT_EQ(world.to_send().size(), 0U);
  world.service.advance(world.now);
  const std::size_t first_turn = world.to_send().size();
  EXPECT_GE(first_turn, 1U);
  EXPECT_LE(first_turn, turn_limits::kStepsOfIdle / turn_limits::kStepsPerClose + 1);
  EXPECT_LE(world.service.next_event(), world.now);
  world.settle();
  for (Session* session : sessions) {
    EXPECT_TRUE(is_ended(*session));
    world.disconnect(*session);
  }
  EXPECT_EQ(world.stat(world.connect(), "idle-closed"), 5'000U);
}

// Checks of exempt sessions must not keep the server awake.
TEST_F(IdleTimeout, ChecksAnExemptSessionOncePerPeriod) {
  Session& session = world.connect();
  world.send(session, "reserve\r\n");
  int events = 0;
  for (const Instant end = world.now + Duration::seconds(10 * kTimeout_s);
       world.service.next_event() <= end; ++events) {
    world.now = world.service.next_event();
    world.service.advance(world.now);
  }
  EXPECT_LE(events, 11);
}

// A server without the timeout does not record activity, so the next server closes none at once.
TEST_F(IdleTimeout, BeginsWithTheHandOverIfItWasOff) {
  ServiceWorld before;
  before.connect();
  before.pass_s(1'000'000);
  expect_end_after(*test::hand_over(before, world, {&world}).at(0), kTimeout_s);
}

// A session that holds a job at the hand-over may have twice the time.
TEST_F(IdleTimeout, ALostJobAfterTheHandOverAllowsTwiceTheTime) {
  ServiceWorld before;
  before.ask(before.connect(), "put 0 0 5 1\r\nx\r\nreserve\r\n");
  Session& session = *test::hand_over(before, world, {&world}).at(0);
  expect_end_after(session, 2 * kTimeout_s);
}

TEST_F(IdleTimeout, ContinuesAfterTheHandOver) {
  ServiceWorld before{Limits{.idle_timeout_s = 100 * kTimeout_s}};
  before.connect();
  before.pass_s(kTimeout_s - 3);
  expect_end_after(*test::hand_over(before, world, {&world}).at(0), 3);
}

}  // namespace
}  // namespace haricot
