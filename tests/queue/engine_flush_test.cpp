// Flushes: the jobs that a flush deletes, and its visible effects while it is in progress.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "queue/engine_flush.hpp"
#include "support/engine_world.hpp"

namespace haricot {
namespace {

using test::EngineFlush;
using test::FakeJournal;
using test::got_flushed;
using test::got_job;
using test::Gots;

TEST_F(EngineFlush, DeletesTheJobsOfTheStatesThatItNames) {
  Client& client = world.connect();
  struct Row {
    JobStates states;
    std::uint64_t flushed;
    std::uint64_t ready, delayed, buried;
  };
  for (const Row& row : {Row{{.ready = true}, 3, 0, 4, 5}, Row{{.delayed = true}, 4, 3, 0, 5},
                         Row{{.buried = true}, 5, 3, 4, 0}, Row{kAll, 12, 0, 0, 0}}) {
    const Ids held = hold(client, 1);
    bury_many(client, 5);
    put_many(client, 3);
    put_many(client, 4, {.delay_s = 9});
    const test::Ended result = world.flush(client, "default", row.states);
    EXPECT_EQ(result.outcome, Outcome::done);
    EXPECT_EQ(result.jobs, row.flushed);
    EXPECT_EQ(engine.counts().ready, row.ready);
    EXPECT_EQ(engine.counts().delayed, row.delayed);
    EXPECT_EQ(engine.counts().buried, row.buried);
    EXPECT_EQ(engine.counts().reserved, 1U);
    EXPECT_TRUE(world.exists(held[0]));
    engine.check_invariants();
    engine.advance(world.now);
    EXPECT_EQ(world.flush(client, "default", kAll).jobs, 12 - row.flushed);
    ASSERT_EQ(engine.delete_job(client, held[0]), Outcome::done);
  }
  EXPECT_EQ(engine.jobs().size(), 0U);
}

TEST_F(EngineFlush, IsOfOneTube) {
  Client& client = world.connect();
  put_many(client, 2);
  EXPECT_EQ(world.flush(client, "t", kAll).outcome, Outcome::not_found);
  ASSERT_EQ(engine.use(client, "t"), Outcome::done);
  put_many(client, 3);
  ASSERT_EQ(engine.use(client, "default"), Outcome::done);
  EXPECT_EQ(world.flush(client, "t", kAll).jobs, 3U);
  // Nothing else refers to the tube.
  EXPECT_EQ(engine.find_tube("t"), nullptr);
  EXPECT_EQ(engine.counts().ready, 2U);
  EXPECT_EQ(world.flush(client, "default", kAll).jobs, 2U);
  EXPECT_EQ(world.flush(client, "default", kAll).jobs, 0U);
}

TEST_F(EngineFlush, RecordsEachDeletionWithTheStateOfTheJob) {
  Client& client = world.connect();
  world.put(client);
  world.put(client, {.delay_s = 9});
  bury_many(client, 1);
  journal.written.clear();
  EXPECT_EQ(world.flush(client, "default", kAll).jobs, 3U);
  ASSERT_EQ(journal.written.size(), 3U);
  for (const FakeJournal::Record& record : journal.written) {
    EXPECT_EQ(record.kind, FakeJournal::Kind::deletion);
    EXPECT_EQ(record.tube, "default");
    const JobState state = record.id == 1   ? JobState::ready
                           : record.id == 2 ? JobState::delayed
                                            : JobState::buried;
    EXPECT_EQ(record.state, state);
    const Instant due = world.now + Duration::seconds(9);
    EXPECT_EQ(record.deadline, record.id == 2 ? due : Instant{});
  }
  EXPECT_EQ(world.tube().deletes, 0U);
}

// The command itself ------------------------------------------------------------------------------

TEST_F(EngineFlush, MoreThanOneSliceIsAnsweredWhenAllAreGone) {
  Client& client = world.connect();
  put_many(client, 2 * kSlice + 5);
  engine.steps() = 0;
  begin_flush(client);
  // The command costs a slice, however many jobs there are.
  EXPECT_LE(engine.steps(), std::uint64_t{kSlice} * Engine::kStepsPerJob);
  EXPECT_EQ(engine.counts().ready, kSlice + 5);
  EXPECT_EQ(world.tube().ready_jobs(), kSlice + 5);
  EXPECT_LE(engine.next_event(), world.now);
  engine.advance(world.now);
  EXPECT_EQ(engine.counts().ready, 5U);
  EXPECT_TRUE(world.take_deliveries().empty());
  engine.advance(world.now);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_flushed(client, 2 * kSlice + 5)}));
  EXPECT_FALSE(client.is_busy());
  EXPECT_GT(engine.next_event(), world.now);
}

