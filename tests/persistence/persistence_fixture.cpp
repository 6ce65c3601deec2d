#include "persistence_fixture.hpp"

#include <poll.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace haricot::test {

bool PersistenceTest::start(ServerKind kind, std::vector<std::string> flags) {
  const auto binary = find_server_binary(kind);
  EXPECT_TRUE(binary) << "there is no " << to_string(kind);
  if (!binary) return false;
  kind_ = kind;
  flags_ = flags;
  flags.insert(flags.end(), {"-b", folder_.path()});
  const bool listens =
      server_.start({.binary = *binary, .arguments = std::move(flags), .launcher = launcher_});
  // The server listens before it has read its files. Tests may check the files and the log only
  // after that. A server that refuses the files ends meanwhile.
  WireClient client;
  return listens && client.connect(server_) && client.ask("list-tube-used") == "USING default\r\n";
}

void PersistenceTest::stop() {
  const auto end = server_.stop();
  ASSERT_TRUE(end) << "there was no server";
  // beanstalkd does not handle the signal.
  const bool expected = kind_ == ServerKind::haricot ? end->code == 0 : end->signal == SIGTERM;
  EXPECT_TRUE(expected) << "it ended with code " << end->code << ", signal " << end->signal
                        << ", stderr: " << server_.standard_error();
}

bool PersistenceTest::restart() {
  stop();
  return start(kind_, flags_);
}

bool PersistenceTest::kill_and_start() {
  kill();
  return start(kind_, flags_);
}

Client PersistenceTest::connect() {
  auto client = std::make_unique<WireClient>();
  EXPECT_TRUE(client->connect(server_)) << client->failure();
  return client;
}

std::uint64_t PersistenceTest::stat(std::string_view key) {
  return report_number(connect()->ask("stats"), key);
}

std::string numbered_body(std::uint64_t number, std::size_t bytes) {
  std::string body = std::to_string(number) + ":";
  std::uint64_t state = number * 2654435761U + 1;
  while (body.size() < bytes) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    body += static_cast<char>('0' + (state >> 58));
  }
  body.resize(bytes);
  return body;
}

}  // namespace haricot::test
