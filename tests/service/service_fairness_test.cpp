// Shares of a turn: no session gets the share of another. Streams in pieces: cuts do not change
// their meaning.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "service_world.hpp"

namespace haricot {
namespace {

using namespace turn_limits;
using test::repeated;

std::size_t lines_in(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

class ServiceFairness : public ::testing::Test {
 protected:
  // Sends the lines from all sessions at once. Checks that each turn answers some of them but at
  // most `most`, and always answers a small request.
  void expect_shared(const std::vector<Session*>& sessions, const std::vector<std::string>& lines,
                     std::size_t most) {
    SCOPED_TRACE(lines[0].substr(0, 20));
    Session& small = world.connect();
    world.service.advance(world.now);
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      world.service.receive(*sessions[i], lines[i % lines.size()], world.now);
    }
    std::size_t answered = 0;
    for (;;) {
      std::size_t in_turn = 0;
      for (Session* session : sessions) in_turn += world.receive(*session).empty() ? 0U : 1U;
      EXPECT_GE(in_turn, 1U);
      EXPECT_LE(in_turn, most);
      if (in_turn == 0) break;
      answered += in_turn;
      world.service.receive(small, "use t\r\n", world.now);
      EXPECT_EQ(world.receive(small), "USING t\r\n");
      if (answered >= sessions.size()) break;
      world.service.advance(world.now);
      world.service.run_backlog(world.now);
    }
    EXPECT_EQ(answered, sessions.size());
    world.disconnect(small);
  }

  // Returns the number of commands for a thousand jobs that fit in a turn, for this price of a job.
  static std::size_t of_a_thousand(std::size_t steps) {
    return kStepsOfSessions / (1000 * steps) + 1;
  }

  // Plays a turn. Returns the number of answers to each session.
  std::vector<std::size_t> turn(const std::vector<Session*>& sessions) {
    world.service.advance(world.now);
    world.service.run_backlog(world.now);
    std::vector<std::size_t> counts;
    for (Session* session : sessions) counts.push_back(lines_in(world.receive(*session)));
    return counts;
  }

  test::ServiceWorld world;
};

TEST_F(ServiceFairness, SharesShrinkWithTheNumberOfBusySessions) {
  std::vector<Session*> sessions;
  for (int i = 0; i < 100; ++i) {
    sessions.push_back(&world.connect());
    world.service.receive(*sessions.back(), repeated("use t\r\n", 3000), world.now);
    world.receive(*sessions.back());
  }
  for (int i = 0; i < 3; ++i) {
    std::size_t all = 0;
    for (const std::size_t count : turn(sessions)) {
      EXPECT_GE(count, kStepsPerShareMin / kStepsPerCommand);
      // The last command may end beyond the share.
      EXPECT_LE(count, kStepsOfSessions / kStepsPerCommand / 100 + 1);
      all += count;
    }
    EXPECT_LE(all, kStepsOfSessions / kStepsPerCommand);
  }
  // A session without competitors has a full share again.
  Session* last = sessions.back();
  sessions.pop_back();
  for (Session* session : sessions) world.disconnect(*session);
  turn({last});
  EXPECT_EQ(turn({last}), std::vector<std::size_t>{test::kCommandsPerShare});
}

TEST_F(ServiceFairness, AReportCostsMoreThanABodyOfItsLength) {
  Session& session = world.connect();
  world.service.receive(session, repeated("stats\r\n", 2000), world.now);
  const std::string received = world.receive(session);
  std::size_t reports = 0;
  for (std::size_t at = received.find("OK "); at != std::string::npos;
       at = received.find("OK ", at + 1)) {
    ++reports;
  }
  EXPECT_GT(reports, 10U);
  EXPECT_LT(reports, test::kCommandsPerShare / 6);
}

// A client that watches many tubes has to scan them for each job of a batch.
TEST_F(ServiceFairness, LongReservesInBatchesShareATurn) {
  std::vector<Session*> sessions;
  std::string watches;
  for (int i = 0; i < 1000; ++i) watches += "watch t" + std::to_string(i) + "\r\n";
  for (int i = 0; i < 20; ++i) {
    sessions.push_back(&world.connect());
    EXPECT_EQ(lines_in(world.ask(*sessions.back(), watches)), 1000U);
  }
  Session& producer = world.connect();
  EXPECT_EQ(lines_in(world.ask(producer, repeated(test::whole_put(""), 1000))), 1000U);
  world.service.advance(world.now);
  for (Session* session : sessions) {
    world.service.receive(*session, "reserve-batch 1000\r\n", world.now);
  }
  std::size_t answered = 0;
  int turns = 0;
  while (answered < sessions.size() && turns < 100) {
    std::size_t in_turn = 0;
    for (Session* session : sessions) {
      if (world.receive(*session).starts_with("RESERVED_BATCH")) ++in_turn;
    }
    EXPECT_LE(in_turn, 3U);
    answered += in_turn;
    ++turns;
    world.service.advance(world.now);
    world.service.run_backlog(world.now);
  }
  EXPECT_EQ(answered, sessions.size());
}

// A page of a thousand jobs takes as long as hundreds of small commands, and each session runs at
// least one command in a turn.
TEST_F(ServiceFairness, PagesAndBatchesShareATurn) {
  constexpr std::size_t kSessions = 40;
  Session& producer = world.connect();
  std::vector<std::string> deletions;
  for (std::size_t i = 0; i < kSessions; ++i) {
    ASSERT_EQ(lines_in(world.ask(producer, repeated(test::whole_put(""), 1000))), 1000U);
    deletions.push_back("delete-batch");
    for (std::size_t id = i * 1000 + 1; id <= (i + 1) * 1000; ++id) {
      deletions.back() += " " + std::to_string(id);
    }
    deletions.back() += "\r\n";
  }
  std::string watches;
  for (int i = 0; i < 600; ++i) watches += "watch t" + std::to_string(i) + "\r\n";
  ASSERT_EQ(lines_in(world.ask(producer, watches)), 600U);
  std::vector<Session*> sessions;
  for (std::size_t i = 0; i < kSessions; ++i) sessions.push_back(&world.connect());
  for (const std::string line :
       {"scan-jobs 0 1000", "list-jobs default ready 1000", "stats-tubes * 1000"}) {
    expect_shared(sessions, {line + "\r\n"}, of_a_thousand(kStepsPerShownJob));
  }
  // Moving a job takes less than showing it, so more of them fit in a turn.
  expect_shared(sessions, deletions, of_a_thousand(kStepsPerJob));
  ASSERT_EQ(world.service.engine().counts().ready, 0U);
  for (std::size_t i = 0; i < kSessions; ++i) {
    ASSERT_EQ(lines_in(world.ask(producer, repeated(test::whole_put(""), 1000))), 1000U);
  }
  expect_shared(sessions, {"reserve-batch 1000\r\n"}, of_a_thousand(kStepsPerJob));
}

// Each change is a long task, and tasks alternate. Later commands of a session wait for its task.
TEST_F(ServiceFairness, ChangesOfModeOverManyTubesShareATurn) {
  std::string watches;
  for (int i = 0; i < 1500; ++i) watches += "watch t" + std::to_string(i) + "\r\n";
  std::vector<Session*> sessions;
  for (int i = 0; i < 30; ++i) {
    sessions.push_back(&world.connect());
    ASSERT_EQ(lines_in(world.ask(*sessions.back(), watches)), 1500U);
  }
  Session& small = world.connect();
  for (const std::string mode : {"weighted", "fifo", "weighted"}) {
    world.service.advance(world.now);
    for (Session* session : sessions) {
      world.service.receive(*session, "reserve-mode " + mode + "\r\nlist-tube-used\r\n", world.now);
    }
    std::vector<std::string> received(sessions.size());
    const std::string wanted = "USING " + mode + "\r\nUSING default\r\n";
    int turns = 0;
    for (; std::count(received.begin(), received.end(), wanted) < 30 && turns < 100; ++turns) {
      for (std::size_t i = 0; i < sessions.size(); ++i) received[i] += world.receive(*sessions[i]);
      world.service.receive(small, "use t\r\n", world.now);
      EXPECT_EQ(world.receive(small), "USING t\r\n");
      world.service.advance(world.now);
      world.service.run_backlog(world.now);
    }
    for (const std::string& one : received) EXPECT_EQ(one, wanted);
    EXPECT_GT(turns, 10) << "each takes most of what a turn may do";
  }
}

// A session that is put off adds almost nothing to the cost of the turns in which it waits, even
// with a long line. Its later commands run after the one that was put off.
TEST_F(ServiceFairness, APutOffSessionKeepsItsPlaceAndItsOrder) {
  Session& producer = world.connect();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(lines_in(world.ask(producer, repeated(test::whole_put(""), 1000))), 1000U);
  }
  std::vector<Session*> sessions;
  for (int i = 0; i < 30; ++i) {
    sessions.push_back(&world.connect());
    // The tube identifies the receiver of the answer.
    world.ask(*sessions.back(), "use t" + std::to_string(i) + "\r\n");
  }
  world.service.advance(world.now);
  for (Session* session : sessions) {
    world.service.receive(*session, "scan-jobs 0 1000\r\nlist-tube-used\r\n", world.now);
  }
  for (Session* session : sessions) world.service.receive(*session, "use behind\r\n", world.now);
  std::vector<std::size_t> order;
  std::vector<std::string> received(sessions.size());
  for (int turns = 0; order.size() < sessions.size(); ++turns) {
    ASSERT_LT(turns, 100);
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      if (received[i].empty() && sessions[i]->has_output()) order.push_back(i);
      received[i] += world.receive(*sessions[i]);
    }
    world.service.advance(world.now);
    world.service.run_backlog(world.now);
  }
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    received[i] += world.ask(*sessions[i], "");
    EXPECT_TRUE(received[i].ends_with("USING t" + std::to_string(i) + "\r\nUSING behind\r\n"));
  }
}

