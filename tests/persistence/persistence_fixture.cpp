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
  // It listens before it has read its files. What it does with them and says of them, a test may
  // look at only when that is over.
  return listens && connect()->ask("list-tube-used") == "USING default\r\n";
}

void PersistenceTest::stop() {
  const auto end = server_.stop();
  ASSERT_TRUE(end) << "there was no server";
  // beanstalkd lets the signal kill it.
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
  const std::string value = report_value(connect()->ask("stats"), key);
  EXPECT_FALSE(value.empty()) << "no " << key << " in stats";
  return std::strtoull(value.c_str(), nullptr, 10);
}

std::string report_value(std::string_view report, std::string_view key) {
  const std::string start = "\n" + std::string(key) + ": ";
  const std::size_t at = report.find(start);
  if (at == std::string_view::npos) return "";
  const std::size_t begin = at + start.size();
  std::string_view value = report.substr(begin, report.find('\n', begin) - begin);
  if (value.size() > 1 && value.front() == '"' && value.back() == '"') {
    value = value.substr(1, value.size() - 2);
  }
  return std::string(value);
}

bool eventually(const std::function<bool()>& is_true, std::chrono::milliseconds deadline) {
  constexpr int kStepMs = 5;
  const auto end = std::chrono::steady_clock::now() + deadline;
  while (!is_true()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    ::poll(nullptr, 0, kStepMs);
  }
  return true;
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
