// One folder, one server: whoever comes second leaves again, and the first one does not notice.

#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "binlog_folder.hpp"
#include "persistence_fixture.hpp"

namespace haricot::test {
namespace {

constexpr ExitStatus kHeld{.code = 10};

class FolderHeld : public PersistenceTest {
 protected:
  // Starts another server with exactly these flags and waits for its end.
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

// Its socket is stale then, but it is still not the second server's.
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