TEST_F(EngineFlush, CountersFallAsTheJobsAreFreed) {
  Client& client = world.connect();
  bury_many(client, 10);
  put_many(client, kSlice, {.priority = 1});
  put_many(client, kSlice, {.delay_s = 99});
  begin_flush(client);
  const EngineCounts& counts = engine.counts();
  std::uint64_t before = ~std::uint64_t{0};
  while (engine.next_event() <= world.now) {
    const std::uint64_t all = counts.ready + counts.delayed + counts.buried;
    EXPECT_LT(all, before);
    EXPECT_EQ(counts.urgent, counts.ready);
    EXPECT_EQ(world.tube().ready_jobs(), counts.ready);
    EXPECT_EQ(world.tube().delayed_jobs(), counts.delayed);
    EXPECT_EQ(world.tube().buried, counts.buried);
    EXPECT_EQ(engine.jobs().size(), all);
    before = all;
    engine.advance(world.now);
    engine.check_invariants();
  }
  EXPECT_EQ(engine.jobs().size(), 0U);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_flushed(client, 2 * kSlice + 10)}));
}

// Effects on others -------------------------------------------------------------------------------

TEST_F(EngineFlush, NoCommandFindsAJobThatIsFlushed) {
  Client& client = world.connect();
  Client& other = world.connect();
  const Ids buried = bury_many(client, 2 * kSlice);
  const Ids ready = put_many(client, kSlice);
  const Ids delayed = put_many(client, kSlice, {.delay_s = 99});
  begin_flush(client);
  std::uint32_t unfreed = 0;
  for (const Ids& ids : {buried, ready, delayed}) {
    for (const JobId id : {ids.front(), ids[ids.size() / 2], ids.back()}) {
      if (engine.jobs().find(id) != JobRef::none) ++unfreed;
      EXPECT_EQ(engine.peek(id), JobRef::none);
      EXPECT_FALSE(engine.queries().report(id, world.now).has_value());
      EXPECT_EQ(engine.reserve_job(other, id, world.now).outcome, Outcome::not_found);
      EXPECT_EQ(engine.delete_job(other, id), Outcome::not_found);
      EXPECT_EQ(engine.kick_job(id, world.now), Outcome::not_found);
      EXPECT_EQ(engine.release(other, id, 1, 0, world.now), Outcome::not_found);
      EXPECT_EQ(engine.bury(other, id, 1), Outcome::not_found);
      EXPECT_EQ(engine.touch(other, id, world.now), Outcome::not_found);
      EXPECT_EQ(world.delete_batch(other, Ids{id}).not_found, 1U);
      engine.check_invariants();
    }
  }
  EXPECT_EQ(unfreed, 8U);  // All except the buried one, which was the first.
  EXPECT_EQ(engine.queries().peek_ready(other), JobRef::none);
  EXPECT_EQ(engine.queries().peek_delayed(other), JobRef::none);
  EXPECT_EQ(engine.queries().peek_buried(other), JobRef::none);
  EXPECT_EQ(world.reserve(other), 0U);
  for (const JobState state : {JobState::ready, JobState::delayed, JobState::buried}) {
    EXPECT_EQ(listed(state), Ids{});
  }
  EXPECT_EQ(scanned(), Ids{});
  EXPECT_EQ(world.kick(other, 10).jobs, 0U);
  finish();
  EXPECT_EQ(world.take_deliveries(), (Gots{got_flushed(client, 4 * kSlice)}));
}

