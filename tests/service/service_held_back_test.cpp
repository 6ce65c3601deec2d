// Answers that are held back until their records are safe in the journal.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "service/service_world.hpp"

namespace haricot {
namespace {

using test::ServiceWorld;
using test::whole_put;

class HeldBackAnswers : public ::testing::Test {
 protected:
  HeldBackAnswers() { world.journal.hold_back(); }
  void TearDown() override { service.engine().check_invariants(); }

  void make_safe() {
    world.journal.make_safe();
    service.end_turn(world.now);
    world.settle();
  }

  // Number of jobs that takes more than one call of the engine.
  static constexpr std::uint32_t kLongJobs = Engine::kJobsPerCall + 5;

  // Puts kLongJobs delayed jobs, whose ids begin at 1. Returns their session, which has sent the
  // command and is not answered yet.
  Session& begin_long(const std::string& command) {
    Session& session = world.connect();
    for (std::uint32_t i = 0; i < kLongJobs; ++i) {
      world.send(session, "put 0 1000 60 0\r\n\r\n");
      make_safe();
    }
    world.receive(session);
    world.send(session, command);
    return session;
  }
  Session& begin_long_kick() { return begin_long("kick 1000000\r\n"); }
  // Checks that the answer is sent when all records of the task are safe, and not before.
  void expect_held_to_the_end(Session& session, const std::string& answer) {
    EXPECT_FALSE(session.has_output());
    make_safe();  // Settles, which continues the task.
    EXPECT_EQ(world.receive(session), "");
    make_safe();
    EXPECT_EQ(world.receive(session), answer);
  }

