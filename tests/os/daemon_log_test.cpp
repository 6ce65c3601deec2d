// The log on stderr: what is in it, and that it never keeps anybody waiting.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "daemon_fixture.hpp"

namespace haricot::test {
namespace {

using namespace std::string_literals;

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
  client->send("put 0 0 60 99999999\r\n");
  client->reset();
  ASSERT_TRUE(eventually([this] { return server_stat("current-connections") == 1; }));
  EXPECT_EQ(server_.standard_error(), before);
}

TEST_F(DaemonLog, OnceVerboseItTellsOfConnections) {
  ASSERT_TRUE(start({"-V"})) << server_.failure();
  Client client = connect();
  client->ask("list-tube-used");
  EXPECT_TRUE(eventually([this] { return has_logged(" opened\n"); }));
  client->close();
  EXPECT_TRUE(eventually([this] { return has_logged(" closed\n"); }));
  EXPECT_FALSE(has_logged("list-tube-used"));
}

TEST_F(DaemonLog, TwiceVerboseItTellsOfCommandsInPrintableBytes) {
  ASSERT_TRUE(start({"-VV"})) << server_.failure();
  const Client client = connect();
  client->ask("use a-tube");
  client->ask("bell\a escape\x1b[31m nul\0 line\nfeed \xff\x80"s);
  ASSERT_EQ(client->put("secret body"), "INSERTED 1\r\n");
  ASSERT_TRUE(eventually([this] { return has_logged("> put 0 0 60 11\n"); }));
  EXPECT_TRUE(has_logged("> use a-tube\n"));
  EXPECT_TRUE(has_logged("bell\\x07 escape\\x1b[31m nul\\x00 line\\x0afeed \\xff\\x80"));
  EXPECT_FALSE(has_logged("secret"));
  for (const char c : server_.standard_error()) {
    EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << static_cast<int>(c);
  }
}

TEST_F(DaemonLog, AFullPipeThatNobodyReadsDoesNotHoldUpTheServer) {
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

  // Once it is read again, it says what was lost.
  ASSERT_EQ(::fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
  std::string said;
  const auto told = [&] {
    client->ask("list-tube-used");
    char chunk[65536];
    const ssize_t n = ::read(ends[0], chunk, sizeof chunk);
    if (n > 0) said.append(chunk, static_cast<std::size_t>(n));
    return said.find("lines dropped") != std::string::npos;
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
