// Ends of haricotd if it does not serve: exit statuses and output on both streams.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "support/daemon_fixture.hpp"

namespace haricot::test {
namespace {

constexpr ExitStatus kUsage{.code = 5};
constexpr ExitStatus kNoUser{.code = 33};
constexpr ExitStatus kCannotListen{.code = 111};

class DaemonStart : public DaemonTest {
 protected:
  // Starts a second server, which must fail to listen. Returns its output.
  std::string error_when_listening(std::vector<std::string> arguments) {
    const Ending ending = run_to_end(std::move(arguments));
    EXPECT_EQ(ending.status.code, kCannotListen.code) << ending.error;
    EXPECT_EQ(ending.output, "");
    EXPECT_NE(ending.error.find("level=error event=cannot-start status=111 "), std::string::npos)
        << ending.error;
    return ending.error;
  }
};

TEST_F(DaemonStart, AMistakeOnTheCommandLineIsTheLastLine) {
  const std::vector<std::vector<std::string>> mistakes = {{"-q"},          {"--nonsense"},
                                                          {"word"},        {""},
                                                          {"-p"},          {"-p", "65536"},
                                                          {"-p", "-1"},    {"-p", "86446"},
                                                          {"-z", "many"},  {"--listen-also="},
                                                          {"-l", ""},      {"-u", ""},
                                                          {"--verbose=1"}, {"-Vx"},
                                                          {"--port="},     {"--compat", "2"},
                                                          {"-s", "-5"},    {"-f", "x"}};
  for (const auto& words : mistakes) {
    SCOPED_TRACE(words[0]);
    const Ending ending = run_to_end(words);
    EXPECT_EQ(ending.status, kUsage);
    EXPECT_EQ(ending.output, "");
    const std::string hint = "Try haricotd --help.\n";
    ASSERT_TRUE(ending.error.starts_with(hint + "haricotd: ")) << ending.error;
    EXPECT_EQ(std::count(ending.error.begin(), ending.error.end(), '\n'), 2) << ending.error;
    EXPECT_TRUE(ending.error.ends_with('\n')) << ending.error;
  }
}

TEST_F(DaemonStart, TheVersionIsOneLineThatOldScriptsCanRead) {
  for (const char* flag : {"-v", "--version", "-Vv"}) {
    const Ending ending = run_to_end({flag, "whatever stands behind it"});
    EXPECT_EQ(ending.status, kGood);
    EXPECT_EQ(ending.error, "");
    const std::string start = "beanstalkd 1.13 (haricot ";
    ASSERT_TRUE(ending.output.starts_with(start) && ending.output.ends_with(")\n"))
        << ending.output;
    const std::string version =
        ending.output.substr(start.size(), ending.output.size() - start.size() - 2);
    EXPECT_EQ(version.find_first_not_of("0123456789."), std::string::npos) << version;
    EXPECT_EQ(std::count(version.begin(), version.end(), '.'), 2) << version;
  }
}

// A package compares the old program with the new one.
TEST_F(DaemonStart, TheVersionsOfAStateGoToTheOutput) {
  const Ending ending = run_to_end({"--reads-state", "-b", "/nowhere"});
  EXPECT_EQ(ending.status, kGood);
  EXPECT_EQ(ending.error, "");
  EXPECT_EQ(ending.output, "1\n");
}

TEST_F(DaemonStart, HelpGoesToTheOutput) {
  for (const char* flag : {"-h", "--help"}) {
    const Ending ending = run_to_end({flag});
    EXPECT_EQ(ending.status, kGood);
    EXPECT_EQ(ending.error, "");
    EXPECT_TRUE(ending.output.starts_with("Use: haricotd ")) << ending.output;
  }
}

TEST_F(DaemonStart, AnUnknownUserHasAStatusOfItsOwn) {
  const Ending ending = run_to_end({"-l", "127.0.0.1", "-p", "0", "-u", "no-such-user-here"});
  EXPECT_EQ(ending.status, kNoUser);
  EXPECT_NE(ending.error.find("no-such-user-here"), std::string::npos) << ending.error;
}

TEST_F(DaemonStart, APortThatIsTakenIsNamed) {
  ASSERT_TRUE(start()) << server_.failure();
  const std::string port = std::to_string(server_.port());
  ServerProcess second;
  ASSERT_TRUE(second.launch(options_with({"-l", "127.0.0.1", "-p", port})));
  EXPECT_EQ(second.wait_exit(), kCannotListen);
  EXPECT_NE(second.standard_error().find(port), std::string::npos) << second.standard_error();
  EXPECT_EQ(connect()->ask("list-tube-used"), "USING default\r\n");
}

TEST_F(DaemonStart, AnAddressThatIsNotOursCannotBeListenedOn) {
  error_when_listening({"-l", "203.0.113.7", "-p", "0"});
  error_when_listening({"-l", "not an address", "-p", "0"});
  error_when_listening({"-l", "127.0.0.1", "-p", "no-such-service"});
  error_when_listening({"-l", "unix:", "-p", "0"});
  error_when_listening({"-l", "unix:" + folder_.file("no-such-folder/socket")});
  error_when_listening({"-l", "unix:/tmp/" + std::string(200, 'x')});
}

TEST_F(DaemonStart, AFileInTheSocketsPlaceStaysAsItIs) {
  const std::string path = folder_.file("precious");
  ASSERT_TRUE(write_file(path, "do not touch"));
  EXPECT_NE(error_when_listening({"-l", "unix:" + path}).find(path), std::string::npos);
  EXPECT_EQ(read_file(path), "do not touch");
}

TEST_F(DaemonStart, ASocketOnWhichAServerAnswersStaysThatServers) {
  const std::string address = "unix:" + folder_.file("socket");
  ServerOptions options;
  options.listen_address = address;
  ASSERT_TRUE(start_with(options)) << server_.failure();
  ServerProcess second;
  ASSERT_TRUE(second.launch(options_with({"-l", address})));
  EXPECT_EQ(second.wait_exit(), kCannotListen);
  EXPECT_EQ(connect()->ask("list-tube-used"), "USING default\r\n");
}

TEST_F(DaemonStart, FlagsWithoutEffectAreWarnedAbout) {
  ASSERT_TRUE(start({"-c", "-n", "-z", "99999999999"})) << server_.failure();
  const std::string said = said_at_start();
  EXPECT_NE(said.find("-c does nothing"), std::string::npos) << said;
  EXPECT_NE(said.find("-n does nothing"), std::string::npos) << said;
  EXPECT_NE(said.find("1073741824"), std::string::npos) << said;
  EXPECT_EQ(server_stat("max-job-size"), 1073741824U);
}

TEST_F(DaemonStart, LogsItsVersionAndItsAddress) {
  ASSERT_TRUE(start({"-z", "70000"})) << server_.failure();
  const std::string said = said_at_start();
  for (const std::string& part :
       {std::string(" level=info event=start version="), " pid=" + std::to_string(server_.pid()),
        std::string(" addresses=127.0.0.1:") + std::to_string(server_.port()),
        std::string(" compat=1.13 "), std::string(" max_job_size=70000 "),
        std::string(" max_open_files="), std::string(" binlog=none")}) {
    EXPECT_NE(said.find(part), std::string::npos) << part << " is not in " << said;
  }
  EXPECT_NE(said.find(" event=ready jobs=0\n"), std::string::npos) << said;
  EXPECT_EQ(server_.standard_output(), "");
}

// A supervisor that has closed its end of the pipe must still get the status.
TEST_F(DaemonStart, TheStatusIsTheSameIfTheErrorIsNotRead) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ::close(ends[0]);
  const std::vector<std::pair<std::vector<std::string>, ExitStatus>> cases = {
      {{"--nonsense"}, kUsage},
      {{"-l", "203.0.113.7"}, kCannotListen},
      {{"-l", "127.0.0.1", "-p", "0", "-u", "no-such-user-here"}, kNoUser}};
  for (const auto& [words, status] : cases) {
    ServerOptions options = options_with(words);
    options.error_descriptor = ends[1];
    ASSERT_TRUE(server_.launch(options)) << server_.failure();
    EXPECT_EQ(server_.wait_exit(), status) << words[0];
  }
  ::close(ends[1]);
}

}  // namespace
}  // namespace haricot::test
