#include "haricot/service/requests.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "haricot/base/memory.hpp"
#include "haricot/base/turn_limits.hpp"
#include "service/part_world.hpp"

namespace haricot {
namespace {

using Stopped = Session::Stopped;

class RequestsTest : public ::testing::Test, protected test::PartWorld {
 protected:
  RequestsTest() { begin_reading(); }
  ~RequestsTest() override {
    for (const auto& session : sessions) {
      requests::remove(parts, *session);
      lists.remove(*session);
    }
  }

  void begin_reading() {
    turn.begin(now);
    shares.begin_turn();
    shares.begin_reading(!run_queue.is_empty());
  }
  void run_backlog() {
    shares.begin_backlog();
    run_queue.begin_round();
    while (Session* session = run_queue.take_next()) {
      requests::run_kept(parts, *session, now, shares.share_of_waiting());
    }
    run_queue.end_round();
  }
  std::string send(Session& session, std::string_view bytes) {
    requests::receive(parts, session, bytes, now);
    return take_output(session);
  }

  TurnShares& shares = parts.shares;
  PageLimit& page_limit = parts.page_limit;
  LongLists& lists = parts.lists;
};

TEST_F(RequestsTest, RunsCompleteRequestsAndKeepsTheRest) {
  Session& session = connect();
  EXPECT_EQ(send(session, "use t\r\nput 0 0 60 1\r\nx\r\nlist-tube"), "USING t\r\nINSERTED 1\r\n");
  EXPECT_EQ(session.stopped(), Stopped::needs_input);
  EXPECT_EQ(session.requests.input.view(), "list-tube");
  EXPECT_EQ(session.commands_run(), 2U);
  EXPECT_EQ(send(session, "-used\r\n"), "USING t\r\n");
  EXPECT_EQ(session.requests.input.memory_bytes(), 0U);
}

TEST_F(RequestsTest, AWaitingSessionKeepsItsInput) {
  Session& session = connect();
  EXPECT_EQ(send(session, "reserve\r\nuse t\r\n"), "");
  EXPECT_EQ(session.stopped(), Stopped::waits_for_delivery);
  EXPECT_EQ(send(session, "use u\r\n"), "");
  EXPECT_EQ(session.requests.input.view(), "use t\r\nuse u\r\n");
}

TEST_F(RequestsTest, AClosedWritingSideEndsAWait) {
  Session& session = connect();
  send(session, "reserve\r\n");
  requests::half_close(parts, session);
  EXPECT_FALSE(session.peer_may_write());
  EXPECT_EQ(take_output(session), "TIMED_OUT\r\n");
  EXPECT_FALSE(session.is_finished()) << "more may be under way";
  EXPECT_EQ(send(session, "reserve\r\n"), "TIMED_OUT\r\n");
  to_send();
  requests::end_input(parts, session);
  EXPECT_TRUE(session.is_finished());
  EXPECT_EQ(to_send(), Sessions{&session});
}

TEST_F(RequestsTest, InputAbortsAReserveWithAbort) {
  Session& session = connect();
  EXPECT_EQ(send(session, "reserve-with-abort\r\n"), "");
  EXPECT_EQ(send(session, "use t\r\n"), "ABORTED\r\n");
  run_backlog();
  EXPECT_EQ(take_output(session), "USING t\r\n");
}

TEST_F(RequestsTest, ASessionBeyondItsShareContinuesInTheBacklog) {
  constexpr std::size_t kCommands =
      turn_limits::kStepsPerShare / turn_limits::kStepsPerCommand + 10;
  Session& session = connect();
  std::string commands;
  for (std::size_t i = 0; i < kCommands; ++i) commands += "use t\r\n";
  const std::string first = send(session, commands);
  EXPECT_EQ(session.stopped(), Stopped::has_had_share);
  run_backlog();
  EXPECT_EQ((first + take_output(session)).size(), kCommands * 9);
  EXPECT_EQ(session.stopped(), Stopped::needs_input);
}

TEST_F(RequestsTest, AnExpensiveCommandStaysInTheInput) {
  Session& session = connect();
  for (int i = 0; i < 40; ++i) send(session, "put 0 0 60 1\r\nx\r\n");
  begin_reading();
  engine.steps() += turn_limits::kStepsOfReading;
  const std::uint64_t commands = session.commands_run();
  EXPECT_EQ(send(session, "scan-jobs 0 40\r\nuse t\r\n"), "");
  EXPECT_EQ(session.stopped(), Stopped::put_off);
  EXPECT_EQ(session.requests.input.view(), "scan-jobs 0 40\r\nuse t\r\n");
  EXPECT_EQ(session.commands_run(), commands);
  run_backlog();
  const std::string received = take_output(session);
  EXPECT_TRUE(received.starts_with("OK ") && received.ends_with("USING t\r\n"));
}

TEST_F(RequestsTest, ADeferredCommandRunsAgain) {
  Session& session = connect();
  journal.refuse_from(1, JournalStatus::later);
  EXPECT_EQ(send(session, "put 0 0 60 1\r\nx\r\nuse t\r\n"), "");
  EXPECT_EQ(session.stopped(), Stopped::deferred);
  EXPECT_EQ(session.requests.input.view(), "x\r\nuse t\r\n");
  journal.accept();
  EXPECT_EQ(send(session, "use u\r\n"), "") << "only the journal ends this";
  run_queue.retry_deferred();
  run_backlog();
  EXPECT_EQ(take_output(session), "INSERTED 1\r\nUSING t\r\nUSING u\r\n");
  journal.refuse_from(1, JournalStatus::later);
  const std::uint64_t commands = session.commands_run();
  EXPECT_EQ(send(session, "delete 1\r\n"), "");
  EXPECT_EQ(session.commands_run(), commands);
  journal.accept();
  run_queue.retry_deferred();
  run_backlog();
  EXPECT_EQ(take_output(session), "DELETED\r\n");
  EXPECT_EQ(session.commands_run(), commands + 1);
}

TEST_F(RequestsTest, APageWaitsForMemory) {
  Session& session = connect();
  send(session, "put 0 0 60 1\r\nx\r\n");
  for (std::uint32_t i = 0; i < PageLimit::kPagesMax; ++i) page_limit.begin(connect());
  void* const held = Memory::allocate(Memory::kOwnBytes + 1);
  Memory::limit(1);
  EXPECT_EQ(send(session, "scan-jobs 0 10\r\n"), "");
  EXPECT_EQ(session.stopped(), Stopped::deferred);
  Memory::limit(SIZE_MAX);
  Memory::free(held);
  run_queue.wake_for_memory(page_limit.free_pages());
  run_backlog();
  EXPECT_TRUE(session.has_page);
  EXPECT_TRUE(take_output(session).starts_with("OK "));
}

TEST_F(RequestsTest, ADuplicateWaitsForTheRecordOfTheOwner) {
  journal.hold_back();
  Session& first = connect();
  Session& second = connect();
  requests::receive(parts, first, "put 5 0 60 1 idp:k\r\nx\r\n", now);
  requests::receive(parts, second, "put 5 0 60 1 idp:k\r\nx\r\n", now);
  EXPECT_EQ(journal.written.size(), 1U);
  EXPECT_FALSE(second.may_send());
}

TEST_F(RequestsTest, ARejectedLineIsAnswered) {
  Session& session = connect();
  EXPECT_EQ(send(session, "nonsense\r\n"), "UNKNOWN_COMMAND\r\n");
  EXPECT_EQ(send(session, "delete x\r\n"), "BAD_FORMAT\r\n");
  EXPECT_EQ(send(session, std::string(500, 'x') + "\r\n"), "BAD_FORMAT\r\n");
  EXPECT_EQ(send(session, "put 0 0 60 3\r\nabcde"), "EXPECTED_CRLF\r\n");
  EXPECT_EQ(send(session, "put 0 0 60 4294967295 x\r\n"), "") << "its body is discarded";
}

TEST_F(RequestsTest, ASessionEndsWithoutMemoryForInput) {
  Session& session = connect();
  const std::string body(4 * Memory::kOwnBytes, 'x');
  send(session, "reserve\r\n");
  Memory::limit(1);
  {
    const Memory::Bounded bounded;
    requests::receive(parts, session, body, now);
  }
  Memory::limit(SIZE_MAX);
  EXPECT_TRUE(Memory::take_refusal());
  EXPECT_EQ(session.stopped(), Stopped::quit);
  EXPECT_EQ(to_send(), Sessions{&session});
}

TEST_F(RequestsTest, QuitEndsTheSession) {
  Session& session = connect();
  EXPECT_EQ(send(session, "use t\r\nquit\r\nuse u\r\n"), "USING t\r\n");
  EXPECT_EQ(session.stopped(), Stopped::quit);
  EXPECT_EQ(send(session, "use u\r\n"), "");
  EXPECT_TRUE(session.requests.input.empty());
}

}  // namespace
}  // namespace haricot