TEST_F(ServiceFairness, AShortPageDoesNotWaitForLongOnes) {
  Session& producer = world.connect();
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(lines_in(world.ask(producer, repeated(test::whole_put(""), 1000))), 1000U);
  }
  std::vector<Session*> sessions;
  for (int i = 0; i < 20; ++i) sessions.push_back(&world.connect());
  Session& small = world.connect();
  world.service.advance(world.now);
  for (Session* session : sessions) {
    world.service.receive(*session, "scan-jobs 0 1000\r\n", world.now);
  }
  ASSERT_FALSE(sessions.back()->has_output());
  for (const std::string_view line : {"scan-jobs 5 20\r\n", "list-jobs default ready 20\r\n",
                                      "reserve-batch 5\r\n", "delete-batch 1 2 3\r\n"}) {
    world.service.receive(small, line, world.now);
    EXPECT_NE(world.receive(small), "") << line;
  }
  world.settle();
}

TEST_F(ServiceFairness, ShortPagesShareTheirBudget) {
  Session& producer = world.connect();
  ASSERT_EQ(lines_in(world.ask(producer, repeated(test::whole_put(""), 1000))), 1000U);
  std::vector<Session*> sessions;
  for (int i = 0; i < 200; ++i) sessions.push_back(&world.connect());
  world.service.advance(world.now);
  std::size_t answered = 0;
  for (Session* session : sessions) {
    world.service.receive(*session, "list-jobs default ready 20\r\n", world.now);
    if (!world.receive(*session).empty()) ++answered;
  }
  constexpr std::size_t kPrice = 20 * kStepsPerShownJob;
  static_assert(kPrice > kStepsOfCheap && kPrice <= kStepsOfFirst);
  EXPECT_GE(answered, kStepsOfFirsts / kPrice);
  // A page takes slightly less than its price.
  EXPECT_LE(answered, sessions.size() / 2);
  world.settle();
}

