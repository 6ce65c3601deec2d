// Keys: a put with the key of a job of the tube adds no job.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "queue/engine_keys.hpp"
#include "support/allocations.hpp"

namespace haricot {
namespace {

using test::Again;
using test::EngineKeys;
using test::FakeJournal;
using test::got_job;
using test::Gots;
using test::raised;
using test::tombstone;

TEST_F(EngineKeys, APutOfAKeyThatAJobHasAddsNothing) {
  const JobId id = put();
  const EngineCounts before = engine.counts();
  const std::uint64_t memory = engine.memory().used_bytes();
  world.pass_s(5);
  EXPECT_EQ(again({.delay_s = 7, .ttr_s = 9, .body = "another", .tags = "idp:k"}), tombstone(id));
  EXPECT_EQ(engine.counts().total_jobs, before.total_jobs);
  EXPECT_EQ(engine.counts().ready, 1U);
  EXPECT_EQ(world.tube().total_jobs, 1U);
  EXPECT_EQ(engine.memory().used_bytes(), memory);
  EXPECT_EQ(journal.written.size(), 1U);
  EXPECT_EQ(world.report(id).age_s, 5U);
  EXPECT_EQ(world.report(id).delay_s, 0U);
  EXPECT_EQ(world.report(id).ttr_s, 60U);
  EXPECT_EQ(engine.jobs().body(engine.peek(id)), "body");
}

TEST_F(EngineKeys, AKeyIsOfOneTube) {
  const JobId id = put();
  ASSERT_EQ(engine.use(producer, "t"), Outcome::done);
  const JobId other = put();
  EXPECT_EQ(again(), tombstone(other));
  ASSERT_EQ(engine.use(producer, "default"), Outcome::done);
  EXPECT_EQ(again(), tombstone(id));
  EXPECT_EQ(again("idp:kk").outcome, Outcome::done);
}

TEST_F(EngineKeys, TheIdOfADuplicateIsLost) {
  put();
  EXPECT_EQ(again(), tombstone(1));
  EXPECT_EQ(put("idp:other"), 3U);
}

// Each owns its key, and is raised in its place.
TEST_F(EngineKeys, AJobHoldsItsKeyInEveryState) {
  const JobId ready = put("idp:ready");
  const JobId delayed = world.put(producer, {.delay_s = 9, .tags = "idp:delayed"});
  const JobId buried = put("idp:buried");
  bury(worker, buried);
  const JobId reserved = put("idp:reserved");
  ASSERT_EQ(engine.reserve_job(worker, reserved, world.now).outcome, Outcome::done);
  const std::pair<JobId, JobState> jobs[] = {{ready, JobState::ready},
                                             {delayed, JobState::delayed},
                                             {buried, JobState::buried},
                                             {reserved, JobState::reserved}};
  for (const auto& [id, state] : jobs) {
    const std::string tags = "idp:" + std::string(name_of(state));
    const std::uint32_t old = priority(id);
    EXPECT_EQ(again(tags, old), tombstone(id)) << tags;
    EXPECT_EQ(again(tags, old + 1), tombstone(id)) << tags;
    EXPECT_EQ(priority(id), old) << tags;
    journal.written.clear();
    EXPECT_EQ(again(tags, 0), raised(id)) << tags;
    EXPECT_EQ(priority(id), 0U) << tags;
    EXPECT_EQ(world.state(id), state) << tags;
    ASSERT_EQ(journal.written.size(), 1U) << tags;
    EXPECT_EQ(journal.written[0].kind, FakeJournal::Kind::update);
    EXPECT_EQ(journal.written[0].id, id);
    EXPECT_EQ(journal.written[0].priority, 0U);
    EXPECT_EQ(journal.written[0].state, state);
    EXPECT_EQ(again(tags, 0), tombstone(id)) << tags;
    EXPECT_EQ(journal.written.size(), 1U) << tags;
  }
  EXPECT_EQ(engine.counts().total_jobs, 4U);
}

TEST_F(EngineKeys, MovingAJobKeepsItsKey) {
  const JobId id = put();
  ASSERT_EQ(world.reserve(worker), id);
  ASSERT_EQ(engine.release(worker, id, 1, 5, world.now), Outcome::done);
  EXPECT_EQ(again(), tombstone(id));
  ASSERT_EQ(engine.kick_job(id, world.now), Outcome::done);
  EXPECT_EQ(again(), tombstone(id));
  ASSERT_EQ(world.reserve(worker), id);
  world.pass_s(60);
  EXPECT_EQ(world.report(id).timeouts, 1U);
  EXPECT_EQ(again(), tombstone(id));
  ASSERT_EQ(world.reserve(worker), id);
  world.disconnect(worker);
  EXPECT_EQ(world.state(id), JobState::ready);
  EXPECT_EQ(again(), tombstone(id));
}

TEST_F(EngineKeys, ADeletedJobGivesItsKeyBack) {
  const JobId one = put("idp:one");
  const JobId two = put("con:c idp:two");
  ASSERT_EQ(engine.delete_job(producer, one), Outcome::done);
  engine.check_invariants();
  const std::vector<JobId> ids{two, put("idp:one"), put("idp:three")};
  EXPECT_EQ(world.delete_batch(producer, ids).jobs, 3U);
  engine.check_invariants();
  for (const char* tags : {"idp:one", "con:c idp:two", "idp:three"}) {
    EXPECT_EQ(again(tags).outcome, Outcome::done) << tags;
  }
}

// Raising ---------------------------------------------------------------------------------------

TEST_F(EngineKeys, AJobThatIsRaisedIsServedSooner) {
  const JobId first = world.put(producer, {.priority = 50});
  const JobId second = put("idp:k", 2000);
  world.put(producer, {.priority = 60});
  EXPECT_EQ(engine.counts().urgent, 2U);
  EXPECT_EQ(again("idp:k", 49), raised(second));
  EXPECT_EQ(engine.counts().urgent, 3U);
  EXPECT_EQ(world.reserve(worker), second);
  EXPECT_EQ(world.reserve(worker), first);
}

TEST_F(EngineKeys, AJobThatIsRaisedKeepsItsDelayAndItsTurnAmongTheBuried) {
  const JobId delayed = world.put(producer, {.delay_s = 3, .tags = "idp:delayed"});
  const JobId buried = put("idp:buried");
  bury(worker, buried);
  const JobId after = put("idp:after");
  world.pass_s(1);
  bury(worker, after);
  EXPECT_EQ(again("idp:after", 0), raised(after));
  EXPECT_EQ(again("idp:delayed", 0), raised(delayed));
  EXPECT_EQ(journal.written.back().deadline, world.now + Duration::seconds(2));
  EXPECT_EQ(listed(JobState::buried), (Ids{buried, after}));
  world.pass_s(2);
  EXPECT_EQ(engine.queries().detail(world.tube(), world.now).oldest_buried_s, 3U);
  EXPECT_EQ(world.reserve(worker), delayed);
}

// The top of a tube's heap is all that clients with many watches see of it.
TEST_F(EngineKeys, ARaisedJobIsOfferedToAClientWithManyWatches) {
  for (std::uint32_t i = 0; i < WatchIndex::kManyFrom + 1; ++i) {
    ASSERT_EQ(engine.watch(worker, "tube-" + std::to_string(i)), Outcome::done);
  }
  ASSERT_EQ(engine.use(producer, "tube-1"), Outcome::done);
  world.put(producer, {.priority = 50});
  ASSERT_EQ(engine.use(producer, "tube-2"), Outcome::done);
  const JobId second = put("idp:k", 60);
  EXPECT_EQ(again("idp:k", 40), raised(second));
  EXPECT_EQ(world.reserve(worker), second);
}

TEST_F(EngineKeys, AJobThatIsRaisedGetsInFrontOfItsLane) {
  const JobId first = put("con:l idp:first", 10);
  const JobId second = put("con:l idp:second", 20);
  const JobId third = put("con:l idp:third", 30);
  EXPECT_EQ(again("con:l idp:third", 15), raised(third));
  EXPECT_EQ(listed(JobState::ready)[0], first);
  EXPECT_EQ(again("con:l idp:third", 5), raised(third));
  EXPECT_EQ(world.reserve(worker), third);
  // While it is full.
  EXPECT_EQ(again("con:l idp:second", 1), raised(second));
  EXPECT_EQ(again("con:l idp:third", 0), raised(third));
  EXPECT_EQ(world.reserve(worker), 0U);
  ASSERT_EQ(engine.delete_job(worker, third), Outcome::done);
  EXPECT_EQ(world.reserve(worker), second);
  ASSERT_EQ(engine.delete_job(worker, second), Outcome::done);
  EXPECT_EQ(again("con:l idp:first", 0), raised(first));
  EXPECT_EQ(world.reserve(worker), first);
}

TEST_F(EngineKeys, TheOtherTagsOfADuplicateHaveNoEffect) {
  put("con:l idp:first");
  const JobId second = put("con:l idp:second");
  EXPECT_EQ(again("try:1 con:l:5 idp:second"), tombstone(second));
  EXPECT_NE(world.reserve(worker), 0U);
  EXPECT_EQ(world.reserve(worker), 0U);
  EXPECT_EQ(world.report(second).tags, "con:l idp:second");
}

TEST_F(EngineKeys, ARaisedJobOfAPausedTubeIsDeliveredFirst) {
  ASSERT_EQ(engine.pause("default", 5, world.now), Outcome::done);
  world.wait(worker);
  put("idp:first", 10);
  const JobId second = put("idp:second", 20);
  EXPECT_EQ(again("idp:second", 5), raised(second));
  EXPECT_TRUE(world.take_deliveries().empty());
  world.pass_s(5);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_job(worker, second)}));
}

