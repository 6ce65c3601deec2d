// A service with a journal and a clock, for tests: replaces the daemon. Tests exchange bytes with
// sessions.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/memory.hpp"
#include "haricot/service/service.hpp"
#include "support/fake_journal.hpp"
#include "support/report_value.hpp"

namespace haricot::test {

// Number of small commands that a single session may run in one part of a turn.
inline constexpr std::size_t kCommandsPerShare =
    turn_limits::kStepsPerShare / turn_limits::kStepsPerCommand;

class ServiceWorld {
 public:
  explicit ServiceWorld(std::uint32_t job_bytes_max = kJobBytesMaxDefault)
      : now(Instant::at(1'000'000'000'000)),
        service(with_limit(info, job_bytes_max), journal, now) {}

  explicit ServiceWorld(const Limits& limits)
      : now(Instant::at(1'000'000'000'000)), service(with_limits(info, limits), journal, now) {}

  Session& connect(void* owner = nullptr, bool is_local = false) {
    Session* session = service.open(owner, is_local);
    EXPECT_NE(session, nullptr);
    return *session;
  }
  void disconnect(Session& session) { service.close(session, now); }

  // Delivers input to the session. As in a connection, bytes of a large body are received directly.
  void send(Session& session, std::string_view bytes) {
    while (!bytes.empty()) {
      const std::span<char> direct = session.direct_space();
      const std::size_t taken = std::min(direct.size(), bytes.size());
      if (taken == 0) break;
      std::memcpy(direct.data(), bytes.data(), taken);
      service.receive_directly(session, taken);
      bytes.remove_prefix(taken);
    }
    if (!bytes.empty()) service.receive(session, bytes, now);
  }

  // Delivers input while memory for it is short.
  void send_without_memory(Session& session) {
    const std::string bytes(4 * Memory::kOwnBytes, 'x');
    Memory::limit(1);
    {
      const Memory::Bounded bounded;
      service.receive(session, bytes, now);
    }
    Memory::limit(SIZE_MAX);
    EXPECT_TRUE(Memory::take_refusal());
  }

  // Sends at most `bytes_max` bytes of output, and returns them.
  std::string receive(Session& session, std::size_t bytes_max = ~std::size_t{0}) {
    std::string received;
    while (session.has_output() && session.may_send() && received.size() < bytes_max) {
      std::array<std::string_view, 8> pieces;
      const std::size_t count = session.output().gather(pieces);
      std::string round;
      for (std::size_t i = 0; i < count; ++i) round += pieces[i];
      round.resize(std::min(round.size(), bytes_max - received.size()));
      service.sent(session, round.size());
      received += round;
    }
    return received;
  }

  // Plays turns until no work is left.
  void settle() {
    while (service.next_event() <= now) {
      service.advance(now);
      service.run_backlog(now);
    }
  }
  void pass(Duration duration) {
    const Instant end = now + duration;
    settle();
    while (service.next_event() <= end) {
      now = std::max(now, service.next_event());
      service.advance(now);
      service.run_backlog(now);
    }
    now = end;
    service.advance(now);
    settle();
  }
  void pass_s(std::uint32_t seconds) { pass(Duration::seconds(seconds)); }

  // Delivers input, settles, and returns the output.
  std::string ask(Session& session, std::string_view bytes) {
    send(session, bytes);
    settle();
    std::string received = receive(session);
    for (;;) {
      settle();
      const std::string more = receive(session);
      if (more.empty()) return received;
      received += more;
    }
  }

  std::uint64_t stat(Session& session, const std::string& key) {
    return report_number(ask(session, "stats\r\n"), key);
  }

  // Removes and returns the sessions of next_to_send().
  std::vector<Session*> to_send() {
    std::vector<Session*> sessions;
    while (Session* session = service.next_to_send()) sessions.push_back(session);
    return sessions;
  }
  bool is_to_be_sent(const Session& session) {
    const std::vector<Session*> sessions = to_send();
    return std::find(sessions.begin(), sessions.end(), &session) != sessions.end();
  }

  Instant now;
  ServerInfo info;
  FakeJournal journal;
  Service service;

 private:
  static ServerInfo& with_limits(ServerInfo& info, const Limits& limits) {
    info.limits = limits;
    return info;
  }
  static ServerInfo& with_limit(ServerInfo& info, std::uint32_t job_bytes_max) {
    info.job_bytes_max = job_bytes_max;
    return info;
  }
};

inline std::string put_line(std::size_t bytes) {
  return "put 0 0 60 " + std::to_string(bytes) + "\r\n";
}
inline std::string whole_put(std::string_view body) {
  return put_line(body.size()) + std::string(body) + "\r\n";
}

inline std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace haricot::test
