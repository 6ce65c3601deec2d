// The log on stderr: its content, and that it never blocks the server.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/daemon_fixture.hpp"

namespace haricot::test {
namespace {

using namespace std::string_literals;

std::int64_t occurrences(const std::string& text, const std::string& wanted) {
  std::int64_t count = 0;
  for (std::size_t at = text.find(wanted); at != std::string::npos;
       at = text.find(wanted, at + 1)) {
    ++count;
  }
  return count;
}

class DaemonLog : public DaemonTest {
 protected:
  bool has_logged(const std::string& text) const {
    return server_.standard_error().find(text) != std::string::npos;
  }
};

TEST_F(DaemonLog, ClientsLeaveNoTraceInAQuietLog) {
  ASSERT_TRUE(start()) << server_.failure();
  const std::string before = said_at_start();
  const Client client = connect();
  client->ask("nonsense");
  client->ask(std::string(300, 'x'));
  client->send("put 0 0 60 60000\r\n");
  client->reset();
  ASSERT_TRUE(eventually([this] { return server_stat("current-connections") == 1; }));
  EXPECT_EQ(server_.standard_error(), before);
}

TEST_F(DaemonLog, OnceVerboseItLogsConnections) {
  ASSERT_TRUE(start({"-V"})) << server_.failure();
  Client client = connect();
  client->ask("list-tube-used");
  EXPECT_TRUE(eventually([this] { return has_logged(" event=opened connection="); }));
  client->close();
  EXPECT_TRUE(eventually([this] { return has_logged(" event=closed connection="); }));
  EXPECT_FALSE(has_logged("list-tube-used"));
}

TEST_F(DaemonLog, TwiceVerboseItLogsCommandsInPrintableBytes) {
  ASSERT_TRUE(start({"-VV"})) << server_.failure();
  const Client client = connect();
  client->ask("use a-tube");
  client->ask("bell\a escape\x1b[31m nul\0 line\nfeed \xff\x80"s);
  ASSERT_EQ(client->put("secret body"), "INSERTED 1\r\n");
  ASSERT_TRUE(eventually([this] { return has_logged(" line=\"put 0 0 60 11\"\n"); }));
  EXPECT_TRUE(has_logged(" line=\"use a-tube\"\n"));
  EXPECT_TRUE(has_logged(R"("bell\u0007 escape\u001b[31m nul\u0000 line\nfeed \\xff\\x80")"));
  EXPECT_FALSE(has_logged("secret"));
  for (const char c : server_.standard_error()) {
    EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << static_cast<int>(c);
  }
}

TEST_F(DaemonLog, TheBeginAndTheEndOfDrainModeAreLogged) {
  ASSERT_TRUE(start({"--allow-drain"})) << server_.failure();
  const Client client = connect();
  EXPECT_EQ(client->ask("undrain"), "NOT_DRAINING\r\n");
  EXPECT_EQ(client->ask("drain"), "DRAINING\r\n");
  ASSERT_TRUE(eventually([this] { return has_logged("level=info event=drain\n"); }));
  EXPECT_FALSE(has_logged("event=drain-ended"));
  EXPECT_EQ(client->ask("drain"), "DRAINING\r\n");
  EXPECT_EQ(client->ask("undrain"), "NOT_DRAINING\r\n");
  ASSERT_TRUE(eventually([this] { return has_logged("level=info event=drain-ended\n"); }));
  const std::string said = server_.standard_error();
  const std::string begin = "event=drain\n";
  EXPECT_EQ(said.find(begin, said.find(begin) + 1), std::string::npos) << said;
}

// Clients that may drain cannot fill the log, and its last line about draining is correct.
TEST_F(DaemonLog, FrequentChangesOfDrainModeAreLoggedOnceASecond) {
  ASSERT_TRUE(start({"--allow-drain"})) << server_.failure();
  const Client client = connect();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 500; ++i) {
    ASSERT_EQ(client->ask("drain"), "DRAINING\r\n");
    ASSERT_EQ(client->ask("undrain"), "NOT_DRAINING\r\n");
  }
  ASSERT_EQ(client->ask("drain"), "DRAINING\r\n");
  const std::string begun = "event=drain\n";
  const std::string ended = "event=drain-ended\n";
  std::string said;
  EXPECT_TRUE(eventually([&] {
    said = server_.standard_error();
    return said.ends_with(begun);
  })) << said;
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin)
          .count();
  EXPECT_LE(occurrences(said, begun) + occurrences(said, ended), seconds + 3) << said;
}

TEST_F(DaemonLog, JobsThatAreTooBigAreLoggedOnceWithTheFlag) {
  ASSERT_TRUE(start({"-z", "100"})) << server_.failure();
  const Client client = connect();
  client->ask("use \"nobody's");
  client->ask("use mail");
  ASSERT_EQ(client->put(std::string(101, 'x')), "JOB_TOO_BIG\r\n");
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(client->put(std::string(200, 'x')), "JOB_TOO_BIG\r\n");
  }
  client->ask("stats");
  const std::string said = server_.standard_error();
  const std::string words = "level=warning event=job-too-big ";
  const std::size_t at = said.find(words);
  ASSERT_NE(at, std::string::npos) << said;
  EXPECT_EQ(said.find(words, at + 1), std::string::npos) << said;
  EXPECT_EQ(said.substr(at + words.size()),
            "puts=1 bytes=101 limit=100 tube=mail hint=\"to accept jobs of this size, start with "
            "-z (--max-job-size)\"\n");
}

