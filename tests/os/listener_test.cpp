#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "os/child_result.hpp"
#include "os/listener.hpp"
#include "os/service_manager.hpp"
#include "support/temporary_folder.hpp"
#include "support/wire_client.hpp"

namespace haricot::os {
namespace {

using test::TemporaryFolder;
using test::WireClient;

using Listeners = std::vector<Listener>;

Listeners open_or_fail(const std::string& listen, const std::string& port = "0") {
  std::string error;
  Listeners listeners = Listener::open(listen, port, error);
  EXPECT_EQ(listeners.size(), 1U) << error;
  EXPECT_EQ(error, "");
  return listeners;
}

std::string error_of(const std::string& listen, const std::string& port = "0") {
  std::string error;
  EXPECT_TRUE(Listener::open(listen, port, error).empty());
  EXPECT_NE(error, "");
  return error;
}

std::uint16_t port_of(const Listener& listener) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  EXPECT_EQ(::getsockname(listener.descriptor(), reinterpret_cast<sockaddr*>(&address), &length),
            0);
  // The port is at the same place in both.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

Descriptor accept_from(const Listener& listener) {
  pollfd entry{.fd = listener.descriptor(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&entry, 1, 10000), 1);
  return Descriptor(::accept4(listener.descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
}

int flag_of(const Descriptor& socket, int level, int option) {
  int value = -1;
  socklen_t length = sizeof value;
  EXPECT_EQ(::getsockopt(socket.get(), level, option, &value, &length), 0);
  return value;
}

ino_t inode_of(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

bool exists(const std::string& path) {
  return inode_of(path) != 0;
}

// Binds a unix socket that listens, or is only left over.
Descriptor bind_unix(const std::string& path, bool listens, int type = SOCK_STREAM,
                     int backlog = 5) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  Descriptor socket(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  if (listens) {
    EXPECT_EQ(::listen(socket.get(), backlog), 0);
  }
  return socket;
}

// Internet --------------------------------------------------------------------------------------

TEST(Listener, PortZeroIsAnyFreePortWhichTheNameContains) {
  const Listeners listeners = open_or_fail("127.0.0.1");
  const std::uint16_t port = port_of(listeners[0]);
  EXPECT_NE(port, 0);
  EXPECT_EQ(listeners[0].name(), "127.0.0.1:" + std::to_string(port));
  WireClient client;
  EXPECT_TRUE(client.connect_tcp(port)) << client.failure();
}

TEST(Listener, AnIPv6AddressIsListenedOn) {
  const Listeners listeners = open_or_fail("::1");
  EXPECT_EQ(listeners[0].name(), "[::1]:" + std::to_string(port_of(listeners[0])));
  WireClient client;
  EXPECT_TRUE(client.connect_tcp(port_of(listeners[0]), "::1")) << client.failure();
}

TEST(Listener, APortThatIsTakenIsAnError) {
  const Listeners first = open_or_fail("127.0.0.1");
  const std::string error = error_of("127.0.0.1", std::to_string(port_of(first[0])));
  EXPECT_NE(error.find(first[0].name()), std::string::npos) << error;
}

TEST(Listener, AnAddressOfAnotherMachineIsAnError) {
  EXPECT_NE(error_of("203.0.113.7").find("203.0.113.7"), std::string::npos);
}

TEST(Listener, AnUnknownServiceIsAnError) {
  EXPECT_NE(error_of("127.0.0.1", "no-such-service").find("no-such-service"), std::string::npos);
}

TEST(Listener, AcceptedSocketsSendAtOnceAndNoticeADeadPeer) {
  for (const char* address : {"127.0.0.1", "::1"}) {
    const Listeners listeners = open_or_fail(address);
    WireClient client;
    ASSERT_TRUE(client.connect_tcp(port_of(listeners[0]), address)) << client.failure();
    const Descriptor accepted = accept_from(listeners[0]);
    ASSERT_TRUE(accepted);
    EXPECT_EQ(flag_of(accepted, IPPROTO_TCP, TCP_NODELAY), 1) << address;
    EXPECT_EQ(flag_of(accepted, SOL_SOCKET, SO_KEEPALIVE), 1) << address;
  }
}

TEST(Listener, ItNeitherBlocksNorGoesToOtherPrograms) {
  const TemporaryFolder folder;
  for (const std::string& address : {std::string("127.0.0.1"), "unix:" + folder.file("s")}) {
    const Listeners listeners = open_or_fail(address);
    const int number = listeners[0].descriptor();
    EXPECT_NE(::fcntl(number, F_GETFL) & O_NONBLOCK, 0);
    EXPECT_NE(::fcntl(number, F_GETFD) & FD_CLOEXEC, 0);
  }
}

// Unix sockets ----------------------------------------------------------------------------------

TEST(Listener, AUnixSocketIsThereAsLongAsItsListener) {
  const TemporaryFolder folder;
  const std::string path = folder.file("socket");
  {
    const Listeners listeners = open_or_fail("unix:" + path);
    EXPECT_EQ(listeners[0].name(), "unix:" + path);
    WireClient client;
    EXPECT_TRUE(client.connect_unix(path)) << client.failure();
    EXPECT_TRUE(accept_from(listeners[0]));
  }
  EXPECT_FALSE(exists(path));
}

TEST(Listener, MovingAListenerLeavesItsSocketWhereItIs) {
  const TemporaryFolder folder;
  const std::string path = folder.file("s");  // Short: a string without memory of its own.
  Listeners listeners = open_or_fail("unix:" + path);
  Listener moved = std::move(listeners[0]);
  listeners.clear();
  EXPECT_TRUE(exists(path));
  WireClient client;
  EXPECT_TRUE(client.connect_unix(path)) << client.failure();
}

TEST(Listener, AStaleSocketIsReplaced) {
  const TemporaryFolder folder;
  const std::string path = folder.file("socket");
  bind_unix(path, true).reset();
  ASSERT_TRUE(exists(path));
  const Listeners listeners = open_or_fail("unix:" + path);
  WireClient client;
  EXPECT_TRUE(client.connect_unix(path)) << client.failure();
}

TEST(Listener, ASocketThatIsAnsweredIsLeftAlone) {
  const TemporaryFolder folder;
  const std::string path = folder.file("socket");
  const Descriptor other = bind_unix(path, true);
  const ino_t inode = inode_of(path);
  EXPECT_NE(error_of("unix:" + path).find(path), std::string::npos);
  EXPECT_EQ(inode_of(path), inode);
  WireClient client;
  EXPECT_TRUE(client.connect_unix(path)) << client.failure();
}

TEST(Listener, ASocketWhoseServerIsTooBusyToAcceptIsLeftAlone) {
  const TemporaryFolder folder;
  const std::string path = folder.file("socket");
  const Descriptor other = bind_unix(path, true, SOCK_STREAM, 0);
  WireClient first;  // Fills the queue of length 0.
  ASSERT_TRUE(first.connect_unix(path)) << first.failure();
  const ino_t inode = inode_of(path);
  error_of("unix:" + path);
  EXPECT_EQ(inode_of(path), inode);
}

TEST(Listener, ASocketOfAnotherTypeIsLeftAlone) {
  const TemporaryFolder folder;
  const std::string path = folder.file("socket");
  const Descriptor other = bind_unix(path, false, SOCK_DGRAM);
  const ino_t inode = inode_of(path);
  error_of("unix:" + path);
  EXPECT_EQ(inode_of(path), inode);
}

TEST(Listener, OtherFilesAtThePathAreLeftAlone) {
  const TemporaryFolder folder;
  const std::string file = folder.file("file");
  ASSERT_TRUE(test::write_file(file, "precious"));
  EXPECT_NE(error_of("unix:" + file).find(file), std::string::npos);
  EXPECT_EQ(test::read_file(file), "precious");

  error_of("unix:" + folder.path());
  EXPECT_TRUE(exists(folder.path()));

  const std::string link = folder.file("link");
  bind_unix(folder.file("stale"), true).reset();
  ASSERT_EQ(::symlink(folder.file("stale").c_str(), link.c_str()), 0);
  error_of("unix:" + link);
  EXPECT_TRUE(exists(link));
  EXPECT_TRUE(exists(folder.file("stale")));

  const std::string fifo = folder.file("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  error_of("unix:" + fifo);
  EXPECT_TRUE(exists(fifo));
}

TEST(Listener, AFileThatHasTakenThePlaceOfItsSocketIsNotRemoved) {
  const TemporaryFolder folder;
  const std::string path = folder.file("socket");
  {
    const Listeners listeners = open_or_fail("unix:" + path);
    // Kept under another name, so that its inode is not reused for the new file.
    ASSERT_EQ(::rename(path.c_str(), folder.file("moved").c_str()), 0);
    ASSERT_TRUE(test::write_file(path, "new"));
  }
  EXPECT_EQ(test::read_file(path), "new");
}

TEST(Listener, APathThatCannotBeASocketsIsAnError) {
  const TemporaryFolder folder;
  error_of("unix:");
  error_of("unix:" + folder.file("no-such-folder/socket"));
  EXPECT_NE(error_of("unix:/tmp/" + std::string(103, 'x')).find("107"), std::string::npos);
}

TEST(Listener, ThePathOfASocketMayHaveItsFullLength) {
  const TemporaryFolder folder;
  std::string path = folder.file("");
  path.append(107 - path.size(), 'x');
  {
    const Listeners listeners = open_or_fail("unix:" + path);
    EXPECT_TRUE(exists(path));
  }
  EXPECT_FALSE(exists(path));
}

// Inherited -------------------------------------------------------------------------------------

struct Passed {
  std::optional<std::string> pid = {};  // None: that of the process itself.
  std::string count = "1";
  std::optional<std::string> names = {};           // Value of LISTEN_FDNAMES.
  std::optional<std::string> expected_names = {};  // Each in angle brackets.
};

// Returns the result as a child's exit status: the number of listeners, or kError, plus kKept if
// the variables are still in the environment. Descriptors 3, 4, … are `sockets`.
constexpr int kError = 50;
constexpr int kKept = 100;

int inherit_in_child(const Passed& given, const std::vector<int>& sockets) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::vector<int> moved;
    for (const int socket : sockets) moved.push_back(::fcntl(socket, F_DUPFD, 100));
    for (int number = 3; number < 10; ++number) ::close(number);
    for (std::size_t i = 0; i < moved.size(); ++i) ::dup2(moved[i], 3 + static_cast<int>(i));
    ::setenv("LISTEN_PID", given.pid.value_or(std::to_string(::getpid())).c_str(), 1);
    ::setenv("LISTEN_FDS", given.count.c_str(), 1);
    if (given.names) ::setenv("LISTEN_FDNAMES", given.names->c_str(), 1);
    std::string error;
    const Listeners listeners = Listener::from_passed(take_passed_descriptors().sockets, error);
    int result = error.empty() ? static_cast<int>(listeners.size()) : kError;
    if (!error.empty() && !listeners.empty()) result = 99;
    if (::getenv("LISTEN_FDS") != nullptr) result += kKept;
    std::string names;
    for (const Listener& listener : listeners) names += "<" + listener.given_name() + ">";
    if (given.expected_names && names != *given.expected_names) result = 95;
    for (const Listener& listener : listeners) {
      if ((::fcntl(listener.descriptor(), F_GETFL) & O_NONBLOCK) == 0) result = 98;
      if ((::fcntl(listener.descriptor(), F_GETFD) & FD_CLOEXEC) == 0) result = 97;
      if (!listener.name().ends_with(" (inherited)")) result = 96;
    }
    ::_exit(result);
  }
  int raw = 0;
  EXPECT_EQ(::waitpid(child, &raw, 0), child);
  return WIFEXITED(raw) ? WEXITSTATUS(raw) : -1;
}

Descriptor plain_socket(int type, bool listens) {
  Descriptor socket(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  if (listens) {
    EXPECT_EQ(::listen(socket.get(), 5), 0);
  }
  return socket;
}

TEST(Listener, InheritedSocketsAreTakenOver) {
  const TemporaryFolder folder;
  const std::string path = folder.file("socket");
  const Descriptor tcp = plain_socket(SOCK_STREAM, true);
  const Descriptor local = bind_unix(path, true);
  EXPECT_EQ(inherit_in_child({}, {tcp.get()}), 1);
  EXPECT_EQ(inherit_in_child({.count = "2"}, {tcp.get(), local.get()}), 2);
  EXPECT_TRUE(exists(path)) << "the file of an inherited socket is not ours to remove";
}

TEST(Listener, InheritedSocketsKeepTheirNames) {
  const Descriptor one = plain_socket(SOCK_STREAM, true);
  const Descriptor two = plain_socket(SOCK_STREAM, true);
  const auto names_of_two = [&](const char* names, const char* expected) {
    return inherit_in_child({.count = "2", .names = names, .expected_names = expected},
                            {one.get(), two.get()});
  };
  EXPECT_EQ(names_of_two("jobs.socket:control", "<jobs.socket><control>"), 2);
  EXPECT_EQ(names_of_two(":control", "<><control>"), 2);
  EXPECT_EQ(names_of_two("jobs", "<jobs><>"), 2);
  EXPECT_EQ(names_of_two("a:b:c", "<a><b>"), 2);
  EXPECT_EQ(names_of_two("", "<><>"), 2);
  EXPECT_EQ(inherit_in_child({.count = "2", .expected_names = "<><>"}, {one.get(), two.get()}), 2);
}

TEST(Listener, SocketsForAnotherProcessAreNotTaken) {
  const Descriptor tcp = plain_socket(SOCK_STREAM, true);
  EXPECT_EQ(inherit_in_child({.pid = "1"}, {tcp.get()}), 0 + kKept);
  EXPECT_EQ(inherit_in_child({.pid = ""}, {tcp.get()}), 0 + kKept);
  EXPECT_EQ(inherit_in_child({.pid = "x"}, {tcp.get()}), 0 + kKept);
  EXPECT_EQ(inherit_in_child({.pid = "99999999999999999999"}, {tcp.get()}), 0 + kKept);
}

TEST(Listener, NoInheritedSocketsAreNoError) {
  EXPECT_EQ(inherit_in_child({.count = "0"}, {}), 0 + kKept);
  EXPECT_EQ(inherit_in_child({.count = "-1"}, {}), 0 + kKept);
  EXPECT_EQ(inherit_in_child({.count = ""}, {}), 0 + kKept);
}

TEST(Listener, ANumberWithSomethingBehindItIsNone) {
  const Descriptor tcp = plain_socket(SOCK_STREAM, true);
  EXPECT_EQ(inherit_in_child({.count = "1x"}, {tcp.get()}), 0 + kKept);
  EXPECT_EQ(inherit_in_child({.count = "1 "}, {tcp.get()}), 0 + kKept);
  EXPECT_EQ(inherit_in_child({.count = " 1"}, {tcp.get()}), 0 + kKept);
  EXPECT_EQ(inherit_in_child({.pid = "1x"}, {tcp.get()}), 0 + kKept);
}

TEST(Listener, ARemovalFolderIsThatOfAUnixSocketAlone) {
  const TemporaryFolder folder;
  std::string error;
  const std::vector<Listener> local = Listener::open("unix:" + folder.file("socket"), "", error);
  ASSERT_EQ(local.size(), 1U) << error;
  EXPECT_EQ(local[0].removal_folder(), folder.path());
  const std::vector<Listener> tcp = Listener::open("127.0.0.1", "0", error);
  ASSERT_EQ(tcp.size(), 1U) << error;
  EXPECT_EQ(tcp[0].removal_folder(), "");
}

TEST(Listener, AnInheritedDescriptorThatDoesNotListenIsAnError) {
  const Descriptor silent = plain_socket(SOCK_STREAM, false);
  const Descriptor datagram = plain_socket(SOCK_DGRAM, false);
  const Descriptor file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Descriptor tcp = plain_socket(SOCK_STREAM, true);
  EXPECT_EQ(inherit_in_child({}, {silent.get()}), kError);
  EXPECT_EQ(inherit_in_child({}, {datagram.get()}), kError);
  EXPECT_EQ(inherit_in_child({}, {file.get()}), kError);
  EXPECT_EQ(inherit_in_child({}, {}), kError);
  EXPECT_EQ(inherit_in_child({.count = "2"}, {tcp.get(), file.get()}), kError);
}

TEST(Listener, AnInheritedSocketForPacketsIsAnError) {
  const TemporaryFolder folder;
  const Descriptor packets = bind_unix(folder.file("socket"), true, SOCK_SEQPACKET);
  EXPECT_EQ(inherit_in_child({}, {packets.get()}), kError);
}

TEST(Listener, MoreInheritedSocketsThanThereCanBeAreAnError) {
  const Descriptor tcp = plain_socket(SOCK_STREAM, true);
  EXPECT_EQ(inherit_in_child({.count = "2147483647"}, {tcp.get()}), kError);
}

// Host names with several addresses. Each test has a list of hosts of its own.

using test::WireClient;

constexpr int kSkip = 77;

// The installers of Debian 12 and 13 write these lines.
constexpr const char* kDebianHosts =
    "127.0.0.1\tlocalhost\n127.0.1.1\tmachine\n::1\t\tlocalhost ip6-localhost ip6-loopback\n";

// Calls the function in a process whose /etc/hosts has this text.
void with_hosts(const std::string& hosts, const std::function<void()>& function) {
  const test::TemporaryFolder folder;
  ASSERT_TRUE(test::write_file(folder.file("hosts"), hosts));
  const int result = result_in_child([&folder, &function] {
    const std::string path = folder.file("hosts");
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount(path.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) != 0) {
      return kSkip;
    }
    function();
    return 0;
  });
  if (result == kSkip) GTEST_SKIP() << "this needs privileges that are not there";
  EXPECT_EQ(result, 0);
}

std::vector<std::string> hosts_of(const std::vector<Listener>& listeners) {
  std::vector<std::string> result;
  for (const Listener& listener : listeners) {
    result.push_back(listener.name().substr(0, listener.name().rfind(':')));
  }
  return result;
}

std::string port_in(const Listener& listener) {
  return listener.name().substr(listener.name().rfind(':') + 1);
}

TEST(ListenerName, ListensOnAllAddressesOfLocalhostAsDebianInstallsIt) {
  with_hosts(kDebianHosts, [] {
    std::string error;
    const std::vector<Listener> listeners = Listener::open("localhost", "0", error);
    ASSERT_EQ(hosts_of(listeners), (std::vector<std::string>{"[::1]", "127.0.0.1"})) << error;
    EXPECT_EQ(port_in(listeners[0]), port_in(listeners[1]));
    for (const char* address : {"127.0.0.1", "::1"}) {
      WireClient client;
      EXPECT_TRUE(
          client.connect_tcp(static_cast<std::uint16_t>(std::stoi(port_in(listeners[0]))), address))
          << client.failure();
    }
  });
}

TEST(ListenerName, ListensOnAnAddressThatIsListedTwiceOnce) {
  with_hosts("127.0.0.1 twice\n127.0.0.1 twice\n::1 twice\n::1 twice\n", [] {
    std::string error;
    const std::vector<Listener> listeners = Listener::open("twice", "0", error);
    EXPECT_EQ(hosts_of(listeners), (std::vector<std::string>{"[::1]", "127.0.0.1"})) << error;
  });
}

TEST(ListenerName, SkipsAddressesOfOtherMachines) {
  with_hosts("203.0.113.7 shared\n127.0.0.1 shared\n2001:db8::7 shared\n203.0.113.7 away\n", [] {
    std::string error;
    const std::vector<Listener> listeners = Listener::open("shared", "0", error);
    EXPECT_EQ(hosts_of(listeners), std::vector<std::string>{"127.0.0.1"});
    EXPECT_EQ(error, "");
    EXPECT_TRUE(Listener::open("away", "0", error).empty());
    EXPECT_NE(error.find("203.0.113.7"), std::string::npos) << error;
  });
}

TEST(ListenerName, FailsIfOneOfItsAddressesIsTaken) {
  with_hosts(kDebianHosts, [] {
    for (const char* address : {"127.0.0.1", "::1"}) {
      std::string error;
      const std::vector<Listener> first = Listener::open(address, "0", error);
      ASSERT_EQ(first.size(), 1U) << error;
      EXPECT_TRUE(Listener::open("localhost", port_in(first[0]), error).empty()) << address;
      EXPECT_NE(error.find(first[0].name() + ": Address already in use"), std::string::npos)
          << error;
    }
  });
}

// Gives the process a network of its own: the loopback, with 16 ports to choose from.
bool enter_small_network() {
  if (::unshare(CLONE_NEWNET) != 0) return false;
  const Descriptor any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::string_view("lo").copy(request.ifr_name, sizeof request.ifr_name - 1);
  request.ifr_flags = IFF_UP;
  return ::ioctl(any.get(), SIOCSIFFLAGS, &request) == 0 &&
         test::write_file("/proc/sys/net/ipv4/ip_local_port_range", "20000 20015");
}

TEST(ListenerName, ChoosesAgainIfAFreePortIsTakenOnItsOtherAddress) {
  with_hosts(kDebianHosts, [] {
    if (!enter_small_network()) return;
    // Leaves one port in each part of the range that the kernel may prefer: halves, odd and even.
    std::vector<Listener> others;
    for (int port = 20000; port <= 20015; ++port) {
      if (port == 20004 || port == 20005 || port == 20012 || port == 20013) continue;
      std::string error;
      std::vector<Listener> other = Listener::open("127.0.0.1", std::to_string(port), error);
      ASSERT_EQ(other.size(), 1U) << error;
      others.push_back(std::move(other[0]));
    }
    std::string error;
    const std::vector<Listener> listeners = Listener::open("localhost", "0", error);
    ASSERT_EQ(hosts_of(listeners), (std::vector<std::string>{"[::1]", "127.0.0.1"})) << error;
    EXPECT_EQ(port_in(listeners[0]), port_in(listeners[1]));
  });
}

}  // namespace
}  // namespace haricot::os
