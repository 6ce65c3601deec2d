// Shortage of memory: operations that can be refused are refused before anything changes, and the
// others have their memory already.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/allocations.hpp"
#include "support/engine_world.hpp"

namespace haricot {
namespace {

using test::AllocationFailure;

class EngineShortage : public test::EngineTest {};

// Each allocation of a put fails once.
TEST_F(EngineShortage, PutWithoutMemoryIsRefusedAndChangesNothing) {
  Client& client = world.connect();
  Client& worker = world.connect();
  for (const std::uint32_t delay_s : {0U, 9U}) {
    const std::string tube = "t" + std::to_string(delay_s);
    ASSERT_EQ(engine.use(client, tube), Outcome::done);
    ASSERT_EQ(engine.watch(worker, tube), Outcome::done);
    world.wait(worker);
    journal.written.reserve(100);
    int refused = 0;
    for (Outcome outcome = Outcome::out_of_memory; outcome != Outcome::done; ++refused) {
      ASSERT_EQ(outcome, Outcome::out_of_memory);
      const std::uint64_t puts_before = engine.counts().total_jobs;
      const JobId id = engine.take_id();
      {
        const AllocationFailure failure(refused);
        outcome = world.try_put(client, id, {.delay_s = delay_s});
      }
      engine.check_invariants();
      EXPECT_EQ(engine.counts().buried, 0U);
      EXPECT_EQ(world.exists(id), outcome == Outcome::done);
      EXPECT_EQ(engine.counts().total_jobs - puts_before, outcome == Outcome::done ? 1U : 0U);
      EXPECT_EQ(engine.counts().waiting, outcome == Outcome::done && delay_s == 0 ? 0U : 1U);
    }
    EXPECT_GT(refused, 2);
    engine.stop_waiting(worker, Delivery::Kind::timed_out);
    world.take_deliveries();
  }
}

// The end of a TTR and the close of a client cannot be refused.
TEST_F(EngineShortage, ReservedJobComesBackWithoutMemory) {
  constexpr std::uint32_t kJobs = 3 * ReadyHeap::kPageElements / 2;
  Client& client = world.connect();
  for (const bool is_flushed : {false, true}) {
    Client& holder = world.connect();
    std::vector<JobId> ids;
    for (std::uint32_t i = 0; i < kJobs; ++i) ids.push_back(world.put(client, {.ttr_s = 1}));
    for (std::uint32_t i = 0; i < kJobs; ++i) ASSERT_NE(world.reserve(holder), 0U);
    if (is_flushed) {
      world.put(client);
      ASSERT_EQ(world.flush(client, "default", {.ready = true}).jobs, 1U);
    }
    engine.check_invariants();
    journal.written.reserve(journal.written.size() + 1);
    Outcome released = Outcome::not_found;
    {
      const AllocationFailure failure;
      released = engine.release(holder, ids[0], 100, 0, world.now);
      world.now = world.now + Duration::seconds(1);
      engine.advance(world.now);
      world.disconnect(holder);
      while (engine.counts().reserved > 0) engine.advance(world.now);
    }
    EXPECT_EQ(released, Outcome::done);
    EXPECT_EQ(engine.counts().buried, 0U);
    EXPECT_EQ(engine.counts().ready, kJobs);
    engine.check_invariants();
    for (const JobId id : ids) ASSERT_EQ(engine.delete_job(client, id), Outcome::done);
  }
}

TEST_F(EngineShortage, DeletedReservedJobsGiveTheirRoomBack) {
  Client& client = world.connect();
  const Tube& tube = *engine.find_tube("default");
  std::vector<JobId> ids;
  for (std::uint32_t i = 0; i < 4 * ReadyHeap::kPageElements; ++i) ids.push_back(world.put(client));
  for (std::size_t i = 0; i < ids.size(); ++i) ASSERT_NE(world.reserve(client), 0U);
  EXPECT_GE(tube.ready.capacity(), ids.size());
  for (const JobId id : ids) ASSERT_EQ(engine.delete_job(client, id), Outcome::done);
  EXPECT_LT(tube.ready.capacity(), 10U);
}

TEST_F(EngineShortage, ReleaseWithADelayIsRefusedWithoutMemory) {
  Client& client = world.connect();
  const JobId id = world.put(client);
  ASSERT_EQ(world.reserve(client), id);
  const std::size_t records = journal.written.size();
  Outcome refused = Outcome::done;
  {
    const AllocationFailure failure;
    refused = engine.release(client, id, 7, 9, world.now);
  }
  EXPECT_EQ(refused, Outcome::out_of_memory);
  EXPECT_EQ(world.state(id), JobState::reserved);
  EXPECT_EQ(world.report(id).releases, 0U);
  EXPECT_EQ(world.report(id).priority, 100U);
  EXPECT_EQ(journal.written.size(), records);
  EXPECT_FALSE(journal.has_open_room());
  EXPECT_EQ(engine.release(client, id, 7, 9, world.now), Outcome::done);
  EXPECT_EQ(world.state(id), JobState::delayed);
}

TEST_F(EngineShortage, DelayContinuesWithoutMemory) {
  Client& client = world.connect();
  const JobId first = world.put(client, {.delay_s = 1});
  const JobId second = world.put(client, {.delay_s = 1});
  {
    const AllocationFailure failure;
    world.now = world.now + Duration::seconds(1);
    engine.advance(world.now);
  }
  EXPECT_EQ(world.state(first), JobState::delayed);
  EXPECT_GT(engine.next_event(), world.now);
  engine.check_invariants();
  world.pass_s(1);
  EXPECT_EQ(world.reserve(client), first);
  EXPECT_EQ(world.reserve(client), second);
}

TEST_F(EngineShortage, KickJobIsRefusedWithoutMemory) {
  Client& client = world.connect();
  const JobId id = world.put(client, {.delay_s = 9});
  Outcome outcome = Outcome::done;
  {
    const AllocationFailure failure;
    outcome = engine.kick_job(id, world.now);
  }
  EXPECT_EQ(outcome, Outcome::out_of_memory);
  EXPECT_EQ(world.state(id), JobState::delayed);
  EXPECT_EQ(engine.kick_job(id, world.now), Outcome::done);
}

}  // namespace
}  // namespace haricot
