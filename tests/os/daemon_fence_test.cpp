// A folder that two servers open: the first one loses it, and notices before it acknowledges
// anything.
//
// Both are on one machine here, so the first one's lock has to be lost, as a volume may lose it:
// the file is renamed, and the second server makes its own.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>

#include "support/daemon_fixture.hpp"

namespace haricot::test {
namespace {

namespace fs = std::filesystem;

constexpr ExitStatus kFenced{.code = 75};
constexpr std::chrono::seconds kEnd{60};

class DaemonFence : public DaemonTest {
 protected:
  std::vector<std::string> arguments(const std::string& seconds = "600") const {
    return {"-b", folder_.path(), "-f", "0", "--fence-after", seconds};
  }
  void lose_lock() const { fs::rename(folder_.path() + "/lock", folder_.path() + "/old-lock"); }
  // Starts a second server on the folder, of which the first one does not know yet.
  [[nodiscard]] bool take_over() {
    lose_lock();
    if (!second_.start(options_with(arguments()))) return false;
    Client client = connect_second();
    return client->ask("stats-tube default").starts_with("OK");  // The jobs are restored.
  }
  Client connect_second() {
    auto client = std::make_unique<WireClient>();
    EXPECT_TRUE(client->connect(second_)) << client->failure();
    return client;
  }
  bool has_said(const std::string& text) const {
    return server_.standard_error().find(text) != std::string::npos;
  }

