// Ends of sessions, and stopped sessions that continue.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "service/service_fixture.hpp"

namespace haricot {
namespace {

using test::put_line;
using test::repeated;
using test::ServiceTest;
using test::whole_put;

// Ends --------------------------------------------------------------------------------------------

TEST_F(ServiceTest, QuitFinishesAfterTheAnswers) {
  Session& session = world.connect();
  world.send(session, "use t\r\nquit\r\nuse u\r\n");
  EXPECT_TRUE(session.is_finished());
  EXPECT_FALSE(session.wants_input());
  EXPECT_TRUE(world.is_to_be_sent(session));
  world.send(session, "use v\r\n");
  EXPECT_EQ(world.receive(session), "USING t\r\n");
  EXPECT_FALSE(session.has_output());
}

TEST_F(ServiceTest, AnIdleSessionIsFinishedWhenItsInputEnds) {
  Session& session = world.connect();
  service.end_of_input(session);
  EXPECT_TRUE(session.is_finished());
  EXPECT_TRUE(world.is_to_be_sent(session));
  EXPECT_FALSE(session.wants_input());
}

TEST_F(ServiceTest, AnIncompleteCommandDoesNotKeepASessionOpen) {
  for (const std::string& begun :
       {std::string("use"), std::string("use t\r"), put_line(5) + "abcde\r", put_line(5000) + "x",
        put_line(5'000'000) + "x", std::string(300, 'z')}) {
    Session& session = world.connect();
    world.send(session, begun);
    EXPECT_FALSE(session.is_finished());
    service.end_of_input(session);
    EXPECT_TRUE(session.is_finished()) << begun.substr(0, 20);
    EXPECT_EQ(world.receive(session), "");
    world.disconnect(session);
  }
}

TEST_F(ServiceTest, AWaitingSessionTimesOutWhenItsPeerHalfCloses) {
  Session& session = world.connect();
  world.ask(session, "reserve\r\n");
  service.end_of_input(session);
  world.settle();
  EXPECT_EQ(world.receive(session), "TIMED_OUT\r\n");
  EXPECT_TRUE(session.is_finished());
}

TEST_F(ServiceTest, CommandsBeforeAHalfCloseRun) {
  Session& session = world.connect();
  Session& other = world.connect();
  world.ask(other, whole_put("x"));
  world.send(session,
             "watch t\r\nignore default\r\nreserve\r\nwatch default\r\nreserve\r\nuse t\r\n"
             "reserve\r\nlist-tube-used\r\n");
  EXPECT_EQ(world.receive(session), "WATCHING 2\r\nWATCHING 1\r\n");
  service.end_of_input(session);
  world.settle();
  EXPECT_EQ(world.receive(session),
            "TIMED_OUT\r\nWATCHING 2\r\nRESERVED 1 1\r\nx\r\nUSING t\r\nTIMED_OUT\r\nUSING t\r\n");
  EXPECT_TRUE(session.is_finished());
}

TEST_F(ServiceTest, AnEarlyHalfCloseWaitsForTheRestOfTheInput) {
  Session& session = world.connect();
  world.send(session, "reserve\r\nuse t\r\n");
  service.peer_half_closed(session);
  EXPECT_FALSE(session.is_finished());
  world.settle();
  EXPECT_EQ(world.receive(session), "TIMED_OUT\r\nUSING t\r\n");
  EXPECT_FALSE(session.is_finished());
  EXPECT_EQ(world.ask(session, "reserve-with-timeout 100\r\nuse u\r\n"),
            "TIMED_OUT\r\nUSING u\r\n");
  service.end_of_input(session);
  EXPECT_TRUE(session.is_finished());
}

TEST_F(ServiceTest, CommandsBeyondAShareRunAfterAHalfClose) {
  Session& session = world.connect();
  service.receive(session, repeated("use t\r\n", 3 * test::kCommandsPerShare), world.now);
  service.end_of_input(session);
  EXPECT_FALSE(session.is_finished());
  const std::string answers = world.ask(session, "");
  EXPECT_EQ(lines_in(answers), 3 * test::kCommandsPerShare);
  EXPECT_TRUE(session.is_finished());
}

TEST_F(ServiceTest, AHalfClosedSessionIsFinishedWhenAllIsAnswered) {
  Session& session = world.connect();
  world.ask(session, whole_put(std::string(600'000, 'x')));
  world.send(session, repeated("peek 1\r\n", 6));
  service.end_of_input(session);
  world.settle();
  EXPECT_FALSE(session.is_finished());
  std::size_t bytes = 0;
  for (int i = 0; i < 100 && !(session.is_finished() && !session.has_output()); ++i) {
    bytes += world.receive(session, 500'000).size();
    world.settle();
  }
  EXPECT_EQ(bytes, 6 * (600'000 + std::string("FOUND 1 600000\r\n\r\n").size()));
  EXPECT_TRUE(session.is_finished());
}

TEST_F(ServiceTest, ALongKickIsAnsweredAfterAHalfClose) {
  Session& session = world.connect();
  const std::string put = "put 0 1000 60 0\r\n\r\n";
  world.ask(session, repeated(put, Engine::kJobsPerCall + 5));
  world.send(session, "kick 1000000\r\nuse t\r\n");
  service.end_of_input(session);
  EXPECT_FALSE(session.is_finished());
  EXPECT_EQ(world.ask(session, ""),
            "KICKED " + std::to_string(Engine::kJobsPerCall + 5) + "\r\nUSING t\r\n");
  EXPECT_TRUE(session.is_finished());
}

TEST_F(ServiceTest, JobsOfAClosedSessionGoToWaitingSessions) {
  Session& holder = world.connect();
  Session& worker = world.connect();
  world.ask(holder, whole_put("x") + "reserve\r\n");
  world.ask(worker, "reserve\r\n");
  world.disconnect(holder);
  EXPECT_EQ(world.ask(worker, ""), "RESERVED 1 1\r\nx\r\n");
}

TEST_F(ServiceTest, ASessionOfTheBacklogCanBeClosed) {
  Session& a = world.connect();
  Session& b = world.connect();
  for (Session* session : {&a, &b}) {
    service.receive(*session, repeated("use t\r\n", 2 * test::kCommandsPerShare), world.now);
  }
  world.disconnect(a);
  EXPECT_EQ(lines_in(world.ask(b, "")), 2 * test::kCommandsPerShare);
  EXPECT_EQ(world.to_send(), std::vector<Session*>{&b});
}

// After its end, a session is in no list and does not run, for each reason that stopped it before.
TEST_F(ServiceTest, AStoppedSessionEndsWithoutMemoryForInput) {
  const std::string share = repeated("use t\r\n", 2 * test::kCommandsPerShare);
  for (const std::string& stopping :
       {std::string("reserve\r\n"), share, share + whole_put("x"), whole_put("x")}) {
    SCOPED_TRACE(stopping.substr(0, 8) + " " + std::to_string(stopping.size()));
    Session& session = world.connect();
    if (stopping != share) world.journal.refuse_from(1, JournalStatus::later);
    world.send(session, stopping);
    if (stopping != share) service.run_backlog(world.now);
    const std::string received = world.receive(session);
    world.send_without_memory(session);
    EXPECT_TRUE(session.is_finished());
    EXPECT_FALSE(session.wants_input());
    EXPECT_TRUE(world.is_to_be_sent(session));
    world.journal.accept();
    world.journal.let_try_again();
    world.settle();
    EXPECT_FALSE(session.has_output()) << "it has run something";
    world.disconnect(session);
  }
}

TEST_F(ServiceTest, InputAfterTheEndIsDropped) {
  Session& session = world.connect();
  world.send(session, "quit\r\n");
  Memory::limit(1'000'000'000);
  service.receive(session, std::string(2 * Memory::kOwnBytes, 'x'), world.now);
  EXPECT_EQ(Memory::used_bytes(), 0U);
  Memory::limit(SIZE_MAX);
}

// Stopping and continuing -------------------------------------------------------------------------

TEST_F(ServiceTest, InputAfterALargeDeliveryIsRun) {
  Session& worker = world.connect();
  Session& producer = world.connect();
  world.ask(worker, "reserve\r\n");
  const std::string body(2'000'000, 'x');
  world.ask(producer, whole_put(body));
  service.receive(worker, "use t\r\n", world.now);
  EXPECT_EQ(world.ask(worker, ""), "RESERVED 1 2000000\r\n" + body + "\r\nUSING t\r\n");
}

TEST_F(ServiceTest, AStoppedSessionContinuesAfterAnEarlyHalfClose) {
  Session& session = world.connect();
  const std::string body(2'000'000, 'x');
  world.ask(session, "use t\r\n" + whole_put(body));
  service.peer_half_closed(session);
  service.receive(session, "reserve\r\npeek 1\r\nlist-tube-used\r\n", world.now);
  service.end_of_input(session);
  EXPECT_FALSE(session.is_finished());
  EXPECT_EQ(world.ask(session, ""), "TIMED_OUT\r\nFOUND 1 2000000\r\n" + body + "\r\nUSING t\r\n");
  EXPECT_TRUE(session.is_finished());
}

// Kept bytes of a body come before bytes that are received directly.
TEST_F(ServiceTest, ABodyCutByTheEndOfAShareStaysInOrder) {
  Session& session = world.connect();
  std::string body(2000, '-');
  body.front() = '<';
  body.back() = '>';
  const std::string bytes = repeated("use t\r\n", test::kCommandsPerShare - 1) + whole_put(body);
  const std::size_t received = bytes.size() - 1000;
  world.send(session, std::string_view(bytes).substr(0, received));
  EXPECT_LE(service.next_event(), world.now);  // The put's line was the last of its share.
  world.send(session, std::string_view(bytes).substr(received));
  EXPECT_TRUE(world.ask(session, "").ends_with("INSERTED 1\r\n"));
  EXPECT_EQ(world.ask(session, "peek 1\r\n"), "FOUND 1 2000\r\n" + body + "\r\n");
}

// The session of a slow client ends when the rest of its output is sent in a later turn.
TEST_F(ServiceTest, AFinishedSessionIsReturnedWhenItsOutputIsSent) {
  for (const bool quits : {true, false}) {
    Session& session = world.connect();
    world.send(session, quits ? "use t\r\nquit\r\n" : "use t\r\n");
    if (!quits) service.end_of_input(session);
    EXPECT_TRUE(world.is_to_be_sent(session));
    world.receive(session, 3);
    EXPECT_FALSE(world.is_to_be_sent(session));  // Nothing has changed.
    world.receive(session);
    EXPECT_TRUE(world.is_to_be_sent(session));
  }
}

}  // namespace
}  // namespace haricot
