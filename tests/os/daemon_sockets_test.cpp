// Sockets of the daemon: unix sockets, IPv6, sockets inherited from a service manager.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "support/daemon_fixture.hpp"
#include "support/process_facts.hpp"

namespace haricot::test {
namespace {

class DaemonUnixSocket : public DaemonTest {
 protected:
  [[nodiscard]] bool start_on(const std::string& path) {
    ServerOptions options;
    options.listen_address = "unix:" + path;
    return start_with(options);
  }
  static bool exists(const std::string& path) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0;
  }

  const std::string path_ = folder_.file("socket");
};

TEST_F(DaemonUnixSocket, JobsGoOverIt) {
  ASSERT_TRUE(start_on(path_)) << server_.failure();
  const Client producer = connect();
  const Client worker = connect();
  worker->send_line("reserve");
  const std::string body = varied_bytes(60000, 1);
  ASSERT_EQ(producer->put(body), "INSERTED 1\r\n");
  EXPECT_EQ(worker->read_answer(), "RESERVED 1 60000\r\n" + body + "\r\n");
  EXPECT_EQ(worker->ask("delete 1"), "DELETED\r\n");
  worker->shutdown_write();
  EXPECT_TRUE(worker->at_eof());
}

TEST_F(DaemonUnixSocket, OnlyItsClientsDrainTheServer) {
  ASSERT_TRUE(start({"--listen-also", "unix:" + path_})) << server_.failure();
  const Client remote = connect();
  WireClient local;
  ASSERT_TRUE(local.connect_unix(path_)) << local.failure();
  EXPECT_EQ(remote->ask("drain"), "UNKNOWN_COMMAND\r\n");
  EXPECT_EQ(local.ask("drain"), "DRAINING\r\n");
  EXPECT_EQ(remote->put("x"), "DRAINING\r\n");
  EXPECT_EQ(remote->ask("undrain"), "UNKNOWN_COMMAND\r\n");
  EXPECT_EQ(local.ask("undrain"), "NOT_DRAINING\r\n");
  EXPECT_EQ(remote->put("x"), "INSERTED 2\r\n");
  // A command ends the mode that the signal has begun.
  ASSERT_TRUE(server_.signal(SIGUSR1));
  ASSERT_TRUE(eventually([&] { return remote->put("x") == "DRAINING\r\n"; }));
  EXPECT_EQ(local.ask("undrain"), "NOT_DRAINING\r\n");
  EXPECT_TRUE(remote->put("x").starts_with("INSERTED"));
}

TEST_F(DaemonUnixSocket, WithoutExtensionsNoClientDrains) {
  ASSERT_TRUE(start({"--no-extensions", "--listen-also", "unix:" + path_})) << server_.failure();
  WireClient local;
  ASSERT_TRUE(local.connect_unix(path_)) << local.failure();
  EXPECT_EQ(local.ask("drain"), "UNKNOWN_COMMAND\r\n");
  EXPECT_EQ(local.ask("capabilities"), "UNKNOWN_COMMAND\r\n");
  EXPECT_EQ(connect()->ask("undrain"), "UNKNOWN_COMMAND\r\n");
}

TEST_F(DaemonUnixSocket, ItIsRemovedAtTheEnd) {
  ASSERT_TRUE(start_on(path_)) << server_.failure();
  ASSERT_TRUE(exists(path_));
  EXPECT_EQ(server_.stop(), (ExitStatus{.code = 0}));
  EXPECT_FALSE(exists(path_));
}

TEST_F(DaemonUnixSocket, ASocketLeftByACrashIsReplaced) {
  ASSERT_TRUE(start_on(path_)) << server_.failure();
  server_.kill_hard();
  ASSERT_TRUE(exists(path_));
  ASSERT_TRUE(start_on(path_)) << server_.failure();
  EXPECT_EQ(connect()->ask("list-tube-used"), "USING default\r\n");
  EXPECT_EQ(server_.stop(), (ExitStatus{.code = 0}));
  EXPECT_FALSE(exists(path_));
}

TEST_F(DaemonUnixSocket, ASocketThatTookItsPlaceStays) {
  ASSERT_TRUE(start_on(path_)) << server_.failure();
  ASSERT_EQ(::rename(path_.c_str(), folder_.file("old").c_str()), 0);
  ServerProcess second;
  ServerOptions options = options_with({});
  options.listen_address = "unix:" + path_;
  ASSERT_TRUE(second.start(options)) << second.failure();
  EXPECT_EQ(server_.stop(), (ExitStatus{.code = 0}));
  WireClient client;
  ASSERT_TRUE(client.connect_unix(path_)) << client.failure();
  EXPECT_EQ(client.ask("list-tube-used"), "USING default\r\n");
}

TEST_F(DaemonUnixSocket, APeerThatGoesGivesItsJobsBack) {
  ASSERT_TRUE(start_on(path_)) << server_.failure();
  const Client worker = connect();
  Client holder = connect();
  ASSERT_EQ(holder->put("job"), "INSERTED 1\r\n");
  ASSERT_EQ(holder->ask("reserve"), "RESERVED 1 3\r\njob\r\n");
  worker->send_line("reserve");
  holder->close();
  EXPECT_EQ(worker->read_answer(), "RESERVED 1 3\r\njob\r\n");
}

class DaemonIPv6 : public DaemonTest {};

TEST_F(DaemonIPv6, JobsGoOverIt) {
  ServerOptions options;
  options.listen_address = "::1";
  ASSERT_TRUE(start_with(options)) << server_.failure();
  WireClient client;
  ASSERT_TRUE(client.connect_tcp(server_.port(), "::1")) << client.failure();
  EXPECT_EQ(client.put("job"), "INSERTED 1\r\n");
  EXPECT_EQ(client.ask("reserve"), "RESERVED 1 3\r\njob\r\n");
}

// Several addresses -----------------------------------------------------------------------------

class DaemonSeveralAddresses : public DaemonTest {
 protected:
  const std::string path_ = folder_.file("socket");
  const std::string more_ = folder_.file("more");
};

TEST_F(DaemonSeveralAddresses, AllOfThemAreServedAndTheirSocketsRemoved) {
  for (const char* flag : {"--sandbox", "--no-sandbox"}) {
    SCOPED_TRACE(flag);
    ASSERT_TRUE(start({flag, "--listen-also", "unix:" + path_, "--listen-also=unix:" + more_}))
        << server_.failure();
    WireClient over_path;
    WireClient over_more;
    const Client over_tcp = connect();
    ASSERT_TRUE(eventually([&] { return over_path.connect_unix(path_); })) << over_path.failure();
    ASSERT_TRUE(eventually([&] { return over_more.connect_unix(more_); })) << over_more.failure();
    EXPECT_EQ(over_path.put("job"), "INSERTED 1\r\n");
    EXPECT_EQ(over_more.put("job"), "INSERTED 2\r\n");
    EXPECT_EQ(over_tcp->ask("reserve"), "RESERVED 1 3\r\njob\r\n");
    EXPECT_EQ(server_.stop(), (ExitStatus{.code = 0}));
    const std::string said = server_.standard_error();
    EXPECT_NE(said.find(",unix:" + path_ + ",unix:" + more_ + " "), std::string::npos) << said;
    struct stat status {};
    EXPECT_NE(::lstat(path_.c_str(), &status), 0);
    EXPECT_NE(::lstat(more_.c_str(), &status), 0);
  }
}

TEST_F(DaemonSeveralAddresses, ThePortIsTheSameForAll) {
  ASSERT_TRUE(start({"--listen-also", "::1"})) << server_.failure();
  WireClient client;
  ASSERT_TRUE(eventually([&] { return client.connect_tcp(server_.port(), "::1"); }))
      << client.failure();
  EXPECT_EQ(client.put("job"), "INSERTED 1\r\n");
  EXPECT_EQ(connect()->ask("reserve"), "RESERVED 1 3\r\njob\r\n");
}

TEST_F(DaemonSeveralAddresses, OneThatCannotBeHadIsAReasonNotToStart) {
  const Ending ending =
      run_to_end({"-l", "unix:" + path_, "--listen-also", "203.0.113.7", "-p", "0"});
  EXPECT_EQ(ending.status.code, 111);
  EXPECT_NE(ending.error.find("203.0.113.7"), std::string::npos) << ending.error;
  struct stat status {};
  EXPECT_NE(::lstat(path_.c_str(), &status), 0) << "the socket is left over";
}

// As in beanstalkd: a second -l may be meant to close the first one, so that must not stay open.
TEST_F(DaemonSeveralAddresses, ASecondListenReplacesTheFirstAndIsWarnedAbout) {
  ServerOptions options = options_with({"-l", "unix:" + path_, "-l", "unix:" + more_});
  ASSERT_TRUE(server_.launch(options)) << server_.failure();
  WireClient client;
  ASSERT_TRUE(eventually([&] { return client.connect_unix(more_); })) << server_.standard_error();
  EXPECT_EQ(client.ask("list-tube-used"), "USING default\r\n");
  struct stat status {};
  EXPECT_NE(::lstat(path_.c_str(), &status), 0) << "the first address is open";
  const std::string said = server_.standard_error();
  EXPECT_NE(said.find("level=warning event=flag message=\"-l unix:" + path_ + " has no effect: "),
            std::string::npos)
      << said;
}

// PassedDescriptors sockets
// -----------------------------------------------------------------------------

class DaemonInheritedSockets : public DaemonTest {
 protected:
  ~DaemonInheritedSockets() override {
    for (const int socket : sockets_) ::close(socket);
  }

