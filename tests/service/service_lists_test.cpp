// Answers that are too long to be written at once, and commands with a high price.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "service_world.hpp"

namespace haricot {
namespace {

using namespace haricot::test;

class ServiceLists : public ::testing::Test {
 protected:
  // Makes the session watch `tubes` more tubes. Returns the list of all tubes that it watches.
  std::string watch(Session& session, std::uint32_t tubes, const std::string& prefix) {
    std::string text = "---\n- default\n";
    for (std::uint32_t i = 0; i < tubes; ++i) {
      const std::string name = prefix + std::to_string(i);
      world.ask(session, "watch " + name + "\r\n");
      text += "- " + name + "\n";
    }
    return "OK " + std::to_string(text.size()) + "\r\n" + text + "\r\n";
  }
  void turn() {
    world.service.advance(world.now);
    world.service.run_backlog(world.now);
  }

  // Prepares the producer, and returns the command with which it ends the wait of a worker for
  // tube-1.
  std::string prepare_to_end_a_wait(const std::string& command, Session& producer) {
    if (command == "put" || command == "large put") {
      world.ask(producer, "use tube-1\r\n");
      return whole_put(std::string(command == "put" ? 3 : 5000, 'x'));
    }
    // Puts a job while no client waits on the tube.
    world.ask(producer, "use tube-1\r\nwatch tube-1\r\n");
    const std::string inserted = world.ask(producer, whole_put("job"));
    const std::string id = inserted.substr(9, inserted.size() - 11);
    world.ask(producer, "reserve-job " + id + "\r\n");
    if (command == "release") return "release " + id + " 0 0\r\n";
    world.ask(producer, "bury " + id + " 0\r\n");
    return "kick-job " + id + "\r\n";
  }