// Refusals --------------------------------------------------------------------------------------

TEST_F(EngineKeys, WithoutRoomNothingIsRaised) {
  const JobId id = put();
  const std::pair<JournalStatus, Outcome> rows[] = {
      {JournalStatus::full, Outcome::out_of_memory},
      {JournalStatus::failed, Outcome::journal_failed},
      {JournalStatus::later, Outcome::not_yet},
  };
  for (const auto& [status, outcome] : rows) {
    journal.refuse_from(1, status);
    EXPECT_EQ(again("idp:k", 1), (Again{outcome}));
    EXPECT_EQ(priority(id), 100U);
    // A put that records nothing needs no room.
    EXPECT_EQ(again("idp:k"), tombstone(id));
    journal.accept();
  }
  EXPECT_EQ(again("idp:k", 1), raised(id));
}

TEST_F(EngineKeys, ADuplicateIsRefusedWhereAnyPutWouldBe) {
  const JobId id = put();
  engine.memory().limit(2 * engine.memory().used_bytes());
  EXPECT_EQ(again(), tombstone(id));
  engine.memory().limit(2 * engine.memory().used_bytes() - 1);
  EXPECT_EQ(again(), (Again{Outcome::out_of_memory}));
  EXPECT_EQ(engine.counts().refused_puts, 1U);
}

