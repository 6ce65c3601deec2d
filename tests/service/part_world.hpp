// The parts of a service, with sessions, for tests of one part.

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "haricot/service/requests.hpp"
#include "support/fake_journal.hpp"

namespace haricot::test {

struct PartWorld {
  using Sessions = std::vector<Session*>;

  PartWorld() { turn.begin(now); }
  ~PartWorld() {
    for (const auto& session : sessions) {
      session->list.reset();
      outbox.remove(*session);
      run_queue.remove(*session);
      engine.close(session->client(), now);
    }
  }

  Session& connect() {
    sessions.push_back(std::make_unique<Session>(nullptr, CommandSet::extended, now));
    EXPECT_TRUE(engine.open(sessions.back()->client()));
    return *sessions.back();
  }
  void watch(Session& session, int tubes) {
    for (int i = 0; i < tubes; ++i) {
      EXPECT_EQ(engine.watch(session.client(), "tube-" + std::to_string(i)), Outcome::done);
    }
  }
  // Removes and returns the sessions that may send.
  Sessions to_send() {
    Sessions taken;
    while (Session* session = outbox.take_next()) taken.push_back(session);
    return taken;
  }
  // Removes and returns the output of a session.
  std::string take_output(Session& session) {
    std::string text;
    while (session.has_output()) {
      std::array<std::string_view, 8> pieces;
      const std::size_t count = session.output().gather(pieces);
      std::string round;
      for (std::size_t i = 0; i < count; ++i) round += pieces[i];
      outbox.consume(session, round.size());
      text += round;
    }
    return text;
  }

  Instant now = Instant::at(1'000'000'000'000);
  FakeJournal journal;
  ServerInfo info;
  ServiceParts parts{info, journal, now, {}};
  Engine& engine = parts.engine;
  Dispatcher& dispatcher = parts.dispatcher;
  Turn& turn = parts.turn;
  RunQueue& run_queue = parts.run_queue;
  Outbox& outbox = parts.outbox;
  std::vector<std::unique_ptr<Session>> sessions;
};

}  // namespace haricot::test