  std::uint16_t listen_tcp() {
    const int socket = keep(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket, generic, length), 0);
    EXPECT_EQ(::listen(socket, 10), 0);
    EXPECT_EQ(::getsockname(socket, generic, &length), 0);
    return ntohs(address.sin_port);
  }

  void listen_unix(const std::string& path) {
    const int socket = keep(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(socket, 10), 0);
  }

  int keep(int socket) {
    EXPECT_GE(socket, 0);
    sockets_.push_back(socket);
    return socket;
  }

  // Returns options that pass all sockets; `pid` is evaluated by a shell in the server's process.
  ServerOptions passing(const std::string& pid, std::vector<std::string> arguments = {}) const {
    ServerOptions options = options_with(std::move(arguments));
    options.launcher = {"/bin/sh", "-c",
                        "export LISTEN_PID=" + pid + " LISTEN_FDS=" +
                            std::to_string(sockets_.size()) + "; exec \"$0\" \"$@\""};
    options.descriptors = sockets_;
    return options;
  }

  std::vector<int> sockets_;
};

TEST_F(DaemonInheritedSockets, AllOfThemAreServed) {
  const std::uint16_t port = listen_tcp();
  const std::string path = folder_.file("socket");
  listen_unix(path);
  ASSERT_TRUE(server_.launch(passing("$$"))) << server_.failure();
  WireClient over_tcp;
  WireClient over_unix;
  ASSERT_TRUE(over_tcp.connect_tcp(port)) << over_tcp.failure();
  ASSERT_TRUE(over_unix.connect_unix(path)) << over_unix.failure();
  EXPECT_EQ(over_tcp.put("job"), "INSERTED 1\r\n") << server_.standard_error();
  EXPECT_EQ(over_unix.ask("reserve"), "RESERVED 1 3\r\njob\r\n");
  EXPECT_EQ(server_.stop(), (ExitStatus{.code = 0}));
  struct stat status {};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << "the service manager's socket was removed";
}

