// Host names with several addresses. Each test has a list of hosts of its own.

#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "os/child_result.hpp"
#include "os/listener.hpp"
#include "support/temporary_folder.hpp"
#include "support/wire_client.hpp"

namespace haricot::os {
namespace {

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
