#include "support/port_choice.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "support/server_process.hpp"

namespace haricot::test {
namespace {

bool holds(PortRange range, unsigned port) {
  return range.first <= port && port <= range.last;
}

TEST(PortChoice, IsNeverAmongThoseThatTheKernelGivesToClients) {
  const PortRange usual = ports_beside("32768\t60999\n");
  EXPECT_EQ(usual.first, 10'000);
  EXPECT_EQ(usual.last, 32'767);
  const PortRange from_below = ports_beside("1024 60000");
  EXPECT_EQ(from_below.first, 60'001);
  EXPECT_EQ(from_below.last, 65'535);
  for (const char* all : {"1024 65535", "10500 65000"}) {
    EXPECT_TRUE(holds(ports_beside(all), 10'000)) << all;
    EXPECT_TRUE(holds(ports_beside(all), 65'535)) << all;
  }
  EXPECT_FALSE(holds(ports_beside(""), 40'000));
  EXPECT_FALSE(holds(ports_beside("rubbish"), 40'000));
}

// Socket of a client: it does not listen, but takes the port.
class PortOfAClient {
 public:
  PortOfAClient() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(fd_, generic, length) == 0 && ::getsockname(fd_, generic, &length) == 0) {
      number_ = ntohs(address.sin_port);
    }
  }
  ~PortOfAClient() { ::close(fd_); }
  PortOfAClient(const PortOfAClient&) = delete;
  PortOfAClient& operator=(const PortOfAClient&) = delete;
  std::string number() const { return std::to_string(number_); }

 private:
  int fd_;
  std::uint16_t number_ = 0;
};

TEST(PortChoice, AServerThatIsRefusedItsPortIsKnownByWhatItSays) {
  for (const ServerKind kind : {ServerKind::haricot, ServerKind::beanstalkd_1_12}) {
    SCOPED_TRACE(to_string(kind));
    const auto binary = find_server_binary(kind);
    ASSERT_TRUE(binary);
    const PortOfAClient port;
    ServerProcess server;
    ASSERT_TRUE(
        server.launch({.binary = *binary, .arguments = {"-l", "127.0.0.1", "-p", port.number()}}));
    ASSERT_TRUE(server.wait_exit()) << "it has started";
    EXPECT_TRUE(is_address_in_use(server.standard_error())) << server.standard_error();
  }
}

}  // namespace
}  // namespace haricot::test
