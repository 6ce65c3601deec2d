// Flushes that are under way, beside others: whose turn it is, and how the rest of a flush that was
// refused comes back.

#include <gtest/gtest.h>

#include "support/engine_world.hpp"

namespace haricot {
namespace {

using test::got_flush_failed;
using test::got_job;
using test::Gots;

class FlushTurns : public test::EngineTest {
 protected:
  static constexpr JobStates kAll{.ready = true, .delayed = true, .buried = true};

  void put_buried(Client& client, std::uint32_t jobs) {
    for (const JobId id : hold(client, jobs)) {
      ASSERT_EQ(engine.bury(client, id, 1), Outcome::done);
    }
  }
  // A flush that needs at least one more call of the engine.
  void begin_flush(Client& client, JobStates states = kAll) {
    ASSERT_EQ(engine.flush(client, "default", states).outcome, Outcome::waiting);
  }
};

// A tube has a few lists of buried jobs at most, so one of many flushes waits for another one's.
TEST_F(FlushTurns, OneThatWaitsForAnotherLetsThatGoOn) {
  Client& producer = world.connect();
  put_buried(producer, Engine::kJobsPerCall + 10);
  begin_flush(world.connect());
  for (std::uint32_t list = 2; list < Job::kBurialLists; ++list) {
    put_buried(producer, 1);
    begin_flush(world.connect());
  }
  put_buried(producer, 1);
  Client& last = world.connect();
  begin_flush(last);
  engine.check_invariants();
  // Nobody waits for the last one, so it is apart from those that it waits for.
  world.disconnect(last);
  world.pass_s(1);
  EXPECT_EQ(engine.counts().buried, 0u);
  EXPECT_EQ(engine.jobs().size(), 0u);
  EXPECT_EQ(world.take_deliveries().size(), Job::kBurialLists - 1);
}

TEST_F(FlushTurns, WhatIsPutBackComesToWorkersInOrder) {
  Client& producer = world.connect();
  for (const std::uint32_t priority : {7u, 3u, 9u, 1u, 8u, 5u}) {
    world.put(producer, {.priority = priority});
  }
  Client& client = world.connect();
  journal.refuse_from(1, JournalStatus::failed);
  begin_flush(client);
  Client& first = world.connect();
  Client& second = world.connect();
  world.wait(first);
  world.wait(second);
  world.pass_s(1);
  EXPECT_EQ(world.take_deliveries(),
            (Gots{got_job(first, 4), got_job(second, 2), got_flush_failed(client, 0)}));
  journal.accept();
}

TEST_F(FlushTurns, WhatIsPutBackGetsReadyInTheOrderOfBefore) {
  constexpr std::uint32_t kJobs = 20;
  Client& producer = world.connect();
  std::vector<JobId> ids;
  for (std::uint32_t i = 0; i < kJobs; ++i) ids.push_back(world.put(producer, {.delay_s = 1000}));
  journal.refuse_from(1, JournalStatus::failed);
  begin_flush(world.connect());
  world.pass_s(1);
  journal.accept();
  const Tube& tube = world.tube();
  std::vector<JobRef> listed;
  engine.list(tube, JobState::delayed, kJobs, listed);
  std::vector<JobId> found;
  for (const JobRef ref : listed) found.push_back(world.id_of(ref));
  EXPECT_EQ(found, ids);
}

}  // namespace
}  // namespace haricot