TEST_F(DaemonLog, JournaldGetsAPriorityInsteadOfATime) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  struct stat status {};
  ASSERT_EQ(::fstat(ends[1], &status), 0);
  ServerOptions options;
  options.error_descriptor = ends[1];
  options.environment = {"JOURNAL_STREAM=" + std::to_string(status.st_dev) + ":" +
                         std::to_string(status.st_ino)};
  ASSERT_TRUE(start_with(options)) << server_.failure();
  std::string said(4096, 0);
  const ssize_t n = ::read(ends[0], said.data(), said.size());
  said.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  EXPECT_TRUE(said.starts_with("<6>level=info event=start version=")) << said;
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(DaemonLog, AVariableOfJournaldForAnotherFileChangesNothing) {
  ServerOptions options;
  options.environment = {"JOURNAL_STREAM=1:2"};
  ASSERT_TRUE(start_with(options)) << server_.failure();
  EXPECT_TRUE(eventually([this] { return has_logged("event=ready"); }));
  EXPECT_TRUE(server_.standard_error().starts_with("time=20")) << server_.standard_error();
}

TEST_F(DaemonLog, AsJsonEachLineIsAnObject) {
  ASSERT_TRUE(start({"--log-format=json", "-VV"})) << server_.failure();
  const Client client = connect();
  client->ask("say \"\\\xff");
  ASSERT_TRUE(eventually([this] { return has_logged(R"("line":"say \"\\\\xff")"); }))
      << server_.standard_error();
  EXPECT_EQ(server_.stop(), (ExitStatus{.code = 0}));
  const std::string said = server_.standard_error();
  std::size_t begin = 0;
  for (std::size_t end = said.find('\n'); end != std::string::npos; end = said.find('\n', begin)) {
    const std::string line = said.substr(begin, end - begin);
    EXPECT_TRUE(line.starts_with(R"({"time":"20)") && line.ends_with("}")) << line;
    begin = end + 1;
  }
  EXPECT_EQ(begin, said.size());
}

TEST_F(DaemonLog, AFullPipeDoesNotBlockTheServer) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ServerOptions options;
  options.arguments = {"-VV"};
  options.error_descriptor = ends[1];
  ASSERT_TRUE(start_with(options)) << server_.failure();
  const Client client = connect();
  const std::string name(200, 'x');
  const std::string commands = repeated("use " + name + "\r\n", 1000);
  for (int i = 0; i < 10; ++i) {
    client->send(commands);
    for (int k = 0; k < 1000; ++k) ASSERT_EQ(client->read_answer(), "USING " + name + "\r\n");
  }
  EXPECT_EQ(connect()->ask("list-tube-used"), "USING default\r\n");

  // Once it is read again, it reports the lost lines.
  ASSERT_EQ(::fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
  std::string said;
  const auto told = [&] {
    client->ask("list-tube-used");
    char chunk[65536];
    const ssize_t n = ::read(ends[0], chunk, sizeof chunk);
    if (n > 0) said.append(chunk, static_cast<std::size_t>(n));
    return said.find("event=log-lines-dropped ") != std::string::npos;
  };
  EXPECT_TRUE(eventually(told));
  EXPECT_EQ(server_.stop(), (ExitStatus{.code = 0}));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(DaemonLog, AReaderThatIsGoneDoesNotEndTheServer) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ServerOptions options;
  options.arguments = {"-VV"};
  options.error_descriptor = ends[1];
  ASSERT_TRUE(start_with(options)) << server_.failure();
  ::close(ends[0]);
  ::close(ends[1]);
  const Client client = connect();
  for (int i = 0; i < 2000; ++i) ASSERT_EQ(client->ask("use here"), "USING here\r\n");
  EXPECT_EQ(server_.stop(), (ExitStatus{.code = 0}));
}

}  // namespace
}  // namespace haricot::test