// Any allocation fails, even if the key of a flushed job is taken over.
TEST_F(EngineKeys, APutThatFindsNoMemoryLeavesTheKey) {
  const JobId flushed = put();
  journal.refuse_from(1, JournalStatus::later);
  begin_flush(producer);
  journal.accept();
  const test::PutOptions options = {.tags = "con:a-lane-with-a-long-name idp:k"};
  journal.written.reserve(100);
  Outcome outcome = Outcome::out_of_memory;
  std::int64_t allocations = 0;
  while (outcome == Outcome::out_of_memory && allocations < 20) {
    const JobId id = engine.take_id();
    {
      const test::AllocationFailure failure(allocations++);
      outcome = world.try_put(worker, id, options);
    }
    engine.check_invariants();
  }
  ASSERT_EQ(outcome, Outcome::done);
  EXPECT_GT(allocations, 1);
  EXPECT_EQ(engine.jobs().size(), 2U);
  ASSERT_EQ(world.try_put(worker, engine.take_id(), {.tags = "idp:k"}), Outcome::duplicate);
  EXPECT_NE(world.id_of(engine.duplicate().job), flushed);
}

// Flushes ---------------------------------------------------------------------------------------

TEST_F(EngineKeys, AFlushFreesItsKeysWhenItArrives) {
  const JobId ready = put("idp:ready");
  world.put(producer, {.delay_s = 9, .tags = "idp:delayed"});
  bury(worker, put("idp:buried"));
  put_many(producer, 2 * kSlice);
  begin_flush(producer);
  Ids after;
  for (const char* tags : {"idp:ready", "idp:delayed", "idp:buried"}) {
    after.push_back(world.put(worker, {.tags = tags}));
    engine.check_invariants();
    const DuplicatePut& duplicate = engine.duplicate();
    ASSERT_EQ(world.try_put(worker, engine.take_id(), {.tags = tags}), Outcome::duplicate);
    EXPECT_EQ(world.id_of(duplicate.job), after.back());
  }
  finish();
  EXPECT_FALSE(world.exists(ready));
  (void)world.take_deliveries();
  EXPECT_EQ(again("idp:ready"), tombstone(after[0]));
  EXPECT_EQ(again("idp:buried"), tombstone(after[2]));
  EXPECT_EQ(engine.jobs().size(), 3U);
}

// A restart -------------------------------------------------------------------------------------

TEST(EngineRestoreOfKeys, TheHighestIdHoldsAKey) {
  test::World world;
  world.restore(3, JobState::ready, "idp:a", 9);
  world.restore(7, JobState::delayed, "con:l idp:a", 9);
  world.restore(5, JobState::buried, "idp:a", 9);
  world.restore(4, JobState::ready, "idp:b", 9);
  world.restore(6, JobState::ready, "idp:c:0", 9);  // Malformed tags name no key.
  world.engine.restoring().end(8);
  world.engine.check_invariants();
  Client& client = world.connect();
  const auto holder = [&](std::string_view tags) -> JobId {
    const Outcome outcome = world.try_put(client, world.engine.take_id(), {.tags = tags});
    return outcome == Outcome::duplicate ? world.id_of(world.engine.duplicate().job) : 0;
  };
  EXPECT_EQ(holder("idp:a"), 7U);
  EXPECT_EQ(holder("idp:b"), 4U);
  EXPECT_EQ(holder("idp:c"), 0U);
  EXPECT_EQ(world.engine.delete_job(client, 5), Outcome::done);
  EXPECT_EQ(holder("idp:a"), 7U);
  EXPECT_EQ(world.engine.delete_job(client, 7), Outcome::done);
  EXPECT_EQ(holder("idp:a"), 0U);
  EXPECT_TRUE(world.exists(3));
  world.engine.check_invariants();
}

}  // namespace
}  // namespace haricot
