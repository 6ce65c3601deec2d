// Two builds of the server: the later one's state has a version that today's server does not read.

#include <gtest/gtest.h>

#include <string>

#include "support/hand_over_fixture.hpp"
#include "take_over_fixture.hpp"

namespace haricot::test {
namespace {

const std::string kLater = LATER_HARICOTD;

class StateVersions : public HandOverTest {
 protected:
  std::string versions_of(const std::string& binary) {
    ServerProcess server;
    ServerOptions options = options_with({"--reads-state"});
    if (!binary.empty()) options.binary = binary;
    EXPECT_TRUE(server.launch(options));
    EXPECT_EQ(server.wait_exit(), kGood);
    return server.standard_output();
  }
};

// Returns the version that is written.
std::string last_of(const std::string& versions) {
  const std::size_t before = versions.rfind(' ') + 1;
  return versions.substr(before, versions.size() - before - 1);
}

TEST_F(StateVersions, TheLaterBuildReadsTheStateOfTodaysToo) {
  const std::string today = versions_of("");
  const std::string next = std::to_string(std::stoi(last_of(today)) + 1);
  EXPECT_EQ(versions_of(kLater), today.substr(0, today.size() - 1) + " " + next + "\n")
      << "tests/os/CMakeLists.txt says what the later one reads";
}

TEST_F(StateVersions, AnUpgradeKeepsConnectionsAndReservations) {
  start_first({"-b", folder_.path()});
  const Client client = connect();
  ASSERT_EQ(client->put("one"), "INSERTED 1\r\n");
  ASSERT_EQ(client->ask("reserve"), "RESERVED 1 3\r\none\r\n");
  binary_ = kLater;
  restart();
  EXPECT_EQ(client->ask("touch 1"), "TOUCHED\r\n");
  restart();
  EXPECT_EQ(client->ask("delete 1"), "DELETED\r\n");
  EXPECT_EQ(stat("hand-overs"), 2U);
}

TEST_F(StateVersions, ADowngradeIsARestartThatKeepsTheJobs) {
  binary_ = kLater;
  start_first({"-b", folder_.path(), "-f", "0"});
  const Client client = connect();
  ASSERT_EQ(client->put("one"), "INSERTED 1\r\n");
  ASSERT_EQ(client->ask("reserve"), "RESERVED 1 3\r\none\r\n");
  binary_.clear();
  restart();
  EXPECT_TRUE(client->at_eof());
  EXPECT_EQ(manager_.kept(), 0U);
  EXPECT_EQ(connect_again()->ask("reserve"), "RESERVED 1 3\r\none\r\n");
  const std::string said = server_.standard_error();
  const std::string why = "the state has version " + last_of(versions_of(kLater)) +
                          ", and this program reads " + last_of(versions_of(""));
  EXPECT_NE(said.find(why), std::string::npos) << said;
}

TEST_P(TakeOver, ALaterBuildTakesOverAndTodaysIsRefused) {
  start_first();
  const Client client = connect();
  ASSERT_EQ(client->put("one"), "INSERTED 1\r\n");
  ASSERT_EQ(client->ask("reserve"), "RESERVED 1 3\r\none\r\n");
  take_over(kLater);
  EXPECT_EQ(client->ask("touch 1"), "TOUCHED\r\n");
  take_over(kLater);
  EXPECT_EQ(client->ask("touch 1"), "TOUCHED\r\n");
  ServerProcess& today = launch_next(arguments_);
  EXPECT_EQ(today.wait_exit(), (ExitStatus{.code = 20})) << today.standard_error();
  next_.pop_back();
  expect_refusal(last(), "the state has version ");
  EXPECT_EQ(client->ask("delete 1"), "DELETED\r\n") << "it is not held any more";
  EXPECT_EQ(report_number(client->ask("stats"), "hand-overs"), 2U);
}

}  // namespace
}  // namespace haricot::test
