// Take-overs in which the successor listens on other addresses.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/hand_over_fixture.hpp"
#include "support/process_facts.hpp"

namespace haricot::test {
namespace {

using Addresses = std::vector<std::string>;  // That of -l, then those of --listen-also.

struct AddressChange {
  const char* name;
  Addresses from;
  Addresses to;
  bool has_other_port = false;
};

const AddressChange kAddressChanges[] = {
    {"ToEachAddress", {"127.0.0.1"}, {"0.0.0.0"}},
    {"ToOneAddress", {"0.0.0.0"}, {"127.0.0.1"}},
    {"ToTheOtherFamily", {"0.0.0.0"}, {"::"}},
    {"FromTheOtherFamily", {"::"}, {"127.0.0.1"}},
    {"WithOneMore", {"127.0.0.1"}, {"127.0.0.1", "127.0.0.2"}},
    {"WithOneLess", {"127.0.0.1", "127.0.0.2"}, {"127.0.0.1"}},
    {"InAnotherOrder", {"127.0.0.1", "127.0.0.2"}, {"127.0.0.2", "127.0.0.1"}},
    {"ByName", {"127.0.0.1"}, {"localhost"}},
    {"OneForAnother", {"127.0.0.1", "127.0.0.2"}, {"127.0.0.3", "127.0.0.1"}},
    {"ToAUnixSocket", {"127.0.0.1"}, {"unix:"}},
    {"WithAUnixSocket", {"127.0.0.1"}, {"0.0.0.0", "unix:"}},
    {"FromAUnixSocket", {"unix:"}, {"127.0.0.1"}, true},
    {"OnAnotherPort", {"127.0.0.1"}, {"127.0.0.1"}, true},
};

class OtherAddresses : public HandOverTest,
                       public ::testing::WithParamInterface<std::tuple<AddressChange, bool>> {
 protected:
  std::string path() const { return folder_.file("next"); }
  std::string with_path(const std::string& address) const {
    return address == "unix:" ? address + folder_.file("clients") : address;
  }
  std::vector<std::string> words_of(const Addresses& addresses) const {
    std::vector<std::string> words = {"--take-over-socket=" + path()};
    for (std::size_t i = 1; i < addresses.size(); ++i) {
      words.push_back("--listen-also=" + with_path(addresses[i]));
    }
    return words;
  }
  Client reach(const std::string& address) const {
    auto client = std::make_unique<WireClient>();
    const bool is_any = address == "0.0.0.0" || address == "::" || address == "localhost";
    const bool is_there = address == "unix:"
                              ? client->connect_unix(folder_.file("clients"))
                              : client->connect_tcp(port_, is_any ? "127.0.0.1" : address);
    return is_there ? std::move(client) : nullptr;
  }
  static bool has_other_family() {
    const int socket = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_addr = in6addr_loopback;
    const bool has = ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    if (socket >= 0) ::close(socket);
    return has;
  }
  void start_from(const Addresses& addresses) {
    ASSERT_TRUE(manager_.open(folder_.file("notify")));
    ServerOptions options = options_with(words_of(addresses));
    options.listen_address = with_path(addresses[0]);
    ASSERT_TRUE(start_with(manager_.passing(std::move(options)))) << server_.failure();
    port_ = server_.port();
  }
  // Options of the successor, which is `next_` or started by the manager.
  ServerOptions options_to(const Addresses& addresses) {
    std::vector<std::string> words = words_of(addresses);
    words.insert(words.end(), {"-l", with_path(addresses[0]), "-p", std::to_string(port_)});
    return options_with(std::move(words));
  }
  void replace(const Addresses& addresses, bool by_socket) {
    if (!by_socket) {
      ASSERT_TRUE(manager_.start(server_, options_to(addresses))) << server_.standard_error();
      return;
    }
    ServerOptions options = options_to(addresses);
    options.arguments.push_back("--take-over=" + path());
    ASSERT_TRUE(next_.launch(options));
    ASSERT_EQ(server_.wait_exit(), kGood) << server_.standard_error() << next_.standard_error();
    ASSERT_TRUE(eventually([&] {
      return next_.standard_error().find("event=taken-over") != std::string::npos;
    })) << next_.standard_error();
  }

  ServerProcess next_;
};

INSTANTIATE_TEST_SUITE_P(
    By, OtherAddresses, ::testing::Combine(::testing::ValuesIn(kAddressChanges), ::testing::Bool()),
    [](const auto& by) {
      return std::string(std::get<1>(by.param) ? "Socket" : "Manager") + std::get<0>(by.param).name;
    });

TEST_P(OtherAddresses, AreListenedOnAndNoConnectionIsLost) {
  const auto& [change, by_socket] = GetParam();
  if (change.from[0] == "::" || change.to[0] == "::") {
    if (!has_other_family()) GTEST_SKIP() << "there is no IPv6";
  }
  ASSERT_NO_FATAL_FAILURE(start_from(change.from));
  const Client stays = reach(change.from[0]);
  ASSERT_NE(stays, nullptr);
  ASSERT_EQ(stays->put("one"), "INSERTED 1\r\n");
  ASSERT_EQ(stays->ask("reserve"), "RESERVED 1 3\r\none\r\n");
  std::vector<Client> come;
  if (!by_socket) stop();
  for (const std::string& address : change.from) {
    come.push_back(reach(address));
    ASSERT_NE(come.back(), nullptr) << address;
    ASSERT_TRUE(come.back()->send_line("list-tube-used"));
  }
  const std::uint16_t port_before = port_;
  if (change.has_other_port) {
    // The kernel chooses a free one.
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    socklen_t length = sizeof address;
    address.sin_family = AF_INET;
    ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length), 0);
    port_ = ntohs(address.sin_port);
    ::close(socket);
  }
  ASSERT_NO_FATAL_FAILURE(replace(change.to, by_socket));
  EXPECT_EQ(stays->ask("delete 1"), "DELETED\r\n");
  for (const Client& client : come) EXPECT_EQ(client->read_answer(), "USING default\r\n");
  for (const std::string& address : change.to) {
    const Client client = reach(address);
    ASSERT_NE(client, nullptr) << address;
    EXPECT_EQ(client->ask("list-tube-used"), "USING default\r\n") << address;
  }
  // Every listener that accepts connections is served.
  const bool has_any = change.to[0] == "0.0.0.0" || change.to[0] == "::";
  if (change.has_other_port) port_ = port_before;
  for (const std::string& address : change.from) {
    const Client client = reach(address);
    if (client == nullptr) continue;
    EXPECT_TRUE(has_any || !change.has_other_port) << "the old port is listened on";
    EXPECT_EQ(client->ask("list-tube-used"), "USING default\r\n") << address;
  }
}