// No session was busy in the last turn.
TEST_F(ServiceFairness, NewSessionsShareTheirFirstTurn) {
  std::vector<Session*> sessions;
  for (int i = 0; i < 128; ++i) sessions.push_back(&world.connect());
  world.service.advance(world.now);
  std::size_t all = 0;
  for (Session* session : sessions) {
    world.service.receive(*session, repeated("use t\r\n", 3000), world.now);
    const std::size_t commands = lines_in(world.receive(*session));
    // The last sessions run only cheap commands; their other commands wait in the backlog.
    EXPECT_GE(commands, kStepsOfCheap / kStepsPerCommand);
    all += commands;
  }
  EXPECT_LE(all, (kStepsOfReading + sessions.size() * kStepsOfCheap) / kStepsPerCommand);
}

TEST_F(ServiceFairness, ALongFlushLeavesEachTurnToOthers) {
  constexpr std::uint64_t kJobs = 200'000;
  Session& client = world.connect();
  Session& other = world.connect();
  const std::string puts = repeated(test::whole_put(""), 1000);
  for (std::uint64_t i = 0; i < kJobs; i += 1000)
    ASSERT_EQ(lines_in(world.ask(client, puts)), 1000U);
  const EngineCounts& counts = world.service.engine().counts();
  ASSERT_EQ(counts.ready, kJobs);
  world.service.receive(client, "flush-tube default\r\n", world.now);
  std::uint64_t before = kJobs;
  std::string received;
  for (int turns = 0; received.empty(); ++turns) {
    ASSERT_LT(turns, 1000);
    world.service.advance(world.now);
    world.service.run_backlog(world.now);
    world.service.receive(other, "use t\r\n", world.now);
    ASSERT_EQ(world.receive(other), "USING t\r\n");
    ASSERT_LE(before - counts.ready, 3 * Engine::kJobsPerCall);
    before = counts.ready;
    received = world.receive(client);
  }
  EXPECT_EQ(received, "FLUSHED " + std::to_string(kJobs) + "\r\n");
}

