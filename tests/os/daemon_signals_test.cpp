// Signals, and peers that leave before they have read their answers.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "support/daemon_fixture.hpp"
#include "support/process_facts.hpp"

namespace haricot::test {
namespace {

class DaemonSignals : public DaemonTest {};
class DaemonEndingSignals : public DaemonTest, public ::testing::WithParamInterface<int> {};

INSTANTIATE_TEST_SUITE_P(Each, DaemonEndingSignals, ::testing::Values(SIGTERM, SIGINT),
                         [](const auto& instance) {
                           return std::string(instance.param == SIGTERM ? "TERM" : "INT");
                         });

TEST_P(DaemonEndingSignals, AnIdleServerEndsWell) {
  ASSERT_TRUE(start()) << server_.failure();
  ASSERT_TRUE(server_.signal(GetParam()));
  EXPECT_EQ(server_.wait_exit(), kGood);
  EXPECT_TRUE(server_.standard_error().ends_with(" level=info event=stopped jobs=0\n"))
      << server_.standard_error();
}

TEST_P(DaemonEndingSignals, ABusyServerEndsWell) {
  ASSERT_TRUE(start()) << server_.failure();
  const std::vector<Client> waiting = connect(20);
  for (const Client& client : waiting) client->send_line("watch none\r\nignore default\r\nreserve");
  const std::vector<Client> holding = connect(20);
  for (const Client& client : holding) {
    ASSERT_TRUE(client->put("held").starts_with("INSERTED "));
    ASSERT_TRUE(client->ask("reserve").starts_with("RESERVED "));
  }
  const std::vector<Client> putting = connect(20);
  const std::string puts = repeated("put 0 0 60 5\r\nhello\r\nstats\r\n", 5000);
  for (const Client& client : putting) {
    client->send_without_reading(puts, std::chrono::milliseconds(1));
  }
  ASSERT_TRUE(server_.signal(GetParam()));
  EXPECT_EQ(server_.wait_exit(), kGood);
  for (const Client& client : waiting) {
    EXPECT_EQ(client->read_line(), "WATCHING 2");
    EXPECT_EQ(client->read_line(), "WATCHING 1");
    EXPECT_TRUE(client->at_eof());
  }
}

// The kernel delivers no signal to process 1 of a container, unless the process handles it.
TEST_P(DaemonEndingSignals, ProcessOneOfAContainerEndsWell) {
  const std::string path = folder_.file("socket");
  ServerOptions options = options_with({"-l", "unix:" + path});
  options.launcher = {"/usr/bin/unshare", "--pid", "--fork", "--kill-child"};
  ASSERT_TRUE(server_.launch(options)) << server_.failure();
  WireClient client;
  if (!eventually([&] { return client.connect_unix(path) || !server_.running(); }) ||
      !client.is_open()) {
    const std::string reason = "no namespace for processes: " + server_.standard_error();
    if (::geteuid() != 0) GTEST_SKIP() << reason;
    FAIL() << reason;
  }
  EXPECT_EQ(report_value(client.ask("stats"), "pid"), "1");

  const auto daemon = child_of(server_.pid());
  ASSERT_TRUE(daemon);
  ASSERT_EQ(status_words(*daemon, "NSpid").back(), "1");
  ASSERT_EQ(::kill(*daemon, SIGHUP), 0);
  EXPECT_TRUE(eventually([&] {
    return server_.standard_error().find(" event=nothing-to-reload ") != std::string::npos;
  }));
  EXPECT_EQ(client.ask("list-tube-used"), "USING default\r\n");
  ASSERT_EQ(::kill(*daemon, GetParam()), 0);
  EXPECT_EQ(server_.wait_exit(), kGood);
  EXPECT_TRUE(client.at_eof());
}

// A shell starts background processes with SIGINT ignored.
TEST_P(DaemonEndingSignals, AServerStartedWithTheSignalIgnoredEndsWell) {
  ServerOptions options;
  options.launcher = {"/bin/sh", "-c", "trap '' TERM INT; exec \"$0\" \"$@\""};
  ASSERT_TRUE(start_with(options)) << server_.failure();
  ASSERT_TRUE(server_.signal(GetParam()));
  EXPECT_EQ(server_.wait_exit(), kGood);
}

// SIGHUP asks a server to reload its settings. This one cannot, and must not lose the jobs.
TEST_F(DaemonSignals, AReloadIsLoggedAndChangesNothing) {
  for (const char* flag : {"--sandbox", "--no-sandbox"}) {
    SCOPED_TRACE(flag);
    ASSERT_TRUE(start({flag})) << server_.failure();
    const Client client = connect();
    ASSERT_EQ(client->put("job"), "INSERTED 1\r\n");
    for (int i = 0; i < 2; ++i) {
      const std::size_t before = server_.standard_error().size();
      ASSERT_TRUE(server_.signal(SIGHUP));
      EXPECT_TRUE(eventually([&] {
        return server_.standard_error().find("level=warning event=nothing-to-reload signal=SIGHUP ",
                                             before) != std::string::npos;
      })) << server_.standard_error();
    }
    EXPECT_EQ(client->ask("reserve"), "RESERVED 1 3\r\njob\r\n");
    ASSERT_TRUE(server_.signal(SIGTERM));
    EXPECT_EQ(server_.wait_exit(), kGood);
  }
}

TEST_F(DaemonSignals, AServerWithABinlogDoesNotEndAtAReload) {
  ASSERT_TRUE(start({"-b", folder_.path()})) << server_.failure();
  ASSERT_TRUE(server_.signal(SIGHUP));
  EXPECT_EQ(connect()->put("job"), "INSERTED 1\r\n");
  EXPECT_TRUE(server_.running());
}

// Process 1 of a container inherits the children of other processes, and only it can reap them.
TEST_F(DaemonSignals, ChildrenItInheritedLeaveNoZombies) {
  ServerOptions options;
  options.launcher = {"/bin/sh", "-c", "sleep 1000 & exec \"$0\" \"$@\""};
  ASSERT_TRUE(start_with(options)) << server_.failure();
  const auto child = child_of(server_.pid());
  ASSERT_TRUE(child);
  ASSERT_EQ(::kill(*child, SIGKILL), 0);
  EXPECT_TRUE(eventually([&] { return !child_of(server_.pid()); }));
  EXPECT_EQ(connect()->ask("list-tube-used"), "USING default\r\n");
}

TEST_F(DaemonSignals, DrainModeTakesNoJobsAndGivesOutThoseThereAre) {
  ASSERT_TRUE(start()) << server_.failure();
  const Client producer = connect();
  const Client worker = connect();
  ASSERT_EQ(producer->put("before"), "INSERTED 1\r\n");
  EXPECT_EQ(report_value(producer->ask("stats"), "draining"), "false");

  // A put whose body is incomplete counts as too late.
  producer->send("put 0 0 60 4000\r\n" + std::string(3000, 'x'));
  ASSERT_EQ(connect()->ask("list-tube-used"), "USING default\r\n");
  ASSERT_TRUE(server_.signal(SIGUSR1));
  ASSERT_TRUE(
      eventually([&] { return report_value(connect()->ask("stats"), "draining") == "true"; }));
  producer->send(std::string(1000, 'x') + "\r\n");
  EXPECT_EQ(producer->read_answer(), "DRAINING\r\n");

  // Its body is read all the same, not run as commands.
  EXPECT_EQ(producer->put("delete 1\r\n"), "DRAINING\r\n");
  EXPECT_EQ(producer->ask("list-tube-used"), "USING default\r\n");
  EXPECT_EQ(worker->ask("reserve"), "RESERVED 1 6\r\nbefore\r\n");
  EXPECT_EQ(worker->ask("release 1 0 0"), "RELEASED\r\n");
  EXPECT_EQ(worker->ask("reserve"), "RESERVED 1 6\r\nbefore\r\n");
  EXPECT_EQ(worker->ask("delete 1"), "DELETED\r\n");

  ASSERT_TRUE(server_.signal(SIGUSR1));  // A second signal changes nothing.
  EXPECT_EQ(producer->put("later"), "DRAINING\r\n");
  ASSERT_TRUE(server_.signal(SIGTERM));
  EXPECT_EQ(server_.wait_exit(), kGood);
}

TEST_F(DaemonSignals, PeersThatGoWithAnswersUnreadDoNoHarm) {
  ASSERT_TRUE(start()) << server_.failure();
  ASSERT_EQ(connect()->put(std::string(60000, 'x')), "INSERTED 1\r\n");
  const std::string commands = repeated("stats\r\npeek 1\r\n", 100);
  for (int i = 0; i < 300; ++i) {
    const Client client = connect();
    client->send_without_reading(commands, std::chrono::milliseconds(1));
    switch (i % 3) {
      case 0:
        client->reset();
        break;
      case 1:
        client->close();  // With unread answers this is a reset, too, only later.
        break;
      default:
        client->shutdown_write();
        client->close();
        break;
    }
  }
  EXPECT_EQ(connect()->ask("list-tube-used"), "USING default\r\n");
  EXPECT_TRUE(eventually([&] { return server_stat("current-connections") == 1; }));
  EXPECT_TRUE(server_.running());
}

TEST_F(DaemonSignals, ABrokenPipeSignalFromOutsideDoesNoHarm) {
  ASSERT_TRUE(start()) << server_.failure();
  ASSERT_TRUE(server_.signal(SIGPIPE));
  EXPECT_EQ(connect()->ask("list-tube-used"), "USING default\r\n");
}

}  // namespace
}  // namespace haricot::test
