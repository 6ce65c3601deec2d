// How the time of a turn and the bytes of a stream are divided: nobody gets another one's share,
// and no cut in a stream changes what it says.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "service_world.hpp"

namespace haricot {
namespace {

using test::repeated;

std::size_t lines_in(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

class ServiceFairness : public ::testing::Test {
 protected:
  // A turn, and how many commands each session had answered in it.
  std::vector<std::size_t> turn(const std::vector<Session*>& sessions) {
    world.service.advance(world.now);
    world.service.run_backlog(world.now);
    std::vector<std::size_t> counts;
    for (Session* session : sessions) counts.push_back(lines_in(world.hear(*session)));
    return counts;
  }

  test::ServiceWorld world;
};

TEST_F(ServiceFairness, WhereManyWantAllOfTheirShareEachGetsLess) {
  std::vector<Session*> sessions;
  for (int i = 0; i < 100; ++i) {
    sessions.push_back(&world.connect());
    world.service.receive(*sessions.back(), repeated("use t\r\n", 3000), world.now);
    world.hear(*sessions.back());
  }
  for (int i = 0; i < 3; ++i) {
    std::size_t all = 0;
    for (const std::size_t count : turn(sessions)) {
      EXPECT_GE(count, Session::kWorkPerTurnMin);
      EXPECT_LE(count, Session::kWorkOfAllPerTurn / 100);
      all += count;
    }
    EXPECT_LE(all, Session::kWorkOfAllPerTurn);
  }
  // When the others have gone, one has all of its own again.
  Session* last = sessions.back();
  sessions.pop_back();
  for (Session* session : sessions) world.disconnect(*session);
  turn({last});
  EXPECT_EQ(turn({last}), std::vector<std::size_t>{Session::kWorkPerTurn});
}

TEST_F(ServiceFairness, AReportTakesMoreOfAShareThanABodyOfItsLength) {
  Session& session = world.connect();
  world.service.receive(session, repeated("stats\r\n", 2000), world.now);
  const std::string heard = world.hear(session);
  std::size_t reports = 0;
  for (std::size_t at = heard.find("OK "); at != std::string::npos;
       at = heard.find("OK ", at + 1)) {
    ++reports;
  }
  EXPECT_GT(reports, 10U);
  EXPECT_LT(reports, Session::kWorkPerTurn / 6);
}

// A client that watches many tubes has to look through them for each job of a batch.
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
      if (world.hear(*session).starts_with("RESERVED_BATCH")) ++in_turn;
    }
    EXPECT_LE(in_turn, 3U);
    answered += in_turn;
    ++turns;
    world.service.advance(world.now);
    world.service.run_backlog(world.now);
  }
  EXPECT_EQ(answered, sessions.size());
}

TEST_F(ServiceFairness, AFlushOfVeryManyJobsLeavesEachTurnToTheOthers) {
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
  std::string heard;
  for (int turns = 0; heard.empty(); ++turns) {
    ASSERT_LT(turns, 1000);
    world.service.advance(world.now);
    world.service.run_backlog(world.now);
    world.service.receive(other, "use t\r\n", world.now);
    ASSERT_EQ(world.hear(other), "USING t\r\n");
    ASSERT_LE(before - counts.ready, 3 * Engine::kJobsPerCall);
    before = counts.ready;
    heard = world.hear(client);
  }
  EXPECT_EQ(heard, "FLUSHED " + std::to_string(kJobs) + "\r\n");
}

TEST_F(ServiceFairness, AScanTakesOfAShareWhatItHasLookedAt) {
  Session& session = world.connect();
  ASSERT_EQ(lines_in(world.ask(session, repeated(test::whole_put(""), 1000))), 1000U);
  ASSERT_EQ(world.ask(session, "watch t\r\n"), "WATCHING 2\r\n");
  world.service.advance(world.now);
  // Nothing is in that tube, so that the answers are short and the work is all there is.
  world.service.receive(session, repeated("scan-jobs 1 1 t\r\n", 100), world.now);
  const std::size_t answers = lines_in(world.hear(session)) / 5;
  EXPECT_GE(answers, 1U);
  EXPECT_LE(answers, 8U);
}

// Lines of every length around what is allowed, cut after every byte: the command after is
// answered.
TEST_F(ServiceFairness, NoLineHoweverLongAndHoweverCutSwallowsTheNext) {
  Session& session = world.connect();
  for (std::size_t length = 200; length <= 460; ++length) {
    const std::string line = "use " + std::string(length - 6, 'x') + "\r\n";
    const bool too_long = length > 224 || length - 6 > 200;
    const std::string answer =
        (too_long ? "BAD_FORMAT" : line.substr(0, length - 2).replace(0, 4, "USING ")) +
        std::string("\r\nWATCHING 1\r\n");
    for (std::size_t cut = 1; cut <= length; ++cut) {
      world.say(session, std::string_view(line).substr(0, cut));
      world.settle();
      world.say(session, line.substr(cut) + "watch default\r\n");
      ASSERT_EQ(world.ask(session, ""), answer) << length << " bytes, cut behind byte " << cut;
    }
  }
}

}  // namespace
}  // namespace haricot
