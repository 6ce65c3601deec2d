// Messages of the daemon to a service manager, and sockets passed by systemd's own tool.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "support/daemon_fixture.hpp"
#include "support/notify_socket.hpp"
#include "support/process_facts.hpp"

namespace haricot::test {
namespace {

class DaemonNotify : public DaemonTest {
 protected:
  // Returns options with the server's own process id in WATCHDOG_PID, as under systemd.
  ServerOptions notifying(std::vector<std::string> arguments = {},
                          std::vector<std::string> more = {}) {
    EXPECT_TRUE(manager_.open(name_));
    arguments.push_back("--no-hand-over");  // The manager of these tests keeps no descriptors.
    ServerOptions options = options_with(std::move(arguments));
    options.environment = {"NOTIFY_SOCKET=" + name_};
    for (std::string& line : more) options.environment.push_back(std::move(line));
    return options;
  }

  std::string name_ = folder_.file("notify");
  NotifySocket manager_;
};

TEST_F(DaemonNotify, ReportsThatItIsReadyAndThatItStops) {
  ASSERT_TRUE(start_with(notifying())) << server_.failure();
  const auto messages = manager_.receive_until("READY=1");
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_TRUE(has_line(messages[0], "STATUS=serving")) << messages[0];
  EXPECT_EQ(connect()->ask("list-tube-used"), "USING default\r\n");
  EXPECT_EQ(server_.stop(), (ExitStatus{.code = 0}));
  const auto last = manager_.receive_all();
  ASSERT_EQ(last.size(), 1u);
  EXPECT_TRUE(has_line(last[0], "STOPPING=1")) << last[0];
}

TEST_F(DaemonNotify, AnAbstractSocketWillDo) {
  name_ = "@haricot-daemon-test-" + std::to_string(::getpid());
  ASSERT_TRUE(start_with(notifying())) << server_.failure();
  EXPECT_EQ(manager_.receive_until("READY=1").size(), 1u);
}

TEST_F(DaemonNotify, ItReachesASocketOfRootsAsAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  ASSERT_TRUE(start_with(notifying({"-u", "nobody"}))) << server_.failure();
  EXPECT_EQ(manager_.receive_until("READY=1").size(), 1u);
}

TEST_F(DaemonNotify, DrainModeIsAStatus) {
  ASSERT_TRUE(start_with(notifying())) << server_.failure();
  ASSERT_EQ(manager_.receive_until("READY=1").size(), 1u);
  ASSERT_TRUE(server_.signal(SIGUSR1));
  EXPECT_EQ(manager_.receive_until("STATUS=drain mode: no new jobs are accepted").size(), 1u);
}

TEST_F(DaemonNotify, TheEndOfDrainModeIsAStatusToo) {
  ASSERT_TRUE(start_with(notifying({"--allow-drain"}))) << server_.failure();
  ASSERT_EQ(manager_.receive_until("READY=1").size(), 1u);
  const Client client = connect();
  EXPECT_EQ(client->ask("drain"), "DRAINING\r\n");
  EXPECT_EQ(manager_.receive_until("STATUS=drain mode: no new jobs are accepted").size(), 1u);
  EXPECT_EQ(client->ask("undrain"), "NOT_DRAINING\r\n");
  EXPECT_EQ(manager_.receive_until("STATUS=serving").size(), 1u);
}

TEST_F(DaemonNotify, AMissingSocketIsLoggedAndDoesNotPreventServing) {
  ServerOptions options = notifying();
  options.environment = {"NOTIFY_SOCKET=" + folder_.file("nobody")};
  ASSERT_TRUE(start_with(options)) << server_.failure();
  EXPECT_EQ(connect()->ask("list-tube-used"), "USING default\r\n");
  const std::string said = server_.standard_error();
  EXPECT_NE(said.find("cannot notify the service manager"), std::string::npos) << said;
}

TEST_F(DaemonNotify, TheWatchdogHearsAnIdleServer) {
  ASSERT_TRUE(start_with(notifying({}, {"WATCHDOG_USEC=400000"}))) << server_.failure();
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(manager_.receive_until("WATCHDOG=1").empty()) << "message " << i;
  }
}

TEST_F(DaemonNotify, TheWatchdogOfAnotherProcessHearsNothing) {
  ASSERT_TRUE(start_with(notifying({}, {"WATCHDOG_USEC=100000", "WATCHDOG_PID=1"})));
  ASSERT_EQ(manager_.receive_until("READY=1").size(), 1u);
  EXPECT_EQ(manager_.receive(std::chrono::milliseconds(500)), std::nullopt);
}

TEST_F(DaemonNotify, ABusyServerDoesNotNotifyTheWatchdogMore) {
  ASSERT_TRUE(start_with(notifying({}, {"WATCHDOG_USEC=600000000"}))) << server_.failure();
  const Client client = connect();
  for (int i = 0; i < 200; ++i) ASSERT_EQ(client->ask("list-tube-used"), "USING default\r\n");
  std::size_t heard = 0;
  for (const std::string& message : manager_.receive_all())
    heard += has_line(message, "WATCHDOG=1");
  EXPECT_EQ(heard, 1u);
}

// A long start ------------------------------------------------------------------------------------

class DaemonNotifyReplay : public DaemonNotify {
 protected:
  // Fills a folder with a job in each of several files.
  void fill(const std::string& binlog) {
    ASSERT_EQ(::mkdir(binlog.c_str(), 0700), 0);
    ASSERT_TRUE(start({"-b", binlog, "-s", "65536"})) << server_.failure();
    const Client client = connect();
    for (int i = 0; i < 4; ++i) {
      EXPECT_TRUE(client->put(varied_bytes(60000, 1)).starts_with("INSERTED")) << i;
    }
    EXPECT_EQ(server_.stop(), (ExitStatus{.code = 0}));
  }
};

constexpr const char* kStrace = "/usr/bin/strace";

TEST_F(DaemonNotifyReplay, ProgressIsReportedBeforeItIsReady) {
  if (::access(kStrace, X_OK) != 0) GTEST_SKIP() << kStrace << " is missing";
  const std::string binlog = folder_.file("binlog");
  ASSERT_NO_FATAL_FAILURE(fill(binlog));
  ServerOptions options = notifying({"-b", binlog, "-l", "unix:" + folder_.file("socket")});
  // Each read of a file takes long, as on a very slow disk. (-D: strace becomes a grandchild, and
  // the started process becomes the server.)
  options.launcher = {kStrace,
                      "-D",
                      "-qq",
                      "-o",
                      "/dev/null",
                      "-e",
                      "trace=pread64",
                      "-e",
                      "inject=pread64:delay_enter=600000"};
  ASSERT_TRUE(server_.launch(options)) << server_.failure();
  const auto messages = manager_.receive_until("READY=1");
  if (server_.standard_error().find("ptrace") != std::string::npos) {
    GTEST_SKIP() << "strace may not trace here: " << server_.standard_error();
  }
  ASSERT_FALSE(messages.empty()) << server_.standard_error();
  ASSERT_TRUE(has_line(messages.back(), "READY=1"));
  ASSERT_GE(messages.size(), 2u);
  for (std::size_t i = 0; i + 1 < messages.size(); ++i) {
    EXPECT_TRUE(messages[i].starts_with("EXTEND_TIMEOUT_USEC=")) << messages[i];
    EXPECT_NE(messages[i].find("% read"), std::string::npos) << messages[i];
  }
}

// A long stop -------------------------------------------------------------------------------------

TEST_F(DaemonNotify, AStopThatWaitsForTheDiskAsksForMoreTime) {
  if (::access(kStrace, X_OK) != 0) GTEST_SKIP() << kStrace << " is missing";
  const std::string binlog = folder_.file("binlog");
  ASSERT_EQ(::mkdir(binlog.c_str(), 0700), 0);
  const std::string path = folder_.file("socket");
  ServerOptions options = notifying({"-b", binlog, "-f", "600000", "-l", "unix:" + path});
  // A sanitizer cannot search for leaks in a traced program.
  options.environment.emplace_back("ASAN_OPTIONS=detect_leaks=0");
  // Each sync of a file takes long.
  options.launcher = {kStrace, "-D",
                      "-f",    "-qq",
                      "-o",    "/dev/null",
                      "-e",    "trace=fdatasync",
                      "-e",    "inject=fdatasync:delay_enter=3500000"};
  ASSERT_TRUE(server_.launch(options)) << server_.failure();
  const auto start = manager_.receive_until("READY=1");
  if (server_.standard_error().find("ptrace") != std::string::npos) {
    GTEST_SKIP() << "strace may not trace here: " << server_.standard_error();
  }
  ASSERT_FALSE(start.empty()) << server_.standard_error();
  WireClient client;
  ASSERT_TRUE(client.connect_unix(path));
  EXPECT_EQ(client.put("job"), "INSERTED 1\r\n");
  ASSERT_TRUE(server_.signal(SIGTERM));
  const auto begin = manager_.receive_until("STOPPING=1");
  ASSERT_FALSE(begin.empty());
  ASSERT_TRUE(has_line(begin.back(), "STOPPING=1")) << begin.back();
  const auto end = server_.wait_exit();
  ASSERT_TRUE(end);
  EXPECT_EQ(*end, (ExitStatus{.code = 0})) << server_.standard_error();
  const auto pleas = manager_.receive_all();
  ASSERT_GE(pleas.size(), 2u);
  for (const std::string& plea : pleas) {
    EXPECT_TRUE(plea.starts_with("EXTEND_TIMEOUT_USEC=")) << plea;
    EXPECT_TRUE(has_line(plea, "STATUS=stopping: waiting for the disk")) << plea;
  }
}

// systemd-socket-activate ----------------------------------------------------------------------

constexpr const char* kActivate = "/usr/bin/systemd-socket-activate";

class DaemonSocketActivation : public DaemonTest {
 protected:
  void SetUp() override {
    if (::access(kActivate, X_OK) != 0) GTEST_SKIP() << kActivate << " is missing";
  }
};

TEST_F(DaemonSocketActivation, TheFirstConnectionStartsTheServer) {
  const std::string path = folder_.file("socket");
  ServerOptions options = options_with({"-l", "127.0.0.1", "-p", "1"});
  options.launcher = {kActivate, "--listen=" + path};
  ASSERT_TRUE(server_.launch(options)) << server_.failure();
  WireClient client;
  ASSERT_TRUE(eventually([&] { return client.connect_unix(path); })) << server_.standard_error();
  EXPECT_EQ(client.put("job"), "INSERTED 1\r\n") << server_.standard_error();
  EXPECT_EQ(client.ask("reserve"), "RESERVED 1 3\r\njob\r\n");
  EXPECT_EQ(server_.stop(), (ExitStatus{.code = 0}));
}

}  // namespace
}  // namespace haricot::test
