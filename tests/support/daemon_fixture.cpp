#include "support/daemon_fixture.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cstdlib>
#include <utility>

namespace haricot::test {

bool DaemonTest::start(std::vector<std::string> arguments) {
  return start_with(options_with(std::move(arguments)));
}

bool DaemonTest::start_with(ServerOptions options) {
  if (options.binary.empty()) {
    options.binary = find_server_binary(ServerKind::haricot).value_or("");
  }
  EXPECT_FALSE(options.binary.empty()) << "there is no haricotd";
  if (options.binary.empty()) return false;
  return server_.start(options);
}

Ending DaemonTest::run_to_end(std::vector<std::string> arguments) {
  if (!server_.launch(options_with(std::move(arguments)))) {
    ADD_FAILURE() << server_.failure();
    return {};
  }
  const auto status = server_.wait_exit();
  EXPECT_TRUE(status) << "it did not end; stderr: " << server_.standard_error();
  if (!status) server_.kill_hard();
  return {.status = status.value_or(ExitStatus{}),
          .output = server_.standard_output(),
          .error = server_.standard_error()};
}

ServerOptions DaemonTest::options_with(std::vector<std::string> arguments) {
  return {.binary = find_server_binary(ServerKind::haricot).value_or(""),
          .arguments = std::move(arguments)};
}

std::string DaemonTest::said_at_start() {
  EXPECT_EQ(connect()->ask("list-tube-used"), "USING default\r\n");
  return server_.standard_error();
}

Client DaemonTest::connect() {
  auto client = std::make_unique<WireClient>();
  EXPECT_TRUE(client->connect(server_)) << client->failure();
  return client;
}

std::vector<Client> DaemonTest::connect(std::size_t count) {
  std::vector<Client> clients;
  for (std::size_t i = 0; i < count; ++i) clients.push_back(connect());
  return clients;
}

Client DaemonTest::connect_narrow() {
  Client client = connect();
  const int bytes = 64 * 1024;  // The kernel doubles it.
  ::setsockopt(client->fd(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  ::setsockopt(client->fd(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  return client;
}

std::uint64_t DaemonTest::server_stat(std::string_view key) {
  return report_number(connect()->ask("stats"), key);
}

std::string varied_bytes(std::size_t count, std::uint32_t seed) {
  std::string bytes(count, '\0');
  std::uint64_t state = seed * 2654435761U + 1;
  for (char& byte : bytes) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<char>(state >> 56);
  }
  return bytes;
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string result;
  result.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) result += text;
  return result;
}

}  // namespace haricot::test