TEST_F(ServiceFairness, AScanIsChargedForScannedJobs) {
  Session& session = world.connect();
  ASSERT_EQ(lines_in(world.ask(session, repeated(test::whole_put(""), 1000))), 1000U);
  ASSERT_EQ(world.ask(session, "watch t\r\n"), "WATCHING 2\r\n");
  world.service.advance(world.now);
  // The tube is empty, so the answers are short and only the scan counts.
  world.service.receive(session, repeated("scan-jobs 1 1 t\r\n", 100), world.now);
  const std::size_t answers = lines_in(world.receive(session)) / 5;
  EXPECT_GE(answers, 1U);
  EXPECT_LE(answers, 8U);
}

TEST_F(ServiceFairness, PutsThatWakeWorkersAreChargedForTheirAnswers) {
  constexpr std::size_t kWorkers = 800;
  std::vector<Session*> workers;
  for (std::size_t i = 0; i < kWorkers; ++i) {
    workers.push_back(&world.connect());
    world.send(*workers.back(), "reserve\r\n");
  }
  Session& producer = world.connect();
  world.service.advance(world.now);
  world.service.receive(producer, repeated(test::whole_put(""), kWorkers), world.now);
  std::size_t woken = 0;
  for (int turns = 0; woken < kWorkers; ++turns) {
    ASSERT_LT(turns, 100);
    std::size_t in_turn = 0;
    for (Session* worker : workers) in_turn += world.receive(*worker).empty() ? 0U : 1U;
    EXPECT_GE(in_turn, 1U);
    EXPECT_LE(in_turn, kStepsPerShare / kStepsPerDelivery);
    woken += in_turn;
    world.service.advance(world.now);
    world.service.run_backlog(world.now);
  }
}

// Lines of every length around the limit, cut after every byte: the next command is answered.
TEST_F(ServiceFairness, ALineInPiecesDoesNotSwallowTheNext) {
  Session& session = world.connect();
  for (std::size_t length = 200; length <= 460; ++length) {
    const std::string line = "use " + std::string(length - 6, 'x') + "\r\n";
    const bool too_long = length > 224 || length - 6 > 200;
    const std::string answer =
        (too_long ? "BAD_FORMAT" : line.substr(0, length - 2).replace(0, 4, "USING ")) +
        std::string("\r\nWATCHING 1\r\n");
    for (std::size_t cut = 1; cut <= length; ++cut) {
      world.send(session, std::string_view(line).substr(0, cut));
      world.settle();
      world.send(session, line.substr(cut) + "watch default\r\n");
      ASSERT_EQ(world.ask(session, ""), answer) << length << " bytes, cut behind byte " << cut;
    }
  }
}

}  // namespace
}  // namespace haricot