  ServiceWorld world;
  Service& service = world.service;
};

TEST_F(HeldBackAnswers, OnlyTheAuthorOfARecordWaitsForIt) {
  Session& producer = world.connect();
  Session& other = world.connect();
  world.send(producer, whole_put("x"));
  EXPECT_TRUE(producer.has_output());
  EXPECT_FALSE(producer.may_send());
  EXPECT_TRUE(other.may_send());
  EXPECT_EQ(world.ask(other, "reserve\r\ntouch 1\r\nuse t\r\npeek 1\r\n"),
            "RESERVED 1 1\r\nx\r\nTOUCHED\r\nUSING t\r\nFOUND 1 1\r\nx\r\n");
  world.to_send();
  make_safe();
  EXPECT_TRUE(producer.may_send());
  EXPECT_TRUE(world.is_to_be_sent(producer));
  EXPECT_EQ(world.receive(producer), "INSERTED 1\r\n");
}

TEST_F(HeldBackAnswers, EachRecordingCommandWaits) {
  Session& session = world.connect();
  const std::pair<std::string, std::string> commands[] = {
      {whole_put("x"), "INSERTED 1\r\n"},
      {"reserve-job 1\r\nbury 1 0\r\n", "RESERVED 1 1\r\nx\r\nBURIED\r\n"},
      {"kick 1\r\n", "KICKED 1\r\n"},
      {"reserve-job 1\r\nrelease 1 0 100\r\n", "RESERVED 1 1\r\nx\r\nRELEASED\r\n"},
      {"kick-job 1\r\n", "KICKED\r\n"},
      {"delete 1\r\n", "DELETED\r\n"},
  };
  for (const auto& [command, answer] : commands) {
    world.send(session, command);
    EXPECT_FALSE(session.may_send()) << command;
    make_safe();
    EXPECT_TRUE(session.may_send()) << command;
    EXPECT_EQ(world.receive(session), answer);
  }
  EXPECT_EQ(world.ask(session, "delete 1\r\nkick 1\r\nrelease 1 0 0\r\nkick-job 1\r\n"),
            "NOT_FOUND\r\nKICKED 0\r\nNOT_FOUND\r\nNOT_FOUND\r\n");
}

TEST_F(HeldBackAnswers, CommandsReceivedAtOnceAreReleasedTogether) {
  Session& session = world.connect();
  service.advance(world.now);
  world.send(session, "use t\r\n" + whole_put("x") + "stats-job 9\r\n" + whole_put("y") +
                          "list-tube-used\r\n");
  EXPECT_EQ(world.journal.written.size(), 2u);
  EXPECT_EQ(world.receive(session), "");
  world.journal.make_safe(1);
  service.end_turn(world.now);
  EXPECT_FALSE(session.may_send());
  make_safe();
  EXPECT_EQ(world.receive(session),
            "USING t\r\nINSERTED 1\r\nNOT_FOUND\r\nINSERTED 2\r\nUSING t\r\n");
}

TEST_F(HeldBackAnswers, CommandsOfALaterTurnWaitInOrder) {
  Session& session = world.connect();
  service.advance(world.now);
  world.send(session, whole_put("x"));
  service.advance(world.now);
  world.send(session, whole_put("y") + "use t\r\n");
  EXPECT_EQ(world.journal.written.size(), 1u);
  make_safe();
  EXPECT_EQ(world.journal.written.size(), 2u);
  EXPECT_FALSE(session.may_send());
  make_safe();
  EXPECT_EQ(world.receive(session), "INSERTED 1\r\nINSERTED 2\r\nUSING t\r\n");
}

TEST_F(HeldBackAnswers, AnswersInDoubtAreFailures) {
  Session& session = world.connect();
  Session& other = world.connect();
  service.advance(world.now);
  world.send(session, "use t\r\n" + whole_put("x") + "list-tube-used\r\n" + whole_put("y"));
  world.send(other, whole_put("z"));
  world.journal.doubt(2);
  service.end_turn(world.now);
  EXPECT_TRUE(session.may_send());
  EXPECT_EQ(world.receive(session),
            "USING t\r\nINTERNAL_ERROR\r\nINTERNAL_ERROR\r\nINTERNAL_ERROR\r\n");
  EXPECT_FALSE(other.may_send());
  make_safe();
  EXPECT_EQ(world.receive(other), "INSERTED 3\r\n");
  EXPECT_EQ(world.ask(session, "peek 1\r\n"), "FOUND 1 1\r\nx\r\n");
}

// Follows the advice of docs/protocol.md: the put has happened, the client may hold the job without
// knowing, and closing the connection returns it.
TEST_F(HeldBackAnswers, ClosingReturnsJobsOfAReserveInDoubt) {
  Session& session = world.connect();
  Session& other = world.connect();
  service.advance(world.now);
  world.send(session, whole_put("x") + "reserve\r\n");
  world.journal.doubt(1);
  service.end_turn(world.now);
  EXPECT_EQ(world.receive(session), "INTERNAL_ERROR\r\nINTERNAL_ERROR\r\n");
  EXPECT_EQ(world.ask(other, "reserve-with-timeout 0\r\n"), "TIMED_OUT\r\n");
  service.close(session, world.now);
  EXPECT_EQ(world.ask(other, "reserve-with-timeout 0\r\n"), "RESERVED 1 1\r\nx\r\n");
  world.send(other, whole_put("x"));
  make_safe();
  EXPECT_EQ(world.receive(other), "INSERTED 2\r\n");
}

// Returns a put with the key of an existing job.
std::string put_of_key(int priority = 5) {
  return "put " + std::to_string(priority) + " 0 60 1 idp:k\r\nx\r\n";
}

TEST_F(HeldBackAnswers, ADuplicateWaitsForTheRecordOfTheOwner) {
  Session& first = world.connect();
  Session& second = world.connect();
  service.advance(world.now);
  world.send(first, put_of_key());
  world.send(second, put_of_key());
  EXPECT_EQ(world.journal.written.size(), 1U);
  EXPECT_FALSE(first.may_send());
  EXPECT_FALSE(second.may_send());
  make_safe();
  EXPECT_EQ(world.receive(first), "INSERTED 1\r\n");
  EXPECT_EQ(world.receive(second), "INSERTED 1 READY\r\n");
  // A safe state is reported at once, unless something has to be recorded.
  EXPECT_EQ(world.ask(second, put_of_key()), "INSERTED 1 READY\r\n");
  world.send(second, put_of_key(4));
  EXPECT_FALSE(second.may_send());
  make_safe();
  EXPECT_EQ(world.receive(second), "INSERTED 1 READY 4\r\n");
}

TEST_F(HeldBackAnswers, ADuplicateFailsWithTheRecordOfTheOwner) {
  Session& first = world.connect();
  Session& second = world.connect();
  Session& third = world.connect();
  service.advance(world.now);
  world.send(first, put_of_key());
  world.send(second, put_of_key());
  world.journal.doubt(1);
  service.end_turn(world.now);
  EXPECT_EQ(world.receive(first), "INTERNAL_ERROR\r\n");
  EXPECT_EQ(world.receive(second), "INTERNAL_ERROR\r\n");
  // The record is still in doubt.
  service.advance(world.now);
  world.send(third, put_of_key());
  service.end_turn(world.now);
  EXPECT_EQ(world.receive(third), "INTERNAL_ERROR\r\n");
  make_safe();
  EXPECT_EQ(world.ask(third, put_of_key()), "INSERTED 1 READY\r\n");
}

std::string put_of_tombstone_key() {
  return "put 5 0 60 1 idp:k:60\r\nx\r\n";
}

// Deletion of a job whose key outlives it.
constexpr std::string_view kDelete = "delete 1\r\n";

TEST_F(HeldBackAnswers, ADuplicateWaitsForTheRecordOfTheDeletion) {
  Session& first = world.connect();
  Session& second = world.connect();
  world.send(first, put_of_tombstone_key());
  make_safe();
  EXPECT_EQ(world.receive(first), "INSERTED 1\r\n");
  service.advance(world.now);
  // Each answer reports the state at its moment, and all are held back together.
  world.send(second, put_of_key());
  EXPECT_EQ(world.receive(second), "INSERTED 1 READY\r\n");
  world.send(first, kDelete);
  world.send(second, put_of_key() + "use default\r\n" + put_of_key(1));
  EXPECT_FALSE(first.may_send());
  EXPECT_FALSE(second.may_send());
  world.journal.make_safe(1);
  service.end_turn(world.now);
  EXPECT_FALSE(second.may_send());
  make_safe();
  EXPECT_EQ(world.receive(first), "DELETED\r\n");
  EXPECT_EQ(world.receive(second), "INSERTED 1 DELETED\r\nUSING default\r\nINSERTED 1 DELETED\r\n");
  // Nothing was recorded for the duplicates, and a safe state is reported at once.
  EXPECT_EQ(world.journal.written.size(), 2U);
  EXPECT_EQ(world.ask(second, put_of_tombstone_key()), "INSERTED 1 DELETED\r\n");
}

TEST_F(HeldBackAnswers, ADuplicateFailsWithTheRecordOfTheDeletion) {
  Session& first = world.connect();
  Session& second = world.connect();
  Session& third = world.connect();
  world.send(first, put_of_tombstone_key());
  make_safe();
  EXPECT_EQ(world.receive(first), "INSERTED 1\r\n");
  service.advance(world.now);
  world.send(first, kDelete);
  world.send(second, put_of_key());
  world.journal.doubt(2);
  service.end_turn(world.now);
  EXPECT_EQ(world.receive(first), "INTERNAL_ERROR\r\n");
  EXPECT_EQ(world.receive(second), "INTERNAL_ERROR\r\n");
  // The record is still in doubt in a later turn, for another session.
  service.advance(world.now);
  world.send(third, put_of_key());
  service.end_turn(world.now);
  EXPECT_EQ(world.receive(third), "INTERNAL_ERROR\r\n");
  make_safe();
  EXPECT_EQ(world.ask(third, put_of_key()), "INSERTED 1 DELETED\r\n");
}

// The answer is held back until after the time of the key.
TEST_F(HeldBackAnswers, AnAnswerToADuplicateOutlivesTheKey) {
  Session& session = world.connect();
  world.send(session, "put 5 0 60 1 idp:k:1\r\nx\r\n");
  make_safe();
  EXPECT_EQ(world.receive(session), "INSERTED 1\r\n");
  service.advance(world.now);
  world.send(session, std::string(kDelete) + put_of_key());
  EXPECT_FALSE(session.may_send());
  world.now = world.now + Duration::seconds(2);
  service.advance(world.now);
  EXPECT_FALSE(session.may_send());
  make_safe();
  EXPECT_EQ(world.receive(session), "DELETED\r\nINSERTED 1 DELETED\r\n");
  world.send(session, put_of_key());
  make_safe();
  EXPECT_EQ(world.receive(session), "INSERTED 3\r\n");
}

TEST_F(HeldBackAnswers, TheJournalRequestsTheNextTurn) {
  world.journal.wants_turn_at = world.now + Duration::seconds(3);
  EXPECT_EQ(service.next_event(), world.now + Duration::seconds(3));
  service.end_turn(world.now);
  EXPECT_EQ(world.journal.last_turn, world.now);
}

TEST_F(HeldBackAnswers, NewInputRunsWhenTheRecordIsSafe) {
  Session& session = world.connect();
  world.send(session, whole_put("x"));
  service.advance(world.now);
  world.send(session, "use t\r\nus");
  world.send(session, "e u\r\n");
  EXPECT_GT(service.next_event(), world.now);
  make_safe();
  EXPECT_EQ(world.receive(session), "INSERTED 1\r\nUSING t\r\nUSING u\r\n");
}

TEST_F(HeldBackAnswers, AnAnswerWaitsForItsOwnRecord) {
  Session& first = world.connect();
  Session& second = world.connect();
  world.send(first, whole_put("x"));
  world.send(second, whole_put("y"));
  world.journal.make_safe(1);
  service.end_turn(world.now);
  EXPECT_TRUE(first.may_send());
  EXPECT_FALSE(second.may_send());
  world.journal.make_safe(2);
  service.end_turn(world.now);
  EXPECT_TRUE(second.may_send());
}

TEST_F(HeldBackAnswers, AnswersOfOneSyncAreSentInSeveralTurns) {
  constexpr std::size_t kSessions = 1'000;
  constexpr std::size_t kMost = turn_limits::kStepsOfAnswers / turn_limits::kStepsPerSend;
  std::vector<Session*> sessions;
  for (std::size_t i = 0; i < kSessions; ++i) {
    sessions.push_back(&world.connect());
    world.send(*sessions.back(), whole_put("x"));
  }
  world.journal.make_safe();
  std::size_t sent = 0;
  for (int turns = 0; sent < kSessions && turns < 100; ++turns) {
    service.end_turn(world.now);
    const std::vector<Session*> released = world.to_send();
    ASSERT_GE(released.size(), 1U);
    ASSERT_LE(released.size(), kMost);
    for (Session* session : released) {
      EXPECT_EQ(session, sessions[sent]);
      EXPECT_EQ(world.receive(*session), "INSERTED " + std::to_string(++sent) + "\r\n");
    }
    EXPECT_EQ(service.has_safe_answers(), sent < kSessions);
    EXPECT_TRUE(sent == kSessions || service.next_event() <= world.now);
  }
  EXPECT_EQ(sent, kSessions);
}

TEST_F(HeldBackAnswers, ASessionThatRecordsMoreDoesNotDelayOthers) {
  Session& first = world.connect();
  Session& second = world.connect();
  world.send(first, whole_put("x"));
  world.send(second, whole_put("x"));
  world.send(first, whole_put("x"));
  world.journal.make_safe(2);
  service.end_turn(world.now);
  EXPECT_FALSE(first.may_send());
  EXPECT_EQ(world.receive(second), "INSERTED 2\r\n");
  make_safe();
  EXPECT_EQ(world.receive(first), "INSERTED 1\r\nINSERTED 3\r\n");
}

TEST_F(HeldBackAnswers, AnswersOfClosedSessionsDoNotWakeTheServer) {
  std::vector<Session*> sessions;
  for (int i = 0; i < 300; ++i) {
    sessions.push_back(&world.connect());
    world.send(*sessions.back(), whole_put("x"));
  }
  world.journal.make_safe();
  service.end_turn(world.now);
  ASSERT_TRUE(service.has_safe_answers());
  for (Session* session : sessions) world.disconnect(*session);
  service.end_turn(world.now);
  EXPECT_FALSE(service.has_safe_answers());
}

TEST_F(HeldBackAnswers, JournalProgressChangesNothingWithoutHeldAnswers) {
  Session& session = world.connect();
  service.end_turn(world.now);
  EXPECT_TRUE(world.to_send().empty());
  EXPECT_TRUE(session.may_send());
}

TEST_F(HeldBackAnswers, AWorkerGetsAJobBeforeItsRecordIsSafe) {
  Session& worker = world.connect();
  Session& producer = world.connect();
  world.ask(worker, "reserve\r\n");
  world.send(producer, whole_put("x"));
  EXPECT_FALSE(producer.may_send());
  EXPECT_EQ(world.receive(worker), "RESERVED 1 1\r\nx\r\n");
}

TEST_F(HeldBackAnswers, ALongKickIsHeldUntilAllItsRecordsAreSafe) {
  expect_held_to_the_end(begin_long_kick(), "KICKED " + std::to_string(kLongJobs) + "\r\n");
}

TEST_F(HeldBackAnswers, ALongFlushIsHeldUntilAllItsRecordsAreSafe) {
  Session& session = begin_long("flush-tube default\r\n");
  expect_held_to_the_end(session, "FLUSHED " + std::to_string(kLongJobs) + "\r\n");
}

TEST_F(HeldBackAnswers, InputDuringAHeldKickIsRun) {
  Session& session = begin_long_kick();
  world.settle();  // The kick is done, and its answer waits for the last records.
  world.send(session, "use t\r\n");
  make_safe();
  EXPECT_EQ(world.receive(session), "KICKED " + std::to_string(kLongJobs) + "\r\nUSING t\r\n");
}

TEST_F(HeldBackAnswers, AHeldSessionIsFinishedWhenItsAnswerMayBeSent) {
  Session& session = world.connect();
  world.send(session, whole_put("x") + "quit\r\n");
  EXPECT_FALSE(session.is_finished());
  make_safe();
  EXPECT_TRUE(session.is_finished());
  EXPECT_EQ(world.receive(session), "INSERTED 1\r\n");
}

TEST_F(HeldBackAnswers, AHeldSessionCanHalfClose) {
  Session& session = world.connect();
  world.send(session, whole_put("x") + "use t\r\n");
  service.end_of_input(session);
  EXPECT_FALSE(session.is_finished());
  make_safe();
  EXPECT_EQ(world.receive(session), "INSERTED 1\r\nUSING t\r\n");
  EXPECT_TRUE(session.is_finished());
}

TEST_F(HeldBackAnswers, AHeldSessionIsReturnedWhenItsAnswerMayBeSent) {
  Session& session = world.connect();
  world.send(session, whole_put("x"));
  EXPECT_FALSE(world.is_to_be_sent(session));
  make_safe();
  EXPECT_TRUE(world.is_to_be_sent(session));
}

TEST_F(HeldBackAnswers, AHeldSessionTakesNoSteps) {
  Session& session = world.connect();
  world.send(session, whole_put("x"));
  service.advance(world.now);
  const std::uint64_t steps = service.engine().steps();
  world.send(session, "use t\r\n");
  EXPECT_EQ(service.engine().steps(), steps);
}

TEST_F(HeldBackAnswers, AHeldSessionEndsAfterItsAnswerWithoutMemoryForInput) {
  Session& session = world.connect();
  world.send(session, whole_put("x"));
  service.advance(world.now);
  world.send_without_memory(session);
  EXPECT_FALSE(session.is_finished());
  EXPECT_FALSE(session.wants_input());
  make_safe();
  EXPECT_TRUE(world.is_to_be_sent(session));
  EXPECT_EQ(world.receive(session), "INSERTED 1\r\n");
  EXPECT_TRUE(session.is_finished());
}

TEST_F(HeldBackAnswers, AHeldSessionCanBeClosed) {
  Session& session = world.connect();
  world.send(session, whole_put("x"));
  world.disconnect(session);
  make_safe();
  EXPECT_TRUE(world.to_send().empty());
}

TEST_F(HeldBackAnswers, ARefusedCommandIsNotHeld) {
  Session& session = world.connect();
  world.journal.refuse_from(1, JournalStatus::full);
  EXPECT_EQ(world.ask(session, whole_put("x")), "OUT_OF_MEMORY\r\n");
}

}  // namespace
}  // namespace haricot