TEST_F(DaemonInheritedSockets, TheAddressOnTheCommandLineIsIgnoredWithAWarning) {
  const std::uint16_t port = listen_tcp();
  const std::string path = folder_.file("socket");
  ASSERT_TRUE(server_.launch(passing("$$", {"-l", "unix:" + path, "-p", "1"})));
  WireClient client;
  ASSERT_TRUE(client.connect_tcp(port)) << client.failure();
  EXPECT_EQ(client.ask("list-tube-used"), "USING default\r\n") << server_.standard_error();
  const std::string said = server_.standard_error();
  EXPECT_NE(said.find("-l, -p and --listen-also are ignored"), std::string::npos) << said;
  EXPECT_FALSE(client.connect_unix(path));
}

TEST_F(DaemonInheritedSockets, SocketsMeantForAnotherProcessAreLeftAlone) {
  listen_tcp();
  const std::string path = folder_.file("socket");
  ASSERT_TRUE(server_.launch(passing("1", {"-l", "unix:" + path})));
  WireClient client;
  ASSERT_TRUE(eventually([&] { return client.connect_unix(path); })) << server_.standard_error();
  EXPECT_EQ(client.ask("list-tube-used"), "USING default\r\n");
  EXPECT_EQ(server_.standard_error().find("ignored"), std::string::npos);
}

TEST_F(DaemonInheritedSockets, ADescriptorThatDoesNotListenIsRefused) {
  listen_tcp();
  keep(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_TRUE(server_.launch(passing("$$"))) << server_.failure();
  EXPECT_EQ(server_.wait_exit(), (ExitStatus{.code = 111}));
  const std::string said = server_.standard_error();
  EXPECT_NE(said.find("descriptor 4"), std::string::npos) << said;
}

TEST_F(DaemonInheritedSockets, DescriptorsThatAreMissingAreRefused) {
  ServerOptions options = options_with({});
  options.launcher = {"/bin/sh", "-c",
                      "export LISTEN_PID=$$ LISTEN_FDS=1; exec \"$0\" \"$@\" 3<&-"};
  ASSERT_TRUE(server_.launch(options)) << server_.failure();
  EXPECT_EQ(server_.wait_exit(), (ExitStatus{.code = 111}));
}

}  // namespace
}  // namespace haricot::test