TEST_F(EngineFlush, LeavesLaterJobs) {
  Client& client = world.connect();
  Client& other = world.connect();
  const Ids held = hold(other, 4);
  bury_many(client, kSlice);
  put_many(client, kSlice);
  put_many(client, kSlice, {.delay_s = 99});
  begin_flush(client);
  engine.advance(world.now);
  ASSERT_EQ(engine.release(other, held[0], 7, 0, world.now), Outcome::done);
  ASSERT_EQ(engine.release(other, held[1], 7, 50, world.now), Outcome::done);
  ASSERT_EQ(engine.bury(other, held[2], 7), Outcome::done);
  const JobId ready = world.put(other);
  const JobId delayed = world.put(other, {.delay_s = 20});
  engine.check_invariants();
  EXPECT_EQ(listed(JobState::ready), (Ids{held[0], ready}));
  EXPECT_EQ(listed(JobState::delayed), (Ids{delayed, held[1]}));
  EXPECT_EQ(listed(JobState::buried), Ids{held[2]});
  EXPECT_EQ(world.id_of(engine.queries().peek_buried(other)), held[2]);
  // A kick takes the current buried job, and then the delayed ones.
  EXPECT_EQ(world.kick(other, 10).jobs, 1U);
  EXPECT_EQ(world.state(held[2]), JobState::ready);
  EXPECT_EQ(world.kick(other, 10).jobs, 2U);
  EXPECT_EQ(world.reserve(other), held[0]);
  finish();
  EXPECT_EQ(world.take_deliveries(), (Gots{got_flushed(client, 3 * kSlice)}));
  EXPECT_EQ(engine.jobs().size(), 6U);
}

// A flush of buried jobs in progress must not hide the delayed ones from a kick.
TEST_F(EngineFlush, OfBuriedJobsLeavesTheDelayedOnesToAKick) {
  Client& client = world.connect();
  Client& other = world.connect();
  bury_many(client, 3 * kSlice);
  begin_flush(client, {.buried = true});
  engine.advance(world.now);
  EXPECT_EQ(world.tube().buried, kSlice);
  const JobId delayed = world.put(other, {.delay_s = 20});
  EXPECT_EQ(world.kick(other, 1).outcome, Outcome::done);
  EXPECT_EQ(world.state(delayed), JobState::ready);
  finish();
}

TEST_F(EngineFlush, ADelayedJobDoesNotBecomeReadyAnyMore) {
  Client& client = world.connect();
  Client& worker = world.connect();
  put_many(client, kSlice + 10, {.delay_s = 1});
  journal.refuse_from(11, JournalStatus::later);
  begin_flush(client);
  world.wait(worker);
  world.pass_s(3);
  engine.check_invariants();
  EXPECT_TRUE(world.take_deliveries().empty());
  journal.accept();
  engine.resume_tasks(world.now);
  finish();
  EXPECT_EQ(world.take_deliveries(), (Gots{got_flushed(client, kSlice + 10)}));
}

TEST_F(EngineFlush, WorkersGetLaterJobs) {
  Client& client = world.connect();
  Client& worker = world.connect();
  ASSERT_EQ(engine.pause("default", 5, world.now), Outcome::done);
  put_many(client, 2 * kSlice);
  world.wait(worker);
  begin_flush(client);
  ASSERT_EQ(engine.pause("default", 0, world.now), Outcome::done);
  EXPECT_TRUE(world.take_deliveries().empty());
  Client& producer = world.connect();
  const JobId id = world.put(producer);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_job(worker, id)}));
  finish();
}

TEST_F(EngineFlush, AClientWithVeryManyWatchesLearnsThatNoJobIsOffered) {
  Client& watcher = world.connect();
  for (int i = 0; i < 1500; ++i) {
    ASSERT_EQ(engine.watch(watcher, "t" + std::to_string(i)), Outcome::done);
  }
  Client& client = world.connect();
  ASSERT_EQ(engine.use(client, "t7"), Outcome::done);
  put_many(client, kSlice + 1);
  begin_flush(client, kAll, "t7");
  EXPECT_EQ(world.reserve(watcher), 0U);
  Client& producer = world.connect();
  ASSERT_EQ(engine.use(producer, "t7"), Outcome::done);
  const JobId id = world.put(producer);
  engine.check_invariants();
  EXPECT_EQ(world.reserve(watcher), id);
  finish();
}

TEST_F(EngineFlush, ContinuesWithoutItsClient) {
  Client& client = world.connect();
  ASSERT_EQ(engine.use(client, "t"), Outcome::done);
  put_many(client, 3 * kSlice);
  begin_flush(client, kAll, "t");
  world.disconnect(client);
  EXPECT_NE(engine.find_tube("t"), nullptr);
  finish();
  EXPECT_TRUE(world.take_deliveries().empty());
  EXPECT_EQ(engine.jobs().size(), 0U);
  EXPECT_EQ(engine.find_tube("t"), nullptr);
}

}  // namespace
}  // namespace haricot
