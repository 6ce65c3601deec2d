// Clients of a server that is asked to hand over, and has to wait for its disk or for the next
// server.

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "support/daemon_fixture.hpp"
#include "support/notify_socket.hpp"
#include "take_over_fixture.hpp"

namespace haricot::test {
namespace {

class ServerAtRest : public DaemonTest {
 protected:
  std::string path() const { return folder_.file("next"); }
  // Starts with a watchdog. With a binlog each sync takes three seconds, if strace is available.
  void start_watched(const std::vector<std::string>& binlog) {
    ASSERT_TRUE(manager_.open(folder_.file("notify")));
    std::vector<std::string> arguments = {"-l", "unix:" + folder_.file("clients"),
                                          "--take-over-socket=" + path()};
    arguments.insert(arguments.end(), binlog.begin(), binlog.end());
    ServerOptions options = options_with(arguments);
    options.environment = {"NOTIFY_SOCKET=" + folder_.file("notify"), "WATCHDOG_USEC=200000",
                           "ASAN_OPTIONS=detect_leaks=0"};
    if (!binlog.empty()) {
      options.launcher = {kStrace, "-D",
                          "-f",    "-qq",
                          "-o",    "/dev/null",
                          "-e",    "trace=fdatasync",
                          "-e",    "inject=fdatasync:delay_enter=3000000"};
    }
    ASSERT_TRUE(server_.launch(options));
    const bool is_ready = !manager_.receive_until("READY=1").empty();
    const std::string said = server_.standard_error();
    if (said.find("ptrace") != std::string::npos) GTEST_SKIP() << "strace may not trace: " << said;
    ASSERT_TRUE(is_ready) << said;
  }
  Client client() {
    auto client = std::make_unique<WireClient>();
    EXPECT_TRUE(client->connect_unix(folder_.file("clients"))) << client->failure();
    return client;
  }
  void ask_for_all(const Talk& next) {
    ASSERT_TRUE(next.say("take over"));
    ASSERT_TRUE(eventually(
        [&] { return server_.standard_error().find("event=handing-over") != std::string::npos; }));
  }

  static constexpr const char* kStrace = "/usr/bin/strace";
  TemporaryFolder jobs_;
  NotifySocket manager_;
};

TEST_F(ServerAtRest, NotifiesTheWatchdogWhileItWaitsForTheNextOne) {
  ASSERT_NO_FATAL_FAILURE(start_watched({}));
  Talk next;
  ASSERT_TRUE(next.connect(path()));
  ASSERT_NO_FATAL_FAILURE(ask_for_all(next));
  ASSERT_TRUE(next.hear().starts_with("parts "));
  (void)manager_.receive_all();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(manager_.receive_until("WATCHDOG=1").empty());
  EXPECT_TRUE(next.say("no time")) << "it has not waited";
  EXPECT_EQ(client()->put("one"), "INSERTED 1\r\n");
}

// For a put whose answer waits for a sync, and one whose answer does not.
class ServerWithASlowDisk : public ServerAtRest,
                            public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Of, ServerWithASlowDisk, ::testing::Values("0", "1"),
                         [](const auto& of) { return std::string("Fsync") + of.param; });

TEST_P(ServerWithASlowDisk, NotifiesTheWatchdogAndEndsNoTtrBeforeItReadsAgain) {
  if (::access(kStrace, X_OK) != 0) GTEST_SKIP() << kStrace << " is missing";
  ASSERT_NO_FATAL_FAILURE(start_watched({"-b", jobs_.path(), "-f", GetParam()}));
  if (IsSkipped()) return;
  const Client producer = client();
  const Client worker = client();
  ASSERT_EQ(producer->put("one", 0, 0, 2), "INSERTED 1\r\n");
  ASSERT_TRUE(producer->send("put 0 0 60 3\r\ntwo\r\n"));
  // The sync is in progress.
  ASSERT_TRUE(
      eventually([&] { return report_number(worker->ask("stats"), "binlog-sync-lag") > 100; }));
  ASSERT_EQ(worker->ask("reserve"), "RESERVED 1 3\r\none\r\n");
  Talk next;
  ASSERT_TRUE(next.connect(path()));
  ASSERT_NO_FATAL_FAILURE(ask_for_all(next));
  (void)manager_.receive_all();
  ASSERT_TRUE(worker->send_line("delete 1"));
  ASSERT_TRUE(next.hear().starts_with("parts "));
  EXPECT_GE(manager_.receive_all().size(), 2U) << "it was silent until then";
  next.close();
  EXPECT_EQ(producer->read_answer(), "INSERTED 2\r\n");
  EXPECT_EQ(worker->read_answer(), "DELETED\r\n");
  EXPECT_EQ(report_number(worker->ask("stats"), "job-timeouts"), 0U);
}

}  // namespace
}  // namespace haricot::test
