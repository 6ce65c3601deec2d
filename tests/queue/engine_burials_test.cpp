#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "haricot/queue/engine.hpp"
#include "haricot/queue/job.hpp"
#include "support/engine_world.hpp"

namespace haricot {
namespace {

using test::EngineTest;

class EngineBurials : public EngineTest {
 protected:
  JobReport report(JobId id) { return *engine.queries().report(id, world.now); }
  std::uint64_t memory_of_burials() { return engine.jobs().burials().memory_bytes(); }
  // Puts a job with one try, and reserves it.
  JobId taken(Client& client, std::uint32_t ttr_s = 60) {
    const JobId id = world.put(client, {.ttr_s = ttr_s, .tags = "try:1"});
    EXPECT_EQ(world.reserve(client), id);
    return id;
  }
};

TEST_F(EngineBurials, HaveACauseAndATime) {
  Client& client = world.connect();
  Client& other = world.connect();
  const JobId by_client = taken(client);
  ASSERT_EQ(engine.bury(client, by_client, 1), Outcome::done);
  world.pass_s(10);
  const JobId released = taken(client);
  ASSERT_EQ(engine.release(client, released, 1, 0, world.now), Outcome::buried);
  const JobId timed_out = taken(client, 5);
  world.pass_s(5);
  const JobId closed = taken(other);
  world.disconnect(other);
  world.pass_s(2);
  EXPECT_EQ(report(by_client).burial_cause, BurialCause::client);
  EXPECT_EQ(report(by_client).buried_s, 17U);
  EXPECT_EQ(report(released).burial_cause, BurialCause::released);
  EXPECT_EQ(report(released).buried_s, 7U);
  EXPECT_EQ(report(timed_out).burial_cause, BurialCause::timed_out);
  EXPECT_EQ(report(timed_out).buried_s, 2U);
  EXPECT_EQ(report(closed).burial_cause, BurialCause::closed);
  EXPECT_EQ(engine.burial(engine.peek(closed)).cause, BurialCause::closed);
  engine.check_invariants();
}

TEST_F(EngineBurials, AreForgottenWhenAJobLeaves) {
  Client& client = world.connect();
  for (int way = 0; way < 5; ++way) {
    const JobId id = taken(client);
    ASSERT_EQ(engine.bury(client, id, 1), Outcome::done);
    EXPECT_GT(memory_of_burials(), 0U);
    engine.check_invariants();
    if (way == 0) {
      EXPECT_EQ(world.kick(client, 1).jobs, 1U);
    }
    if (way == 1) {
      EXPECT_EQ(engine.kick_job(id, world.now), Outcome::done);
    }
    if (way == 2) {
      EXPECT_EQ(engine.delete_job(client, id), Outcome::done);
    }
    if (way == 3) {
      EXPECT_EQ(world.flush(client, "default", {.buried = true}).jobs, 1U);
    }
    if (way == 4) {
      EXPECT_EQ(engine.reserve_job(client, id, world.now).outcome, Outcome::done);
    }
    EXPECT_EQ(memory_of_burials(), 0U) << way;
    engine.check_invariants();
    if (way < 2 || way == 4) {
      EXPECT_EQ(report(id).burial_cause, BurialCause::unknown);
      static_cast<void>(world.reserve(client));
      EXPECT_EQ(engine.delete_job(client, id), Outcome::done);
    }
  }
}

}  // namespace
}  // namespace haricot