// Gives the listeners of a process to a user, as if it had been started as that user.
void give_listeners(pid_t process, uid_t user) {
  const int whole = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
  ASSERT_GE(whole, 0);
  for (const auto& [number, what] : open_descriptors(process)) {
    const int descriptor = static_cast<int>(::syscall(SYS_pidfd_getfd, whole, number, 0));
    int listens = 0;
    socklen_t length = sizeof listens;
    const bool is_listener =
        ::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens != 0;
    if (is_listener) {
      EXPECT_EQ(::fchown(descriptor, user, user), 0);
    }
    if (descriptor >= 0) ::close(descriptor);
  }
  ::close(whole);
}

// The kernel lets only sockets of one user overlap.
TEST_P(OtherAddresses, MayOverlapWithThoseOfAServerOfAnotherUser) {
  constexpr uid_t kOtherUser = 1234;
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a socket away";
  const auto& [change, by_socket] = GetParam();
  if (change.from[0] != "127.0.0.1" || change.to[0] != "0.0.0.0") return;
  ASSERT_NO_FATAL_FAILURE(start_from(change.from));
  ASSERT_NO_FATAL_FAILURE(give_listeners(server_.pid(), kOtherUser));
  const Client stays = reach(change.from[0]);
  ASSERT_NE(stays, nullptr);
  ASSERT_EQ(stays->put("one"), "INSERTED 1\r\n");
  if (!by_socket) stop();
  ASSERT_NO_FATAL_FAILURE(replace(change.to, by_socket));
  EXPECT_EQ(stays->ask("peek 1"), "FOUND 1 3\r\none\r\n");
  for (const std::string& address : change.to) {
    const Client client = reach(address);
    ASSERT_NE(client, nullptr) << address;
    EXPECT_EQ(client->ask("list-tube-used"), "USING default\r\n") << address;
  }
}

// The successor may still fail after opening its listeners.
TEST_P(OtherAddresses, AreNotListenedOnWhenTheNextServerFails) {
  const auto& [change, by_socket] = GetParam();
  if (!by_socket || change.has_other_port || change.from[0] == "::") return;
  ASSERT_NO_FATAL_FAILURE(start_from(change.from));
  const Client stays = reach(change.from[0]);
  ASSERT_NE(stays, nullptr);
  ServerOptions options = options_to({change.to[0], "203.0.113.1"});
  options.arguments.push_back("--take-over=" + path());
  ASSERT_TRUE(next_.launch(options));
  EXPECT_EQ(next_.wait_exit(), (ExitStatus{.code = 111})) << next_.standard_error();
  EXPECT_EQ(stays->put("one"), "INSERTED 1\r\n");
  for (const std::string& address : change.from) {
    const Client client = reach(address);
    ASSERT_NE(client, nullptr) << address;
    EXPECT_EQ(client->ask("list-tube-used"), "USING default\r\n") << address;
  }
}

}  // namespace
}  // namespace haricot::test
