// Flushes of an engine, for tests.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "support/engine_world.hpp"

namespace haricot::test {

class EngineFlush : public EngineTest {
 protected:
  static constexpr JobStates kAll = {.ready = true, .delayed = true, .buried = true};
  using Ids = std::vector<JobId>;
  static constexpr std::uint32_t kSlice = Engine::kJobsPerCall;

  // Puts jobs into the tube that the client uses.
  Ids put_many(Client& client, std::uint32_t jobs, const PutOptions& options = {}) {
    Ids ids;
    for (std::uint32_t i = 0; i < jobs; ++i) ids.push_back(world.put(client, options));
    return ids;
  }
  Ids bury_many(Client& client, std::uint32_t jobs) {
    Ids ids = put_many(client, jobs);
    for (const JobId id : ids) bury(client, id);
    return ids;
  }
  void bury(Client& client, JobId id) {
    ASSERT_EQ(engine.reserve_job(client, id, world.now).outcome, Outcome::done);
    ASSERT_EQ(engine.bury(client, id, 1), Outcome::done);
  }
  Ids listed(JobState state, std::string_view tube = "default") {
    std::vector<JobRef> found;
    engine.queries().list(world.tube(tube), state, 100'000, found);
    Ids ids;
    for (const JobRef ref : found) ids.push_back(world.id_of(ref));
    return ids;
  }
  Ids scanned() {
    Ids ids;
    JobId from = 1;
    do {
      std::vector<JobRef> found;
      from = engine.queries().scan(from, 1000, nullptr, std::nullopt, found).next;
      for (const JobRef ref : found) ids.push_back(world.id_of(ref));
    } while (from != 0);
    return ids;
  }
  // Begins a flush that is too long for one call.
  void begin_flush(Client& client, JobStates states = kAll, std::string_view tube = "default") {
    ASSERT_EQ(world.flush(client, tube, states).outcome, Outcome::waiting);
    EXPECT_TRUE(client.is_busy());
    engine.check_invariants();
  }
  void finish() {
    while (engine.next_event() <= world.now) {
      engine.advance(world.now);
      engine.check_invariants();
    }
  }
};

}  // namespace haricot::test
