// --check: determines whether a server could start, while another one runs.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "support/daemon_fixture.hpp"

namespace haricot::test {
namespace {

class Check : public DaemonTest {
 protected:
  // Checks these flags, which are correct, while the server of the test runs.
  static void expect_good(std::vector<std::string> flags) {
    flags.emplace_back("--check");
    ServerProcess check;
    ASSERT_TRUE(check.launch(options_with(std::move(flags)))) << check.failure();
    EXPECT_EQ(check.wait_exit(), kGood) << check.standard_error();
    EXPECT_EQ(check.standard_output(), "the server can start\n");
    EXPECT_EQ(check.standard_error(), "");
  }
  // Checks these flags, with which a start ends with this status. Both end with the same message.
  void expect_refused(const std::vector<std::string>& flags, int status, const std::string& why) {
    std::vector<std::string> with_check = flags;
    with_check.insert(with_check.begin(), "--check");
    const Ending check = run_to_end(std::move(with_check));
    const Ending start = run_to_end(flags);
    EXPECT_EQ(check.status, (ExitStatus{.code = status})) << check.error;
    EXPECT_EQ(start.status, (ExitStatus{.code = status})) << start.error;
    EXPECT_NE(check.error.find(why), std::string::npos) << check.error;
    EXPECT_NE(start.error.find(why), std::string::npos) << start.error;
  }
  static std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }
};

TEST_F(Check, FlagsOfARunningServerAreGoodAndItIsLeftAlone) {
  ASSERT_TRUE(start({"-b", folder_.path()}));
  const Client client = connect();
  ASSERT_EQ(client->put("one"), "INSERTED 1\r\n");
  for (int i = 0; i < 3; ++i) {
    expect_good({"-l", "127.0.0.1", "-p", std::to_string(server_.port()), "-b", folder_.path()});
  }
  EXPECT_EQ(client->put("two"), "INSERTED 2\r\n");
  EXPECT_EQ(connect()->ask("peek 2"), "FOUND 2 3\r\ntwo\r\n");
  EXPECT_EQ(server_.stop(), kGood);
}

TEST_F(Check, NothingIsWrittenAndNoSocketIsMade) {
  expect_good({"-l", "unix:" + folder_.file("socket"), "-b", folder_.path(), "--take-over-socket",
               folder_.file("next")});
  EXPECT_TRUE(names_in(folder_.path()).empty());
}

TEST_F(Check, StatusIsThatOfTheStart) {
  const std::string file = folder_.file("file");
  std::ofstream(file) << "not a folder";
  expect_refused({"--nonsense"}, 5, "unknown flag: --nonsense");
  expect_refused({"-p", "0", "-b", folder_.file("nowhere")}, 10, "No such file or directory");
  expect_refused({"-p", "0", "-b", file}, 10, "Not a directory");
  expect_refused({"-p", "0", "-l", "203.0.113.1"}, 111, "cannot listen on 203.0.113.1:0");
  expect_refused({"-p", "0", "--listen-also", "203.0.113.1"}, 111, "cannot listen on 203.0.113.1");
  expect_refused({"-l", "unix:" + file}, 111, "exists and is not a socket");
  expect_refused({"-l", "unix:" + folder_.file("no/socket")}, 111, "cannot listen on");
  expect_refused({"-p", "0", "-u", "nobody-has-this-name"}, 33, "there is no user");
}

TEST_F(Check, FolderOfAnUnknownVersionIsRefused) {
  std::ofstream(folder_.file("binlog.1")) << std::string("\x08\0\0\0", 4) + std::string(100, 'x');
  expect_refused({"-p", "0", "-b", folder_.path()}, 10, "is of a version that is not known here");
}

TEST_F(Check, FolderThatTheUserCannotWriteIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  expect_refused({"-p", "0", "-b", folder_.path(), "-u", "nobody"}, 10, "Permission denied");
}

}  // namespace
}  // namespace haricot::test