  ServerProcess second_;
};

TEST_F(DaemonFence, AServerThatIsTheOnlyOneServesAndStopsAsEver) {
  ASSERT_TRUE(start(arguments()));
  {
    Client client = connect();
    EXPECT_EQ(client->put("one"), "INSERTED 1\r\n");
    EXPECT_EQ(client->ask("delete 1"), "DELETED\r\n");
    EXPECT_EQ(client->put("two"), "INSERTED 2\r\n");
  }
  EXPECT_EQ(server_.stop(), kGood);
  EXPECT_FALSE(has_said("event=fenced"));
  ASSERT_TRUE(start(arguments()));
  EXPECT_EQ(connect()->ask("peek 2"), "FOUND 2 3\r\ntwo\r\n");
  EXPECT_TRUE(has_said("epoch=2"));
}

TEST_F(DaemonFence, AnIdleServerThatHasLostItsFolderAnswersNothing) {
  ASSERT_TRUE(start(arguments()));
  Client client = connect();
  EXPECT_EQ(client->put("of both"), "INSERTED 1\r\n");
  ASSERT_TRUE(take_over());
  EXPECT_TRUE(client->send("put 0 0 60 4\r\nlost\r\n"));
  EXPECT_TRUE(client->at_eof());
  EXPECT_EQ(server_.wait_exit(kEnd), kFenced);
  EXPECT_TRUE(has_said("event=fenced")) << server_.standard_error();
  EXPECT_TRUE(has_said("another server has the jobs")) << server_.standard_error();
  EXPECT_FALSE(has_said("event=stopped"));
  Client other = connect_second();
  EXPECT_EQ(other->ask("peek 1"), "FOUND 1 7\r\nof both\r\n");
  EXPECT_EQ(other->ask("peek 2"), "NOT_FOUND\r\n");
  EXPECT_EQ(other->put("next"), "INSERTED 2\r\n");
}

TEST_F(DaemonFence, AServerNoticesByItself) {
  ASSERT_TRUE(start(arguments("8")));
  Client client = connect();
  EXPECT_EQ(client->put("of both"), "INSERTED 1\r\n");
  ASSERT_TRUE(take_over());
  EXPECT_EQ(server_.wait_exit(kEnd), kFenced);
  EXPECT_TRUE(client->at_eof());
}

// Everything that was answered before the second server read the folder exists there, under load.
// The rest has no answer.
TEST_F(DaemonFence, TheNextServerHasEveryAcknowledgedJob) {
  ASSERT_TRUE(start(arguments()));
  Client client = connect();
  // Each put is acknowledged by itself, as fast as possible, until the server is fenced. The second
  // server starts meanwhile, which takes its settle time.
  EXPECT_EQ(client->put("1"), "INSERTED 1\r\n");
  lose_lock();
  ASSERT_TRUE(second_.launch([this] {
    ServerOptions options = options_with(arguments());
    options.arguments.insert(options.arguments.end(), {"-l", "unix:" + folder_.path() + "/socket"});
    return options;
  }()));
  std::uint64_t acknowledged = 1;
  while (true) {
    const std::string answer = client->put(std::to_string(acknowledged + 1));
    if (answer != "INSERTED " + std::to_string(acknowledged + 1) + "\r\n") break;
    ++acknowledged;
  }
  EXPECT_EQ(server_.wait_exit(kEnd), kFenced);
  WireClient other;
  ASSERT_TRUE(eventually([&] { return other.connect_unix(folder_.path() + "/socket"); }, kEnd));
  for (std::uint64_t id = 1; id <= acknowledged; ++id) {
    const std::string body = std::to_string(id);
    ASSERT_EQ(other.ask("peek " + body),
              "FOUND " + body + " " + std::to_string(body.size()) + "\r\n" + body + "\r\n");
  }
}

// A worker may hold a job at both servers for a while. Its commands for the job at the first one
// are not acknowledged.
TEST_F(DaemonFence, NoChangeOfAJobIsAcknowledgedAtBoth) {
  ASSERT_TRUE(start(arguments()));
  Client client = connect();
  EXPECT_EQ(client->put("of both"), "INSERTED 1\r\n");
  EXPECT_EQ(client->ask("reserve"), "RESERVED 1 7\r\nof both\r\n");
  ASSERT_TRUE(take_over());
  Client other = connect_second();
  EXPECT_EQ(other->ask("reserve-with-timeout 0"), "RESERVED 1 7\r\nof both\r\n");
  EXPECT_TRUE(client->send("delete 1\r\n"));
  EXPECT_TRUE(client->at_eof());
  EXPECT_EQ(other->ask("bury 1 5"), "BURIED\r\n");
  EXPECT_EQ(server_.wait_exit(kEnd), kFenced);
  other.reset();
  second_.kill_hard();
  ASSERT_TRUE(second_.start(options_with(arguments())));
  EXPECT_EQ(connect_second()->ask("peek-buried"), "FOUND 1 7\r\nof both\r\n");
}

TEST_F(DaemonFence, AStoppedServerReportsTheLossOfItsFolder) {
  ASSERT_TRUE(start(arguments()));
  Client client = connect();
  EXPECT_EQ(client->put("of both"), "INSERTED 1\r\n");
  ASSERT_TRUE(take_over());
  server_.signal(SIGTERM);
  EXPECT_EQ(server_.wait_exit(kEnd), kFenced);
}

// The volume hangs: here its file is missing, so that each check fails.
TEST_F(DaemonFence, AVolumeThatFailsForTooLongIsGivenUp) {
  ASSERT_TRUE(start(arguments("2")));
  Client client = connect();
  EXPECT_EQ(client->put("kept"), "INSERTED 1\r\n");
  fs::remove(folder_.path() + "/epoch");
  EXPECT_EQ(server_.wait_exit(kEnd), kFenced);
  EXPECT_TRUE(client->at_eof());
  EXPECT_TRUE(has_said("cannot read the file epoch")) << server_.standard_error();
  EXPECT_TRUE(has_said("no server may be serving these jobs")) << server_.standard_error();
  EXPECT_FALSE(has_said("another server has the jobs"));
}

TEST_F(DaemonFence, AServerReportsTheBeginAndEndOfAWaitForItsVolume) {
  ASSERT_TRUE(start(arguments()));
  Client client = connect();
  EXPECT_EQ(client->put("one"), "INSERTED 1\r\n");
  fs::rename(folder_.path() + "/epoch", folder_.path() + "/away");
  EXPECT_TRUE(client->send("put 0 0 60 3\r\ntwo\r\n"));
  // Long before it gives up the volume.
  EXPECT_TRUE(eventually([&] { return has_said("event=volume-waits"); }, kEnd));
  EXPECT_TRUE(has_said("cannot read the file epoch")) << server_.standard_error();
  EXPECT_FALSE(has_said("event=volume-answers"));
  fs::rename(folder_.path() + "/away", folder_.path() + "/epoch");
  EXPECT_EQ(client->read_line(), "INSERTED 2");
  EXPECT_TRUE(eventually([&] { return has_said("event=volume-answers"); }, kEnd));
  EXPECT_EQ(server_.stop(), kGood);
}

TEST_F(DaemonFence, TheSandboxKnowsItsCalls) {
  std::vector<std::string> words = arguments();
  words.insert(words.end(), {"--sandbox", "-s", "65536"});
  ASSERT_TRUE(start(words));
  Client client = connect();
  const std::string body(20'000, 'x');
  for (int i = 1; i <= 20; ++i) {
    ASSERT_EQ(client->put(body), "INSERTED " + std::to_string(i) + "\r\n");
    ASSERT_EQ(client->ask("delete " + std::to_string(i)), "DELETED\r\n");
  }
  EXPECT_EQ(server_.stop(), kGood);
  EXPECT_FALSE(has_said("level=error")) << server_.standard_error();
}

// beanstalkd ignores the epoch, and a server without an epoch may run in between.
TEST_F(DaemonFence, BeanstalkdAndAServerWithoutAFenceTakeTurnsOnTheFolder) {
  const auto beanstalkd = find_server_binary(ServerKind::beanstalkd_1_12);
  if (!beanstalkd) GTEST_SKIP() << "there is no beanstalkd";
  ASSERT_TRUE(start(arguments()));
  EXPECT_EQ(connect()->put("one"), "INSERTED 1\r\n");
  EXPECT_EQ(server_.stop(), kGood);
  ServerOptions options;
  options.binary = *beanstalkd;
  options.arguments = {"-b", folder_.path(), "-f", "0"};
  ASSERT_TRUE(second_.start(options)) << second_.failure();
  EXPECT_EQ(connect_second()->ask("peek 1"), "FOUND 1 3\r\none\r\n");
  EXPECT_EQ(connect_second()->put("two"), "INSERTED 2\r\n");
  second_.stop();
  ASSERT_TRUE(start({"-b", folder_.path(), "-f", "0"}));
  EXPECT_EQ(connect()->put("three"), "INSERTED 3\r\n");
  EXPECT_EQ(server_.stop(), kGood);
  ASSERT_TRUE(start(arguments()));
  Client client = connect();
  EXPECT_EQ(client->ask("peek 1"), "FOUND 1 3\r\none\r\n");
  EXPECT_EQ(client->ask("peek 2"), "FOUND 2 3\r\ntwo\r\n");
  EXPECT_EQ(client->ask("peek 3"), "FOUND 3 5\r\nthree\r\n");
  EXPECT_FALSE(has_said("level=warning")) << server_.standard_error();
}

TEST_F(DaemonFence, WithoutAFolderThereIsNoFence) {
  const Ending ending = run_to_end({"--fence-after", "5"});
  EXPECT_EQ(ending.status, (ExitStatus{.code = 5}));
  EXPECT_NE(ending.error.find("--fence-after needs a folder"), std::string::npos);
}

TEST_F(DaemonFence, WithoutTheOptionTheFolderHasNoEpoch) {
  ASSERT_TRUE(start({"-b", folder_.path(), "-f", "0"}));
  EXPECT_EQ(connect()->put("one"), "INSERTED 1\r\n");
  EXPECT_EQ(server_.stop(), kGood);
  EXPECT_FALSE(fs::exists(folder_.path() + "/epoch"));
}

}  // namespace
}  // namespace haricot::test
