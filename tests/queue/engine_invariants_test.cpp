// Tests that check_invariants() detects errors: each test breaks one invariant and expects the end.

#include <gtest/gtest.h>

#include "support/engine_world.hpp"

namespace haricot {
namespace {

class EngineInvariantsDeathTest : public test::EngineTest {
 protected:
  // Death tests run in a copy of the program, so this one is not damaged.
  Tube& tube() { return const_cast<Tube&>(world.tube()); }
  Job& job(JobId id) { return const_cast<Job&>(engine.jobs()[engine.peek(id)]); }
  EngineCounts& counts() { return const_cast<EngineCounts&>(engine.counts()); }
};

TEST_F(EngineInvariantsDeathTest, SeesAWrongNumber) {
  EXPECT_DEATH((++counts().ready, engine.check_invariants()), "ready");
  EXPECT_DEATH((++counts().urgent, engine.check_invariants()), "urgent");
  EXPECT_DEATH((++counts().waiting, engine.check_invariants()), "waiting");
  EXPECT_DEATH((++tube().buried, engine.check_invariants()), "buried");
  EXPECT_DEATH((++tube().using_clients, engine.check_invariants()), "using_clients");
  EXPECT_DEATH((++tube().reserved, engine.check_invariants()), "reserved");
}

TEST_F(EngineInvariantsDeathTest, DetectsAJobOutsideOfThePlaceOfItsState) {
  Client& client = world.connect();
  const JobId id = world.put(client);
  EXPECT_DEATH((job(id).set_state(JobState::buried), engine.check_invariants()), "state");
  EXPECT_DEATH((job(id).links.first = 7, engine.check_invariants()), "heap_index");
  EXPECT_DEATH((job(id).priority = 7, engine.check_invariants()), "priority");
}

TEST_F(EngineInvariantsDeathTest, SeesAHeapThatIsNone) {
  Client& client = world.connect();
  world.put(client, {.priority = 1});
  world.put(client, {.priority = 2});
  const auto break_heap = [&] {
    ReadyEntry& entry = const_cast<ReadyEntry&>(tube().ready.at(0));
    entry = ReadyEntry(entry.id(), 3, entry.job);
  };
  EXPECT_DEATH((break_heap(), engine.check_invariants()), "parent|heap.at|entry");
}

TEST_F(EngineInvariantsDeathTest, SeesALateTimer) {
  Client& client = world.connect();
  world.put(client, {.delay_s = 100});
  const auto break_deadline = [&] {
    const_cast<DeadlineEntry&>(tube().delayed.at(0)).deadline = world.now;
  };
  EXPECT_DEATH((break_deadline(), engine.check_invariants()), "timer");
}

TEST_F(EngineInvariantsDeathTest, SeesAnOpenTubeWithJobsAndWaitingWorkers) {
  Client& client = world.connect();
  Client& worker = world.connect();
  ASSERT_EQ(engine.pause("default", 10, world.now), Outcome::done);
  world.put(client);
  world.wait(worker);
  EXPECT_DEATH((tube().paused = false, engine.check_invariants()), "waiting");
}

TEST_F(EngineInvariantsDeathTest, SeesABrokenListOfBuriedJobs) {
  Client& client = world.connect();
  for (int i = 0; i < 3; ++i) {
    const JobId id = world.put(client);
    ASSERT_EQ(world.reserve(client), id);
    ASSERT_EQ(engine.bury(client, id, 1), Outcome::done);
  }
  EXPECT_DEATH((job(2).links.first = 0, engine.check_invariants()), "before");
  EXPECT_DEATH((job(2).links.second = 0, engine.check_invariants()), "last == tube.last_buried");
}

TEST_F(EngineInvariantsDeathTest, SeesATubeThatNothingRefersTo) {
  Client& client = world.connect();
  ASSERT_EQ(engine.use(client, "tube"), Outcome::done);
  const auto forget = [&] { const_cast<Tube&>(world.tube("tube")).using_clients = 0; };
  EXPECT_DEATH((forget(), engine.check_invariants()), "is_referenced");
}

}  // namespace
}  // namespace haricot
