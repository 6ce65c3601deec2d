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

// Lines of every length around what is allowed, cut behind every byte: the command behind is
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