  ServiceWorld world;
};

TEST_F(ServiceLists, WatchedTubesOfAnyNumberAreListed) {
  for (const std::uint32_t tubes : {10U, 63U, 64U, 65U, 200U, 1500U}) {
    Session& session = world.connect();
    const std::string expected = watch(session, tubes, "tube-");
    EXPECT_EQ(world.ask(session, "list-tubes-watched\r\n"), expected) << tubes;
    // Commands before and after the list are answered in order.
    EXPECT_EQ(world.ask(session, "use a\r\nlist-tubes-watched\r\nuse b\r\n"),
              "USING a\r\n" + expected + "USING b\r\n");
    world.disconnect(session);
    world.settle();
  }
}

TEST_F(ServiceLists, WatchedTubesTakeBoundedMemory) {
  Session& session = world.connect();
  watch(session, 3000, std::string(190, 'x'));
  world.send(session, "list-tubes-watched\r\nlist-tubes-watched\r\nuse behind\r\n");
  std::string received;
  while (!received.ends_with("USING behind\r\n")) {
    world.settle();
    ASSERT_LE(session.output().owned_bytes(), std::size_t{64} * 1024);
    const std::string more = world.receive(session, 10'000);
    ASSERT_FALSE(more.empty());
    received += more;
  }
  EXPECT_GT(received.size(), 2 * 3000 * std::size_t{190});
}

TEST_F(ServiceLists, AllTubesTakeBoundedMemory) {
  Session& session = world.connect();
  const std::string expected = watch(session, 10'000, std::string(190, 'x'));
  world.send(session, "list-tubes\r\nlist-tubes\r\nuse last\r\n");
  std::string received;
  while (!received.ends_with("USING last\r\n")) {
    world.settle();
    ASSERT_LE(session.output().pending_bytes(),
              Session::kOutputWithBodiesBytesMax + 200 * TubeList::kTubesPerPage);
    const std::string more = world.receive(session, 300'000);
    ASSERT_FALSE(more.empty());
    received += more;
  }
  EXPECT_EQ(received, expected + expected + "USING last\r\n");
}

TEST_F(ServiceLists, AllTubesAreSharedByConcurrentRequests) {
  Session& watcher = world.connect();
  const std::string expected = watch(watcher, 20'000, "tube-");
  std::vector<Session*> sessions;
  for (int i = 0; i < 20; ++i) {
    sessions.push_back(&world.connect());
    world.send(*sessions.back(), "list-tubes\r\nuse a-tube\r\n");
  }
  // The list is written in pieces over several turns, and other sessions are served meanwhile.
  EXPECT_EQ(world.receive(*sessions[0]), "");
  EXPECT_EQ(world.ask(watcher, "use default\r\n"), "USING default\r\n");
  world.disconnect(*sessions.back());
  sessions.pop_back();
  world.settle();
  std::size_t owned = 0;
  for (Session* session : sessions) {
    owned = std::max(owned, session->output().owned_bytes());
    EXPECT_EQ(world.ask(*session, ""), expected + "USING a-tube\r\n");
  }
  EXPECT_LT(owned, 1000U);
  EXPECT_EQ(world.stat(watcher, "cmd-list-tubes"), 20U);
}

TEST_F(ServiceLists, AllTubesAreChargedByPagePerAnswer) {
  constexpr std::uint64_t kPages = 20'000 / TubeList::kTubesPerPage;
  watch(world.connect(), 20'000, "tube-");
  std::vector<Session*> sessions;
  for (int i = 0; i < 20; ++i) {
    sessions.push_back(&world.connect());
    world.send(*sessions.back(), "list-tubes\r\n");
  }
  const auto answered = [&] {
    return static_cast<std::uint64_t>(
        std::count_if(sessions.begin(), sessions.end(),
                      [](const Session* session) { return session->has_output(); }));
  };
  for (int turns = 0; turns < 100 && answered() < sessions.size(); ++turns) {
    world.service.advance(world.now);
    const std::uint64_t before = world.service.engine().steps();
    const std::uint64_t answered_before = answered();
    world.service.run_backlog(world.now);
    EXPECT_GE(world.service.engine().steps() - before,
              (answered() - answered_before) *
                  (turn_limits::kStepsPerSend + kPages * turn_limits::kStepsPerPage));
  }
  EXPECT_EQ(answered(), sessions.size());
}

// A client that has read a part gets more pages and a send in a later turn.
TEST_F(ServiceLists, AllTubesAreChargedBySendUntilTheyEnd) {
  constexpr std::size_t kClients = 2'000;
  constexpr std::size_t kRead = 128 * 1024;  // More than a page.
  watch(world.connect(), 10'000, std::string(190, 'x'));
  std::vector<Session*> sessions;
  for (std::size_t i = 0; i < kClients; ++i) {
    sessions.push_back(&world.connect());
    world.send(*sessions.back(), "list-tubes\r\n");
  }
  world.settle();
  for (int turns = 0; turns < 4; ++turns) {
    for (Session* session : sessions) {
      const std::size_t before = session->output().pending_bytes();
      world.service.sent(*session, std::min(kRead, before));
    }
    (void)world.to_send();
    turn();
    const std::size_t sends = world.to_send().size();
    EXPECT_GT(sends, 0U);
    EXPECT_LE(sends, turn_limits::kStepsOfSessions / turn_limits::kStepsPerSend + 1);
  }
}

TEST_F(ServiceLists, AllTubesIncludeEarlierChangesOfTheClient) {
  Session& session = world.connect();
  watch(session, 10'000, "tube-");
  Session& other = world.connect();
  world.send(other, "list-tubes\r\n");
  const std::string received = world.ask(session, "use new\r\nlist-tubes\r\n");
  EXPECT_NE(received.find("\n- new\n"), std::string::npos);
  EXPECT_EQ(world.ask(other, "").find("\n- new\n"), std::string::npos);
}

// The answer of the put may have to change until its record is safe.
TEST_F(ServiceLists, WaitForAnEarlierAnswerThatIsHeldBack) {
  Session& session = world.connect();
  const std::string expected = watch(session, 100, "tube-");
  world.journal.hold_back();
  world.send(session, whole_put("job") + "list-tubes-watched\r\n");
  world.settle();
  EXPECT_EQ(world.receive(session), "");
  world.journal.make_safe();
  world.service.end_turn(world.now);
  EXPECT_EQ(world.ask(session, ""), "INSERTED 1\r\n" + expected);
}

// Many clients scan a thousand tubes each at once. Each turn serves some of them, and no client
// starves.
TEST_F(ServiceLists, CostlyReservesShareATurn) {
  constexpr std::uint32_t kTubes = 1000;
  std::vector<Session*> sessions;
  for (int i = 0; i < 150; ++i) {
    sessions.push_back(&world.connect());
    watch(*sessions.back(), kTubes, "tube-");
  }
  Session& small = world.connect();
  for (Session* session : sessions) world.send(*session, "reserve-with-timeout 0\r\n");
  const auto answered = [&] {
    return std::count_if(sessions.begin(), sessions.end(),
                         [](Session* session) { return session->has_output(); });
  };
  const auto most = turn_limits::kStepsOfSessions / kTubes;
  auto before = answered();
  EXPECT_LE(before, most + 1);
  int turns = 0;
  while (before < 150) {
    turn();
    const auto now = answered();
    ASSERT_GT(now, before);
    ASSERT_LE(now - before, most + 1);
    before = now;
    ++turns;
    world.send(small, "use t\r\n");
    ASSERT_EQ(world.receive(small), "USING t\r\n");
  }
  EXPECT_GE(turns, 2);
}

// Giving a job to a worker that waits on a thousand tubes removes the worker from a thousand lists.
// Each turn runs some of these commands, and no client starves.
TEST_F(ServiceLists, CommandsThatEndCostlyWaitsShareATurn) {
  constexpr std::uint32_t kTubes = 1000;
  constexpr std::size_t kWorkers = 220;
  const auto most = turn_limits::kStepsOfSessions / kTubes;
  for (const std::string command : {"put", "large put", "release", "kick-job"}) {
    SCOPED_TRACE(command);
    std::vector<Session*> producers;
    std::vector<std::string> commands;
    for (std::size_t i = 0; i < kWorkers; ++i) {
      producers.push_back(&world.connect());
      commands.push_back(prepare_to_end_a_wait(command, *producers.back()));
    }
    std::vector<Session*> workers;
    for (std::size_t i = 0; i < kWorkers; ++i) {
      workers.push_back(&world.connect());
      watch(*workers.back(), kTubes, "tube-");
      EXPECT_EQ(world.ask(*workers.back(), "reserve\r\n"), "");
    }
    turn();
    for (std::size_t i = 0; i < kWorkers; ++i) world.send(*producers[i], commands[i]);
    const auto answered = [](const std::vector<Session*>& sessions) {
      return std::count_if(sessions.begin(), sessions.end(),
                           [](Session* session) { return session->has_output(); });
    };
    auto before = answered(producers);
    EXPECT_LE(before, most + 1);
    int turns = 0;
    while (answered(workers) < static_cast<std::ptrdiff_t>(kWorkers)) {
      turn();
      const auto now = answered(producers);
      ASSERT_GT(now, before);
      ASSERT_LE(now - before, most + 1);
      before = now;
      ++turns;
    }
    EXPECT_GE(turns, 3);
    for (Session* worker : workers) {
      const std::string received = world.receive(*worker);
      ASSERT_TRUE(received.starts_with("RESERVED ")) << received;
      const std::string id = received.substr(9, received.find(' ', 9) - 9);
      EXPECT_EQ(world.ask(*worker, "delete " + id + "\r\n"), "DELETED\r\n");
      world.disconnect(*worker);
    }
    for (Session* producer : producers) {
      EXPECT_NE(world.receive(*producer), "");
      world.disconnect(*producer);
    }
    world.settle();
  }
}

TEST_F(ServiceLists, AKickIsChargedForMovedJobs) {
  Session& session = world.connect();
  for (int i = 0; i < 6000; ++i) world.ask(session, "put 0 1000 60 0\r\n\r\n");
  turn();
  world.send(session, repeated("kick 1000\r\n", 6));
  const std::string received = world.receive(session);
  EXPECT_EQ(received,
            "KICKED 1000\r\n" + std::string(received.size() > 13 ? "KICKED 1000\r\n" : ""));
  EXPECT_EQ(world.ask(session, "") + received, repeated("KICKED 1000\r\n", 6));
}

}  // namespace
}  // namespace haricot
