// A folder has one server: a second one exits, and the first one is not affected.

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "binlog_folder.hpp"
#include "persistence_fixture.hpp"

namespace haricot::test {
namespace {

constexpr ExitStatus kHeld{.code = 10};
// A busy server checks its lock once a second.
constexpr std::chrono::milliseconds kLongerThanBetweenLooks{1100};

class FolderHeld : public PersistenceTest {
 protected:
  // Starts another server with these flags, and waits until it exits.
  ExitStatus end_of_another(ServerKind kind, std::vector<std::string> flags) {
    ServerProcess other;
    flags.insert(flags.end(), {"-b", folder_.path()});
    const auto binary = find_server_binary(kind);
    EXPECT_TRUE(binary);
    if (!binary || !other.launch({.binary = *binary, .arguments = flags})) {
      ADD_FAILURE() << other.failure();
      return {};
    }
    const auto end = other.wait_exit();
    EXPECT_TRUE(end) << "it goes on, stderr: " << other.standard_error();
    error_ = other.standard_error();
    return end.value_or(ExitStatus{});
  }

  [[nodiscard]] bool start_on_socket() {
    const auto binary = find_server_binary(ServerKind::haricot);
    return binary && server_.start({.binary = *binary,
                                    .arguments = {"-b", folder_.path()},
                                    .listen_address = "unix:" + socket_folder_.file("socket")});
  }

  void expect_untouched(const std::map<std::string, std::string>& before) {
    EXPECT_EQ(connect()->ask("peek 1"), "FOUND 1 4\r\nmine\r\n");
    EXPECT_TRUE(folder_contents(folder_.path()) == before) << "it has changed something";
    EXPECT_EQ(connect()->put("more"), "INSERTED 2\r\n");
  }

  TemporaryFolder socket_folder_;
  std::string error_;
};

TEST_F(FolderHeld, ASecondHaricotdLeavesWithStatus10) {
  ASSERT_TRUE(start()) << server_.failure();
  ASSERT_EQ(connect()->put("mine"), "INSERTED 1\r\n");
  const auto before = folder_contents(folder_.path());
  EXPECT_EQ(end_of_another(ServerKind::haricot, {"-l", "127.0.0.1", "-p", "0"}), kHeld) << error_;
  EXPECT_NE(error_.find(folder_.path()), std::string::npos) << error_;
  expect_untouched(before);
}

TEST_F(FolderHeld, ASecondHaricotdOnTheSamePortLeavesItAlone) {
  ASSERT_TRUE(start()) << server_.failure();
  ASSERT_EQ(connect()->put("mine"), "INSERTED 1\r\n");
  const auto before = folder_contents(folder_.path());
  const std::string port = std::to_string(server_.port());
  EXPECT_EQ(end_of_another(ServerKind::haricot, {"-l", "127.0.0.1", "-p", port}), kHeld) << error_;
  expect_untouched(before);
}

TEST_F(FolderHeld, ASecondHaricotdOnTheSameSocketLeavesItAlone) {
  ASSERT_TRUE(start_on_socket()) << server_.failure();
  ASSERT_EQ(connect()->put("mine"), "INSERTED 1\r\n");
  const auto before = folder_contents(folder_.path());
  EXPECT_EQ(end_of_another(ServerKind::haricot, {"-l", "unix:" + server_.unix_path()}), kHeld)
      << error_;
  expect_untouched(before);
}

// Without the lock file another server can take the folder. The first server has been idle, so its
// next command is the first one that can detect that.
TEST_F(FolderHeld, AnIdleServerWhoseLockIsRemovedAcknowledgesNothingMore) {
  for (const int commands : {1, 2}) {
    SCOPED_TRACE(commands);
    TemporaryFolder folder;
    const auto binary = find_server_binary(ServerKind::haricot);
    ASSERT_TRUE(binary);
    const ServerOptions options{.binary = *binary, .arguments = {"-b", folder.path(), "-f", "0"}};
    ASSERT_TRUE(server_.start(options)) << server_.failure();
    for (int i = 1; i <= commands; ++i) {
      ASSERT_EQ(connect()->put("mine"), "INSERTED " + std::to_string(i) + "\r\n");
      std::this_thread::sleep_for(kLongerThanBetweenLooks);
    }
    std::filesystem::remove(folder.file("lock"));
    ServerProcess other;
    ASSERT_TRUE(other.start(options)) << other.failure();
    EXPECT_EQ(connect()->put("lost"), "INTERNAL_ERROR\r\n");
    EXPECT_TRUE(eventually([this] {
      return server_.standard_error().find("no longer exists") != std::string::npos;
    })) << server_.standard_error();
    server_.kill_hard();
  }
}

// The first server does not listen on its socket any more, but the second one must not replace it.
TEST_F(FolderHeld, ASecondHaricotdThatCannotHaveTheFolderTakesNoStaleSocketEither) {
  ASSERT_TRUE(start()) << server_.failure();
  ASSERT_EQ(connect()->put("mine"), "INSERTED 1\r\n");
  const auto before = folder_contents(folder_.path());
  const std::string stale = socket_folder_.file("stale");
  {
    ServerProcess other;
    const auto binary = find_server_binary(ServerKind::haricot);
    ASSERT_TRUE(binary && other.start({.binary = *binary, .listen_address = "unix:" + stale}));
    other.kill_hard();
  }
  ASSERT_EQ(::access(stale.c_str(), F_OK), 0);
  EXPECT_EQ(end_of_another(ServerKind::haricot, {"-l", "unix:" + stale}), kHeld) << error_;
  EXPECT_EQ(::access(stale.c_str(), F_OK), 0);
  expect_untouched(before);
}

TEST_F(FolderHeld, BeanstalkdHonoursOurLock) {
  ASSERT_TRUE(start()) << server_.failure();
  ASSERT_EQ(connect()->put("mine"), "INSERTED 1\r\n");
  const auto before = folder_contents(folder_.path());
  EXPECT_EQ(end_of_another(ServerKind::beanstalkd_1_12, {"-l", "127.0.0.1", "-p", "0"}), kHeld)
      << error_;
  expect_untouched(before);
}

TEST_F(FolderHeld, WeHonourTheLockOfBeanstalkd) {
  ASSERT_TRUE(start(ServerKind::beanstalkd_1_12)) << server_.failure();
  ASSERT_EQ(connect()->put("mine"), "INSERTED 1\r\n");
  const auto before = folder_contents(folder_.path());
  EXPECT_EQ(end_of_another(ServerKind::haricot, {"-l", "127.0.0.1", "-p", "0"}), kHeld) << error_;
  expect_untouched(before);
}

TEST_F(FolderHeld, TheLockEndsWithItsHolderHoweverThatEnds) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(start()) << server_.failure();
    ASSERT_TRUE(kill_and_start()) << server_.failure();
    ASSERT_NO_FATAL_FAILURE(stop());
  }
}

}  // namespace
}  // namespace haricot::test
