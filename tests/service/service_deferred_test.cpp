// Commands that wait for the journal's disk before they run, without delaying others.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "service/service_world.hpp"

namespace haricot {
namespace {

using test::put_line;
using test::ServiceWorld;
using test::whole_put;

class DeferredCommands : public ::testing::Test {
 protected:
  void TearDown() override { service.engine().check_invariants(); }

  void make_disk_slow() { world.journal.refuse_from(1, JournalStatus::later); }
  void let_disk_catch_up() {
    world.journal.accept();
    world.journal.let_try_again();
    service.advance(world.now);
    service.run_backlog(world.now);
    world.settle();
  }

  ServiceWorld world;
  Service& service = world.service;
};

TEST_F(DeferredCommands, RunOnceWhenTheDiskCatchesUp) {
  Session& session = world.connect();
  const std::string large(5000, 'l');
  const std::pair<std::string, std::string> commands[] = {
      {whole_put("x"), "INSERTED 1\r\n"},
      {whole_put(large), "INSERTED 2\r\n"},
      {"reserve-job 1\r\nbury 1 0\r\n", "RESERVED 1 1\r\nx\r\nBURIED\r\n"},
      {"kick 5\r\n", "KICKED 1\r\n"},
      {"reserve-job 1\r\nrelease 1 0 100\r\n", "RESERVED 1 1\r\nx\r\nRELEASED\r\n"},
      {"reserve-job 1\r\n", "RESERVED 1 1\r\nx\r\n"},
      {"release 1 0 100\r\n", "RELEASED\r\n"},
      {"kick-job 1\r\n", "KICKED\r\n"},
      {"delete 1\r\n", "DELETED\r\n"},
  };
  for (const auto& [command, answer] : commands) {
    SCOPED_TRACE(command.substr(0, 40));
    make_disk_slow();
    const std::size_t records = world.journal.written.size();
    std::string received = world.ask(session, command);
    EXPECT_EQ(world.journal.written.size(), records);
    EXPECT_LT(received.size(), answer.size());
    EXPECT_GT(service.next_event(), world.now) << "it waits without being busy";
    let_disk_catch_up();
    received += world.receive(session);
    EXPECT_EQ(received, answer);
  }
  EXPECT_EQ(world.stat(session, "cmd-put"), 2U);
  EXPECT_EQ(world.stat(session, "cmd-delete"), 1U);
  EXPECT_EQ(world.stat(session, "cmd-kick"), 1U);
  EXPECT_EQ(world.stat(session, "cmd-release"), 2U);
}

TEST_F(DeferredCommands, CountNoWorkerBeforeTheyRun) {
  Session& session = world.connect();
  world.ask(session, "put 0 100 60 1\r\nx\r\n");
  make_disk_slow();
  world.ask(session, "reserve-job 1\r\n");
  EXPECT_EQ(service.engine().counts().workers, 0U);
  let_disk_catch_up();
  EXPECT_EQ(service.engine().counts().workers, 1U);
}

TEST_F(DeferredCommands, DoNotDelayOtherSessions) {
  Session& producer = world.connect();
  Session& other = world.connect();
  world.ask(producer, whole_put("x"));
  make_disk_slow();
  EXPECT_EQ(world.ask(producer, whole_put("y") + "peek 1\r\n"), "");
  EXPECT_EQ(world.ask(other, "reserve\r\ntouch 1\r\npeek 1\r\nuse t\r\n"),
            "RESERVED 1 1\r\nx\r\nTOUCHED\r\nFOUND 1 1\r\nx\r\nUSING t\r\n");
  EXPECT_EQ(world.stat(other, "current-jobs-reserved"), 1U);
  let_disk_catch_up();
  EXPECT_EQ(world.receive(producer), "INSERTED 2\r\nFOUND 1 1\r\nx\r\n");
}

TEST_F(DeferredCommands, AreNotRetriedOnInput) {
  Session& session = world.connect();
  make_disk_slow();
  world.ask(session, whole_put("x"));
  const std::uint64_t asked = world.journal.asked;
  for (int i = 0; i < 100; ++i) world.send(session, "stats\r\n");
  world.settle();
  EXPECT_EQ(world.journal.asked, asked);
}

// Deferred commands are retried in order, a bounded number in each turn.
TEST_F(DeferredCommands, ShareTurns) {
  constexpr std::uint64_t kProducers = 20'000;
  std::vector<Session*> producers;
  make_disk_slow();
  for (std::uint64_t i = 0; i < kProducers; ++i) {
    producers.push_back(&world.connect());
    world.send(*producers.back(), whole_put(std::string(5'000, 'x')));
  }
  for (int i = 0; i < 3; ++i) {
    std::uint64_t asked = world.journal.asked;
    const std::uint64_t end = asked + kProducers;
    world.journal.let_try_again();
    int turns = 0;
    for (; world.journal.asked < end && turns < 100; ++turns) {
      service.advance(world.now);
      service.run_backlog(world.now);
      EXPECT_GT(world.journal.asked, asked);
      EXPECT_LE(world.journal.asked - asked,
                turn_limits::kStepsOfSessions / turn_limits::kStepsPerCommand);
      asked = world.journal.asked;
    }
    EXPECT_GE(turns, 3);
    EXPECT_GT(service.next_event(), world.now) << "it waits without being busy";
  }
  let_disk_catch_up();
  for (Session* producer : producers)
    EXPECT_TRUE(world.receive(*producer).starts_with("INSERTED "));
}

TEST_F(DeferredCommands, LimitTheInputOfTheirSession) {
  Session& session = world.connect();
  make_disk_slow();
  world.ask(session, whole_put("x"));
  EXPECT_TRUE(session.wants_input());
  for (std::size_t i = 0; i < Session::kInputBytesMax; i += 100) {
    world.send(session, whole_put(std::string(100, 'b')));
  }
  EXPECT_FALSE(session.wants_input());
  let_disk_catch_up();
  EXPECT_TRUE(world.receive(session).starts_with("INSERTED 1\r\nINSERTED 2\r\n"));
  EXPECT_TRUE(session.wants_input());
}

TEST_F(DeferredCommands, AreDroppedWithTheirSession) {
  Session& gone = world.connect();
  Session& half_closed = world.connect();
  make_disk_slow();
  world.ask(gone, whole_put("x"));
  world.ask(half_closed, whole_put("y"));
  service.end_of_input(half_closed);
  EXPECT_FALSE(half_closed.is_finished());
  world.disconnect(gone);
  let_disk_catch_up();
  EXPECT_EQ(world.journal.written.size(), 1U);
  EXPECT_EQ(world.receive(half_closed), "INSERTED 2\r\n");
  EXPECT_TRUE(half_closed.is_finished());
}

TEST_F(DeferredCommands, MayBeDeferredAgain) {
  Session& session = world.connect();
  make_disk_slow();
  world.ask(session, whole_put("x"));
  for (int i = 0; i < 5; ++i) {
    world.journal.let_try_again();
    service.advance(world.now);
    service.run_backlog(world.now);
    world.settle();
    EXPECT_EQ(world.receive(session), "");
  }
  let_disk_catch_up();
  EXPECT_EQ(world.receive(session), "INSERTED 1\r\n");
}

TEST_F(DeferredCommands, AKickResumesWhereItStopped) {
  Session& session = world.connect();
  Session& other = world.connect();
  for (int i = 0; i < 10; ++i) world.ask(session, "put 0 100 60 1\r\nx\r\n");
  world.journal.refuse_from(4, JournalStatus::later);
  EXPECT_EQ(world.ask(session, "kick 8\r\nuse t\r\n"), "");
  EXPECT_EQ(world.stat(other, "current-jobs-ready"), 3U);
  EXPECT_GT(service.next_event(), world.now);
  let_disk_catch_up();
  EXPECT_EQ(world.receive(session), "KICKED 8\r\nUSING t\r\n");
  EXPECT_EQ(world.stat(other, "current-jobs-ready"), 8U);
  EXPECT_EQ(world.stat(other, "cmd-kick"), 1U);
}

TEST_F(DeferredCommands, HeldBackAnswersAreSentBeforeTheirs) {
  world.journal.hold_back();
  Session& session = world.connect();
  world.journal.refuse_from(2, JournalStatus::later);
  world.send(session, whole_put("x") + whole_put("y"));
  EXPECT_EQ(world.receive(session), "");
  world.journal.make_safe();
  service.end_turn(world.now);
  EXPECT_EQ(world.receive(session), "INSERTED 1\r\n");
  let_disk_catch_up();
  world.journal.make_safe();
  service.end_turn(world.now);
  EXPECT_EQ(world.receive(session), "INSERTED 2\r\n");
}

// The waiting client may have closed, and the journal requests turns until it is asked.
TEST_F(DeferredCommands, TheJournalIsAskedWithoutAWaitingSession) {
  world.journal.let_try_again();
  world.service.run_backlog(world.now);
  EXPECT_FALSE(world.journal.may_try_again()) << "the service has not asked";
}

}  // namespace
}  // namespace haricot
