// list-clients: the reported state of sessions, and the bounded cost of a page.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "service/service_fixture.hpp"

namespace haricot {
namespace {

using test::put_line;
using test::report_number;
using test::whole_put;

class ServiceClients : public test::ServiceTest {
 protected:
  // Returns the row of a session in list-clients.
  std::string row_of(const Session& session) {
    const std::string id = std::to_string(static_cast<std::uint32_t>(session.client().ref()));
    return world.ask(asker, "list-clients " + id + " 1\r\n");
  }
  std::uint64_t number_of(const Session& session, const std::string& key) {
    return report_number(row_of(session), "  " + key);
  }
  std::string state_of(const Session& session) {
    const std::string row = row_of(session);
    const std::size_t begin = row.find("state: ") + 7;
    return row.substr(begin, row.find('\n', begin) - begin);
  }

  Session& asker = world.connect();
};

TEST_F(ServiceClients, AreIdleUntilInputArrives) {
  Session& session = world.connect();
  world.pass_s(5);
  EXPECT_EQ(state_of(session), "idle");
  EXPECT_EQ(number_of(session, "idle"), 5U);
  world.send(session, "list-tu");  // No complete line yet.
  EXPECT_EQ(number_of(session, "idle"), 0U);
  EXPECT_EQ(number_of(session, "commands"), 0U);
  world.pass_s(3);
  world.send(session, "be-used\r\n");
  world.pass_s(4);
  // Reading the answer late makes no difference.
  EXPECT_EQ(world.receive(session), "USING default\r\n");
  EXPECT_EQ(number_of(session, "idle"), 4U);
  EXPECT_EQ(number_of(session, "commands"), 1U);
  EXPECT_EQ(number_of(session, "age"), 12U);
}

TEST_F(ServiceClients, WaitSinceTheBeginOfTheReserve) {
  Session& session = world.connect();
  world.send(session, "reserve-with-timeout 100\r\nreserve\r\n");
  world.pass_s(7);
  world.send(session, "list-tube-used\r\n");  // Waits for the reserve.
  EXPECT_EQ(state_of(session), "waiting");
  EXPECT_EQ(number_of(session, "idle"), 7U);
  EXPECT_EQ(number_of(session, "commands"), 1U);
  // The second wait begins when the first one ends.
  world.pass_s(93);
  EXPECT_EQ(world.receive(session), "TIMED_OUT\r\n");
  world.pass_s(2);
  EXPECT_EQ(state_of(session), "waiting");
  EXPECT_EQ(number_of(session, "idle"), 2U);
  EXPECT_EQ(number_of(session, "commands"), 2U);
  // A job ends the wait.
  world.pass_s(5);
  ASSERT_EQ(world.ask(asker, whole_put("j")), "INSERTED 1\r\n");
  world.pass_s(1);
  EXPECT_EQ(number_of(session, "idle"), 1U);
}

TEST_F(ServiceClients, AreInABodyAlsoIfItIsRefused) {
  const std::string large(100'000, 'l');
  for (const std::size_t bytes : {std::size_t{5}, large.size(), std::size_t{5'000'000}}) {
    Session& session = world.connect();
    world.send(session, put_line(bytes));
    EXPECT_EQ(state_of(session), "body") << bytes;
    world.pass_s(2);
    world.send(session, "abc");
    EXPECT_EQ(state_of(session), "body") << bytes;
    EXPECT_EQ(number_of(session, "idle"), 0U) << bytes;
  }
}

TEST_F(ServiceClients, AreRunningWhileAnAnswerIsUnread) {
  Session& session = world.connect();
  world.send(session, test::repeated("stats\r\n", 2000));
  world.settle();
  EXPECT_EQ(state_of(session), "running");
  EXPECT_LT(number_of(session, "commands"), 2000U);
}

TEST_F(ServiceClients, AreGoneFromListsWhenClosed) {
  Session& session = world.connect();
  ASSERT_EQ(world.ask(session, whole_put("job") + "reserve\r\n"),
            "INSERTED 1\r\nRESERVED 1 3\r\njob\r\n");
  EXPECT_EQ(report_number(world.ask(asker, "scan-jobs 1 1\r\n"), "  holder"), 2U);
  world.disconnect(session);
  EXPECT_EQ(world.ask(asker, "list-clients 2 9\r\n"), "OK 24\r\n---\nnext: 0\nclients: []\n\r\n");
  EXPECT_EQ(world.ask(asker, "scan-jobs 1 1\r\n").find("holder"), std::string::npos);
}

TEST_F(ServiceClients, HoldNoJobsWhenClosed) {
  Session& session = world.connect();
  constexpr std::size_t kJobs = 3 * Engine::kJobsPerCall;
  world.ask(asker, test::repeated(whole_put("j"), kJobs));
  for (std::size_t held = 0; held < kJobs; held = session.client().held_jobs()) {
    world.ask(session, "reserve-batch 1000\r\n");
  }
  world.disconnect(session);
  // Some of its jobs are still reserved.
  ASSERT_GT(service.engine().counts().reserved, 0U);
  world.send(asker, "scan-jobs 1 10\r\n");
  service.run_backlog(world.now);
  const std::string jobs = world.receive(asker);
  EXPECT_NE(jobs.find("state: reserved"), std::string::npos);
  EXPECT_EQ(jobs.find("holder"), std::string::npos);
}

TEST_F(ServiceClients, APageScansAThousandIds) {
  std::vector<Session*> sessions;
  for (int i = 0; i < 3000; ++i) sessions.push_back(&world.connect());
  for (int i = 0; i < 2900; ++i) world.disconnect(*sessions[static_cast<std::size_t>(i)]);
  std::size_t shown = 0;
  std::uint64_t pages = 0;
  std::uint64_t from = 1;
  do {
    const std::uint64_t before = service.engine().steps();
    const std::string page = world.ask(asker, "list-clients " + std::to_string(from) + " 1000\r\n");
    EXPECT_LT(service.engine().steps() - before, turn_limits::kStepsOfReading);
    for (std::size_t at = page.find("- id"); at != std::string::npos;
         at = page.find("- id", at + 1)) {
      ++shown;
    }
    from = report_number(page, "next");
    ++pages;
  } while (from != 0);
  EXPECT_EQ(shown, 101U);
  EXPECT_EQ(pages, 4U);
}

TEST_F(ServiceClients, ALargePageIsCharged) {
  for (int i = 0; i < 1000; ++i) world.connect();
  const std::uint64_t before = service.engine().steps();
  const std::string page = world.ask(asker, "list-clients 1 1000\r\n");
  EXPECT_GT(service.engine().steps() - before, 1000 * turn_limits::kStepsPerFoundClient);
  EXPECT_EQ(report_number(page, "next"), 1001U);
  // Concurrent requests wait for later turns.
  std::vector<Session*> askers;
  for (int i = 0; i < 9; ++i) askers.push_back(&world.connect());
  for (Session* session : askers) world.send(*session, "list-clients 1 1000\r\n");
  service.run_backlog(world.now);
  std::size_t answered = 0;
  for (const Session* session : askers) answered += session->has_output() ? 1U : 0U;
  EXPECT_EQ(answered, 1U);
}

}  // namespace
}  // namespace haricot
