// Several sessions: order, waits, shares of a turn and limits of output. service_ends_test.cpp has
// the ends of sessions.

#include "haricot/service/service.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "haricot/base/memory.hpp"
#include "service/service_fixture.hpp"
#include "support/allocations.hpp"
#include "support/random.hpp"

namespace haricot {
namespace {

using test::put_line;
using test::repeated;
using test::ServiceTest;
using test::ServiceWorld;
using test::whole_put;

// Sessions ----------------------------------------------------------------------------------------

TEST_F(ServiceTest, ASessionKnowsItsOwner) {
  int owner = 0;
  Session& session = world.connect(&owner);
  EXPECT_EQ(session.owner(), &owner);
  EXPECT_FALSE(session.has_output());
  EXPECT_TRUE(session.may_send());
  EXPECT_TRUE(session.wants_input());
  EXPECT_FALSE(session.is_finished());
  EXPECT_EQ(service.next_to_send(), nullptr);
}

TEST_F(ServiceTest, SessionsAreCounted) {
  Session& first = world.connect();
  world.disconnect(world.connect());
  world.connect();
  EXPECT_EQ(world.stat(first, "current-connections"), 2u);
  EXPECT_EQ(world.stat(first, "total-connections"), 3u);
}

TEST_F(ServiceTest, OpenFailsWithoutMemory) {
  Session* session = nullptr;
  int failures = 0;
  for (int succeeding = 0; session == nullptr; ++succeeding) {
    const test::AllocationFailure failure(succeeding);
    session = service.open(nullptr);
    if (session == nullptr) ++failures;
  }
  EXPECT_GE(failures, 2);
  EXPECT_EQ(world.stat(*session, "total-connections"), 1u);
}

TEST_F(ServiceTest, EndsWithSessionsInEveryState) {
  Session& holder = world.connect();
  world.ask(holder, repeated(whole_put("x"), 3) + repeated("reserve\r\n", 2));
  world.send(world.connect(), "watch t\r\nignore default\r\nreserve\r\n");
  world.send(world.connect(), put_line(5000) + "begun");
  world.send(world.connect(), "incompl");
  world.send(world.connect(), "quit\r\n");
}

TEST_F(ServiceTest, TracesEveryLineWithItsSession) {
  struct Traced {
    std::vector<std::pair<const Session*, std::string>> lines;
  } traced;
  service.set_trace({[](void* context, const Session& session, std::string_view line) {
                       static_cast<Traced*>(context)->lines.emplace_back(&session, line);
                     },
                     &traced});
  Session& a = world.connect();
  Session& b = world.connect();
  world.ask(a, "use t\r\n" + whole_put("body"));
  world.ask(b, "no such command\r\n");
  ASSERT_EQ(traced.lines.size(), 3u);
  EXPECT_EQ(traced.lines[0], (std::pair<const Session*, std::string>(&a, "use t")));
  EXPECT_EQ(traced.lines[1], (std::pair<const Session*, std::string>(&a, "put 0 0 60 4")));
  EXPECT_EQ(traced.lines[2], (std::pair<const Session*, std::string>(&b, "no such command")));
}

// Order -------------------------------------------------------------------------------------------

TEST_F(ServiceTest, PipelinedCommandsAreAnsweredInOrder) {
  Session& session = world.connect();
  EXPECT_EQ(
      world.ask(session, whole_put("a") + "reserve\r\ndelete 1\r\nreserve-with-timeout 0\r\n" +
                             "nonsense\r\n" + whole_put("b") + "peek-ready\r\n"),
      "INSERTED 1\r\nRESERVED 1 1\r\na\r\nDELETED\r\nTIMED_OUT\r\nUNKNOWN_COMMAND\r\n"
      "INSERTED 2\r\nFOUND 2 1\r\nb\r\n");
}

TEST_F(ServiceTest, CommandsAfterAWaitingReserveWait) {
  Session& worker = world.connect();
  Session& producer = world.connect();
  EXPECT_EQ(world.ask(worker, "reserve\r\nuse t\r\nlist-tube-used\r\n"), "");
  EXPECT_EQ(world.stat(producer, "cmd-use"), 0u);
  EXPECT_EQ(world.ask(producer, whole_put("x")), "INSERTED 1\r\n");
  EXPECT_EQ(world.ask(worker, ""), "RESERVED 1 1\r\nx\r\nUSING t\r\nUSING t\r\n");
}

TEST_F(ServiceTest, InputDuringAReserveRunsAfterIt) {
  Session& worker = world.connect();
  Session& producer = world.connect();
  world.send(worker, "reserve\r\nus");
  world.send(worker, "e t\r\nlist");
  world.send(worker, "-tube-used\r\nsta");
  EXPECT_EQ(world.ask(producer, whole_put("x")), "INSERTED 1\r\n");
  EXPECT_EQ(world.ask(worker, ""), "RESERVED 1 1\r\nx\r\nUSING t\r\nUSING t\r\n");
  EXPECT_EQ(world.ask(worker, "tsx\r\n"), "BAD_FORMAT\r\n");
}

TEST_F(ServiceTest, AJobIsDeliveredWithinTheCallOfItsPut) {
  Session& worker = world.connect();
  Session& producer = world.connect();
  world.ask(worker, "reserve\r\n");
  world.to_send();
  service.receive(producer, whole_put("x"), world.now);
  EXPECT_TRUE(worker.has_output());
  const std::vector<Session*> to_send = world.to_send();
  EXPECT_EQ(std::count(to_send.begin(), to_send.end(), &worker), 1);
  EXPECT_EQ(std::count(to_send.begin(), to_send.end(), &producer), 1);
}

TEST_F(ServiceTest, TimePassesForWaitingSessions) {
  Session& worker = world.connect();
  EXPECT_EQ(world.ask(worker, "reserve-with-timeout 5\r\nlist-tube-used\r\n"), "");
  EXPECT_GT(service.next_event(), world.now);
  world.pass_s(4);
  EXPECT_EQ(world.receive(worker), "");
  world.pass_s(1);
  EXPECT_EQ(world.ask(worker, ""), "TIMED_OUT\r\nUSING default\r\n");
  EXPECT_EQ(world.ask(worker, whole_put("x") + "reserve\r\nreserve\r\n"),
            "INSERTED 1\r\nRESERVED 1 1\r\nx\r\n");
  world.pass_s(59);
  EXPECT_EQ(world.ask(worker, ""), "DEADLINE_SOON\r\n");
}

// Shares ------------------------------------------------------------------------------------------

TEST_F(ServiceTest, ASessionRunsAtMostItsShareInOneCall) {
  Session& session = world.connect();
  service.receive(session, repeated("use t\r\n", 3 * test::kCommandsPerShare + 10), world.now);
  EXPECT_EQ(lines_in(world.receive(session)), test::kCommandsPerShare);
  EXPECT_LE(service.next_event(), world.now);
  service.run_backlog(world.now);
  EXPECT_EQ(lines_in(world.receive(session)), test::kCommandsPerShare);
  service.run_backlog(world.now);
  EXPECT_EQ(lines_in(world.receive(session)), test::kCommandsPerShare);
  EXPECT_LE(service.next_event(), world.now);
  service.run_backlog(world.now);
  EXPECT_EQ(lines_in(world.receive(session)), 10u);
  EXPECT_GT(service.next_event(), world.now);
}

TEST_F(ServiceTest, EachSessionHasAShareInEachTurn) {
  std::vector<Session*> sessions;
  for (int i = 0; i < 3; ++i) {
    sessions.push_back(&world.connect());
    service.receive(*sessions.back(), repeated("use t\r\n", 3 * test::kCommandsPerShare),
                    world.now);
    EXPECT_EQ(lines_in(world.receive(*sessions.back())), test::kCommandsPerShare);
  }
  service.run_backlog(world.now);
  for (Session* session : sessions) {
    EXPECT_EQ(lines_in(world.receive(*session)), test::kCommandsPerShare);
  }
}

TEST_F(ServiceTest, LargeAnswersTakeMoreOfAShare) {
  Session& session = world.connect();
  world.ask(session, whole_put(std::string(60'000, 'x')));
  service.receive(session, repeated("peek 1\r\n", 100), world.now);
  // Far below the limit of the output.
  EXPECT_LT(session.output().pending_bytes(), Session::kOutputWithBodiesBytesMax * 2 / 3);
  EXPECT_GT(session.output().pending_bytes(), 60'000u);
  EXPECT_LE(service.next_event(), world.now);
  EXPECT_EQ(lines_in(world.ask(session, "")), 200u);
}

TEST_F(ServiceTest, NewInputIsKeptAfterTheRestOfTheLastTurn) {
  Session& session = world.connect();
  service.receive(session, repeated("use t\r\n", test::kCommandsPerShare + 5), world.now);
  service.receive(session, "use u\r\nus", world.now);
  service.receive(session, "e v\r\n", world.now);
  const std::string answers = world.ask(session, "");
  EXPECT_EQ(lines_in(answers), test::kCommandsPerShare + 7);
  EXPECT_TRUE(answers.ends_with("USING t\r\nUSING u\r\nUSING v\r\n"));
}

// Limits ------------------------------------------------------------------------------------------

TEST_F(ServiceTest, UnreadAnswersStopASession) {
  Session& session = world.connect();
  std::string expected;
  for (int i = 0; i < 200; ++i) {
    world.send(session, repeated("list-tubes\r\n", 100));
    world.settle();
    expected += repeated("OK 14\r\n---\n- default\n\r\n", 100);
    if (!session.wants_input()) break;
  }
  EXPECT_FALSE(session.wants_input());
  EXPECT_LT(session.output().owned_bytes(), Session::kOutputBytesMax + 100);
  EXPECT_GE(session.output().owned_bytes(), Session::kOutputBytesMax);
  EXPECT_GT(service.next_event(), world.now);  // The session waits for its client, not for a turn.
  // Input is kept nevertheless.
  service.receive(session, "use t\r\n", world.now);
  EXPECT_EQ(world.ask(session, ""), expected + "USING t\r\n");
  EXPECT_TRUE(session.wants_input());
}

TEST_F(ServiceTest, UnreadBodiesByReferenceStopASession) {
  Session& session = world.connect();
  constexpr std::size_t kBytes = 400'000;
  world.ask(session, whole_put(std::string(kBytes, 'x')));
  world.send(session, repeated("peek 1\r\n", 10));
  world.settle();
  EXPECT_FALSE(session.wants_input());
  EXPECT_GE(session.output().pending_bytes(), Session::kOutputWithBodiesBytesMax);
  EXPECT_LT(session.output().pending_bytes(), Session::kOutputWithBodiesBytesMax + kBytes + 100);
  EXPECT_LT(session.output().owned_bytes(), 1000u);
  const std::string answers = world.ask(session, "");
  EXPECT_EQ(answers.size(), 10 * (kBytes + std::string("FOUND 1 400000\r\n\r\n").size()));
}

TEST_F(ServiceTest, OtherSessionsContinueWhileOneIsStopped) {
  Session& slow = world.connect();
  Session& other = world.connect();
  world.ask(other, whole_put(std::string(2'000'000, 'x')));
  world.send(slow, repeated("peek 1\r\n", 10));
  world.settle();
  EXPECT_EQ(world.ask(other, "delete 1\r\nuse t\r\n"), "DELETED\r\nUSING t\r\n");
  const std::string line = "FOUND 1 2000000\r\n";
  const std::string answers = world.ask(slow, "");
  EXPECT_EQ(answers.substr(0, line.size()), line);
  EXPECT_TRUE(answers.ends_with(repeated("NOT_FOUND\r\n", 9)));
}

TEST_F(ServiceTest, ASessionWantsBoundedInput) {
  Session& session = world.connect();
  world.send(session, "reserve\r\n");
  EXPECT_TRUE(session.wants_input());
  world.send(session, repeated("use t\r\n", Session::kInputBytesMax / 7));
  EXPECT_TRUE(session.wants_input());
  world.send(session, "use t\r\n");
  EXPECT_FALSE(session.wants_input());
  Session& producer = world.connect();
  world.ask(producer, whole_put("x"));
  world.ask(session, "");
  EXPECT_TRUE(session.wants_input());
}

// Returns input of all kinds: valid commands, malformed ones, and parts of puts.
std::vector<std::string> all_sayings() {
  return {"reserve\r\n",
          "reserve-with-timeout 1\r\n",
          "delete 5\r\n",
          "delete 6\r\n",
          "release 5 0 1\r\n",
          "bury 6 0\r\n",
          "kick 3\r\n",
          "stats\r\n",
          "list-tubes\r\n",
          "use t\r\n",
          "watch t\r\n",
          "ignore default\r\n",
          "pause-tube t 1\r\n",
          "peek-ready\r\n",
          "quit\r\n",
          "nonsense\r\n",
          "touch 6\r\n",
          "kick-job 6\r\n",
          "reserve-job 7\r\n",
          "put 0 1 2 3\r\nabc\r\n",
          "put 0 0 1 9\r\n",
          "put 0 0 5 2000\r\n",
          "put 0 0 5 70000\r\n",
          whole_put("body"),
          whole_put(std::string(3000, 'x')),
          std::string(300, 'z'),
          "\r\n",
          "\r",
          "\n",
          repeated("use t\r\n", 1500),
          std::string(5000, 'y')};
}

// Random input ------------------------------------------------------------------------------------

// Sessions send random bytes in random pieces, and end at random moments. The invariants hold, all
// answers are complete lines, and no session or job is left at the end.
TEST(Service, SurvivesRandomInput) {
  test::Random random;
  ServiceWorld world;
  if (random.one_in(2)) world.journal.hold_back();
  std::vector<Session*> sessions;
  const std::vector<std::string> sayings = all_sayings();
  for (int step = 0; step < 6000; ++step) {
    if (sessions.empty() || (sessions.size() < 10 && random.one_in(10))) {
      sessions.push_back(&world.connect());
    }
    const std::size_t chosen = random.below(sessions.size());
    Session& session = *sessions[chosen];
    switch (random.below(12)) {
      case 0:
        world.disconnect(session);
        sessions.erase(sessions.begin() + static_cast<std::ptrdiff_t>(chosen));
        break;
      case 1:
        world.service.end_of_input(session);
        break;
      case 2:
        world.service.peer_half_closed(session);
        break;
      case 3:
        world.journal.make_safe();
        world.service.end_turn(world.now);
        break;
      case 4:
        world.pass(Duration::milliseconds(static_cast<std::int64_t>(random.below(1500))));
        break;
      case 5:
      case 6:
        world.receive(session, 1 + random.below(5000));
        break;
      case 7:
        world.service.run_backlog(world.now);
        while (Session* finished = world.service.next_to_send()) {
          world.receive(*finished);
          if (!finished->is_finished() || finished->has_output()) continue;
          std::erase(sessions, finished);
          world.disconnect(*finished);
        }
        break;
      default: {
        const std::string& saying = sayings[random.below(sayings.size())];
        const std::size_t part = random.one_in(4) ? random.below(saying.size() + 1) : saying.size();
        world.send(session, std::string_view(saying).substr(0, part));
        break;
      }
    }
    if (step % 20 == 0) world.service.engine().check_invariants();
  }
  for (Session* session : sessions) world.disconnect(*session);
  world.settle();
  EXPECT_EQ(world.service.engine().counts().clients, 0u);
  EXPECT_EQ(world.service.engine().counts().reserved, 0u);
  EXPECT_EQ(world.service.engine().counts().waiting, 0u);
  world.service.engine().check_invariants();
}

TEST(Service, FreesTheMemoryOfALargeBodyOverManyTurns) {
  constexpr std::size_t kBytes = 64 << 20;
  ServiceWorld world(kBytes);
  Session& session = world.connect();
  world.send(session, "put 0 0 60 " + std::to_string(kBytes) + "\r\n");
  world.send(session, std::string(kBytes, 'x') + "\r\n");
  world.settle();
  ASSERT_EQ(world.receive(session), "INSERTED 1\r\n");
  world.send(session, "delete 1\r\n");
  ASSERT_EQ(world.receive(session), "DELETED\r\n");
  world.settle();
  EXPECT_EQ(Memory::bytes_to_go(), 0U) << "the next body may need it";
  for (int second = 0; second < 3 && Memory::bytes_to_go() == 0; ++second) {
    ASSERT_GT(world.service.next_event(), world.now);
    world.now = world.service.next_event();
    world.service.advance(world.now);
  }
  int turns = 0;
  for (; Memory::bytes_to_go() > 0; ++turns) {
    // Only the memory is left, and freeing it does not wait for input.
    ASSERT_EQ(world.service.next_event(), Instant{});
    world.service.advance(world.now);
  }
  EXPECT_GE(turns, 10);
  EXPECT_GT(world.service.next_event(), world.now);
}

}  // namespace
}  // namespace haricot
