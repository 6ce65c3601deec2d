// Single commands of the engine.

#include "haricot/queue/engine.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/engine_world.hpp"

namespace haricot {
namespace {

class EngineCommands : public test::EngineTest {};

// put ---------------------------------------------------------------------------------------------

TEST_F(EngineCommands, PutMakesAReadyJobInTheUsedTube) {
  Client& client = world.connect();
  const JobId id = world.put(client, {.priority = 7, .ttr_s = 9, .body = "hello"});
  const JobReport report = world.report(id);
  EXPECT_EQ(report.id, id);
  EXPECT_EQ(report.tube->name, "default");
  EXPECT_EQ(report.state, JobState::ready);
  EXPECT_EQ(report.priority, 7u);
  EXPECT_EQ(report.delay_s, 0u);
  EXPECT_EQ(report.ttr_s, 9u);
  EXPECT_EQ(report.age_s, 0u);
  EXPECT_EQ(report.time_left_s, 0u);
  EXPECT_EQ(report.reserves + report.timeouts + report.releases + report.buries + report.kicks, 0u);
  EXPECT_EQ(engine.jobs().body(engine.peek(id)), "hello");
  EXPECT_EQ(engine.counts().ready, 1u);
  EXPECT_EQ(engine.counts().urgent, 1u);
  EXPECT_EQ(engine.counts().total_jobs, 1u);
  EXPECT_EQ(world.tube().total_jobs, 1u);
}

TEST_F(EngineCommands, IdsCountUpFromOneAndAreNeverGivenTwice) {
  EXPECT_EQ(engine.take_id(), 1u);
  EXPECT_EQ(engine.take_id(), 2u);
  Client& client = world.connect();
  const JobId id = world.put(client);
  EXPECT_EQ(id, 3u);
  EXPECT_EQ(engine.delete_job(client, id), Outcome::done);
  EXPECT_EQ(engine.take_id(), 4u);
}

TEST_F(EngineCommands, ATtrOfZeroBecomesOne) {
  Client& client = world.connect();
  EXPECT_EQ(world.report(world.put(client, {.ttr_s = 0})).ttr_s, 1u);
}

TEST_F(EngineCommands, APutWithADelayIsDelayedUntilItEnds) {
  Client& client = world.connect();
  const JobId id = world.put(client, {.priority = 5, .delay_s = 10});
  EXPECT_EQ(world.state(id), JobState::delayed);
  EXPECT_EQ(world.report(id).time_left_s, 10u);
  EXPECT_EQ(engine.counts().delayed, 1u);
  EXPECT_EQ(engine.counts().urgent, 0u);
  world.pass_ms(9999);
  EXPECT_EQ(world.state(id), JobState::delayed);
  EXPECT_EQ(world.report(id).time_left_s, 0u);
  world.pass_ms(1);
  EXPECT_EQ(world.state(id), JobState::ready);
  EXPECT_EQ(world.report(id).delay_s, 10u);
  EXPECT_EQ(engine.counts().urgent, 1u);
}

TEST_F(EngineCommands, MarkingAProducerCountsItOnce) {
  Client& client = world.connect();
  engine.mark_producer(client);
  engine.mark_producer(client);
  EXPECT_EQ(engine.counts().producers, 1u);
  world.disconnect(client);
  EXPECT_EQ(engine.counts().producers, 0u);
}

// reserve -----------------------------------------------------------------------------------------

TEST_F(EngineCommands, ReserveGivesTheSmallestPriorityThenTheSmallestId) {
  Client& client = world.connect();
  const JobId a = world.put(client, {.priority = 5});
  const JobId b = world.put(client, {.priority = 0});
  const JobId c = world.put(client, {.priority = 4294967295});
  const JobId d = world.put(client, {.priority = 5});
  EXPECT_EQ(world.reserve(client), b);
  EXPECT_EQ(world.reserve(client), a);
  EXPECT_EQ(world.reserve(client), d);
  EXPECT_EQ(world.reserve(client), c);
  EXPECT_EQ(world.reserve(client), 0u);
}

TEST_F(EngineCommands, ReserveTakesJobsOfAllWatchedTubesOnly) {
  Client& producer = world.connect();
  Client& worker = world.connect();
  std::vector<JobId> ids;
  for (const char* tube : {"a", "b", "c"}) {
    ASSERT_EQ(engine.use(producer, tube), Outcome::done);
    ids.push_back(world.put(producer, {.priority = 10}));
  }
  ASSERT_EQ(engine.use(producer, "b"), Outcome::done);
  const JobId urgent = world.put(producer, {.priority = 9});
  // The order of watching does not matter: b's job is older than c's.
  ASSERT_EQ(engine.watch(worker, "c"), Outcome::done);
  ASSERT_EQ(engine.watch(worker, "b"), Outcome::done);
  EXPECT_EQ(world.reserve(worker), urgent);
  EXPECT_EQ(world.reserve(worker), ids[1]);
  EXPECT_EQ(world.reserve(worker), ids[2]);
  EXPECT_EQ(world.reserve(worker), 0u);
  EXPECT_EQ(world.state(ids[0]), JobState::ready);
}

TEST_F(EngineCommands, AReservedJobCountsAndItsTtrRuns) {
  Client& client = world.connect();
  const JobId id = world.put(client, {.priority = 1, .ttr_s = 30});
  ASSERT_EQ(world.reserve(client), id);
  EXPECT_EQ(world.state(id), JobState::reserved);
  EXPECT_EQ(client.held_jobs(), 1u);
  EXPECT_EQ(engine.counts().reserved, 1u);
  EXPECT_EQ(engine.counts().ready, 0u);
  EXPECT_EQ(engine.counts().urgent, 0u);
  EXPECT_EQ(engine.counts().workers, 1u);
  EXPECT_EQ(world.report(id).reserves, 1u);
  world.pass_s(12);
  EXPECT_EQ(world.report(id).time_left_s, 18u);
  EXPECT_EQ(world.report(id).age_s, 12u);
}

TEST_F(EngineCommands, ReserveWithoutAJobTimesOutAtOnceIfItMayNotWait) {
  Client& client = world.connect();
  EXPECT_EQ(engine.reserve(client, world.now, world.now).outcome, Outcome::timed_out);
  EXPECT_EQ(engine.reserve(client, world.now - Duration::seconds(1), world.now).outcome,
            Outcome::timed_out);
  EXPECT_FALSE(client.is_busy());
  EXPECT_EQ(engine.counts().workers, 1u);
  EXPECT_EQ(engine.counts().waiting, 0u);
}

// reserve_job -------------------------------------------------------------------------------------

TEST_F(EngineCommands, ReserveJobTakesReadyDelayedAndBuriedJobsOfAnyTube) {
  Client& other = world.connect();
  Client& client = world.connect();
  ASSERT_EQ(engine.use(other, "unwatched"), Outcome::done);
  const JobId buried = world.put(other, {.priority = 3});
  ASSERT_EQ(engine.reserve_job(other, buried, world.now).outcome, Outcome::done);
  ASSERT_EQ(engine.bury(other, buried, 4), Outcome::done);
  const JobId ready = world.put(other);
  const JobId delayed = world.put(other, {.delay_s = 100, .ttr_s = 20});
  ASSERT_EQ(engine.pause("unwatched", 1000, world.now), Outcome::done);
  for (const JobId id : {ready, delayed, buried}) {
    const ReserveResult result = engine.reserve_job(client, id, world.now);
    ASSERT_EQ(result.outcome, Outcome::done);
    EXPECT_EQ(world.id_of(result.job), id);
    EXPECT_EQ(world.state(id), JobState::reserved);
    engine.check_invariants();
  }
  EXPECT_EQ(world.report(delayed).delay_s, 100u);
  EXPECT_EQ(world.report(delayed).time_left_s, 20u);
  EXPECT_EQ(world.report(buried).priority, 4u);
  EXPECT_EQ(world.report(buried).reserves, 2u);
  EXPECT_EQ(engine.counts().reserved, 3u);
}

TEST_F(EngineCommands, ReserveJobDoesNotFindAReservedOrMissingJob) {
  Client& client = world.connect();
  Client& other = world.connect();
  const JobId id = world.put(client);
  ASSERT_EQ(world.reserve(client), id);
  EXPECT_EQ(engine.reserve_job(client, id, world.now).outcome, Outcome::not_found);
  EXPECT_EQ(engine.reserve_job(other, id, world.now).outcome, Outcome::not_found);
  EXPECT_EQ(engine.reserve_job(other, 999, world.now).outcome, Outcome::not_found);
  EXPECT_EQ(engine.reserve_job(other, 0, world.now).outcome, Outcome::not_found);
  EXPECT_EQ(engine.counts().workers, 1u);  // A client that found nothing is not a worker yet.
}

// delete ------------------------------------------------------------------------------------------

TEST_F(EngineCommands, RemoveTakesAnyJobThatNoOtherClientHolds) {
  Client& client = world.connect();
  Client& other = world.connect();
  const JobId ready = world.put(client);
  const JobId delayed = world.put(client, {.delay_s = 10});
  const JobId buried = world.put(client);
  ASSERT_EQ(engine.reserve_job(client, buried, world.now).outcome, Outcome::done);
  ASSERT_EQ(engine.bury(client, buried, 1), Outcome::done);
  const JobId held = world.put(client);
  ASSERT_EQ(engine.reserve_job(client, held, world.now).outcome, Outcome::done);

  EXPECT_EQ(engine.delete_job(other, held), Outcome::not_found);
  EXPECT_EQ(engine.delete_job(other, ready), Outcome::done);
  EXPECT_EQ(engine.delete_job(other, delayed), Outcome::done);
  EXPECT_EQ(engine.delete_job(other, buried), Outcome::done);
  EXPECT_EQ(engine.delete_job(client, held), Outcome::done);
  EXPECT_EQ(engine.delete_job(client, held), Outcome::not_found);
  EXPECT_EQ(engine.jobs().size(), 0u);
  EXPECT_EQ(world.tube().deletes, 4u);
  EXPECT_EQ(engine.counts().total_jobs, 4u);
}

// An empty heap frees its memory, so the record reads the job before.
TEST_F(EngineCommands, RemovingAllOfManyDelayedJobsRecordsEach) {
  Client& client = world.connect();
  std::vector<JobId> ids;
  for (std::uint32_t i = 0; i < 2000; ++i) ids.push_back(world.put(client, {.delay_s = 1000 + i}));
  journal.written.clear();
  for (const JobId id : ids) ASSERT_EQ(engine.delete_job(client, id), Outcome::done);
  ASSERT_EQ(journal.written.size(), ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(journal.written[i].id, ids[i]);
}

// release -----------------------------------------------------------------------------------------

TEST_F(EngineCommands, ReleaseGivesTheJobBackWithANewPriority) {
  Client& client = world.connect();
  const JobId id = world.put(client, {.priority = 5000, .delay_s = 1});
  world.pass_s(1);
  ASSERT_EQ(world.reserve(client), id);
  EXPECT_EQ(engine.release(client, id, 3, 0, world.now), Outcome::done);
  EXPECT_EQ(world.state(id), JobState::ready);
  EXPECT_EQ(world.report(id).priority, 3u);
  EXPECT_EQ(world.report(id).delay_s, 0u);
  EXPECT_EQ(world.report(id).releases, 1u);
  EXPECT_EQ(engine.counts().urgent, 1u);
  EXPECT_EQ(client.held_jobs(), 0u);
}

TEST_F(EngineCommands, ReleaseWithADelayDelaysTheJob) {
  Client& client = world.connect();
  const JobId id = world.put(client);
  ASSERT_EQ(world.reserve(client), id);
  EXPECT_EQ(engine.release(client, id, 3, 4294967295, world.now), Outcome::done);
  EXPECT_EQ(world.state(id), JobState::delayed);
  EXPECT_EQ(world.report(id).time_left_s, 4294967295u);
  EXPECT_EQ(world.report(id).delay_s, 4294967295u);
}

TEST_F(EngineCommands, AReleasedJobGoesBackInFrontOfLaterOnes) {
  Client& client = world.connect();
  const JobId first = world.put(client);
  const JobId second = world.put(client);
  ASSERT_EQ(world.reserve(client), first);
  ASSERT_EQ(engine.release(client, first, 100, 0, world.now), Outcome::done);
  EXPECT_EQ(world.reserve(client), first);
  EXPECT_EQ(world.reserve(client), second);
}

TEST_F(EngineCommands, AHeldJobDoesNotExistForOtherClients) {
  Client& holder = world.connect();
  Client& other = world.connect();
  const JobId held = world.put(holder);
  const JobId ready = world.put(holder);
  ASSERT_EQ(world.reserve(holder), held);
  for (const JobId id : {held, ready, JobId{999}}) {
    EXPECT_EQ(engine.release(other, id, 1, 0, world.now), Outcome::not_found);
    EXPECT_EQ(engine.bury(other, id, 1), Outcome::not_found);
    EXPECT_EQ(engine.touch(other, id, world.now), Outcome::not_found);
  }
  EXPECT_EQ(engine.release(holder, ready, 1, 0, world.now), Outcome::not_found);
  EXPECT_EQ(world.state(held), JobState::reserved);
  EXPECT_EQ(engine.kick_job(held, world.now), Outcome::not_found);
}

// bury, touch -------------------------------------------------------------------------------------

TEST_F(EngineCommands, BuriedJobsStayInTheOrderInWhichTheyWereBuried) {
  Client& client = world.connect();
  std::vector<JobId> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(world.put(client));
  for (int i = 0; i < 4; ++i) ASSERT_NE(world.reserve(client), 0u);
  for (const int i : {2, 0, 3, 1}) {
    const JobId id = ids[static_cast<std::size_t>(i)];
    ASSERT_EQ(engine.bury(client, id, 7), Outcome::done);
    EXPECT_EQ(world.report(id).buries, 1u);
    EXPECT_EQ(world.report(id).priority, 7u);
  }
  // A job from the middle is reserved and buried again: it is last then.
  ASSERT_EQ(engine.reserve_job(client, ids[0], world.now).outcome, Outcome::done);
  ASSERT_EQ(engine.bury(client, ids[0], 7), Outcome::done);
  engine.check_invariants();
  for (const int i : {2, 3, 1, 0}) {
    const JobId id = ids[static_cast<std::size_t>(i)];
    EXPECT_EQ(world.id_of(engine.queries().peek_buried(client)), id);
    EXPECT_EQ(world.kick(client, 1).jobs, 1u);
    EXPECT_EQ(world.state(id), JobState::ready);
  }
  EXPECT_EQ(engine.queries().peek_buried(client), JobRef::none);
}

TEST_F(EngineCommands, TouchStartsTheTtrAnew) {
  Client& client = world.connect();
  const JobId id = world.put(client, {.ttr_s = 10});
  ASSERT_EQ(world.reserve(client), id);
  world.pass_s(9);
  EXPECT_EQ(engine.touch(client, id, world.now), Outcome::done);
  EXPECT_EQ(world.report(id).time_left_s, 10u);
  world.pass_s(9);
  EXPECT_EQ(world.state(id), JobState::reserved);
  world.pass_s(1);
  EXPECT_EQ(world.state(id), JobState::ready);
  EXPECT_EQ(engine.touch(client, id, world.now), Outcome::not_found);
}

// peek --------------------------------------------------------------------------------------------

TEST_F(EngineCommands, PeekShowsTheNextOfEachKindInTheUsedTube) {
  Client& client = world.connect();
  EXPECT_EQ(engine.queries().peek_ready(client), JobRef::none);
  EXPECT_EQ(engine.queries().peek_delayed(client), JobRef::none);
  EXPECT_EQ(engine.queries().peek_buried(client), JobRef::none);
  world.put(client, {.priority = 5});
  const JobId ready = world.put(client, {.priority = 4});
  world.put(client, {.delay_s = 20});
  const JobId delayed = world.put(client, {.delay_s = 10});
  ASSERT_EQ(engine.pause("default", 100, world.now), Outcome::done);
  EXPECT_EQ(world.id_of(engine.queries().peek_ready(client)), ready);
  EXPECT_EQ(world.id_of(engine.queries().peek_delayed(client)), delayed);
  EXPECT_EQ(world.id_of(engine.peek(delayed)), delayed);
  EXPECT_EQ(engine.peek(999), JobRef::none);
  ASSERT_EQ(engine.use(client, "other"), Outcome::done);
  EXPECT_EQ(engine.queries().peek_ready(client), JobRef::none);
  EXPECT_EQ(engine.queries().peek_delayed(client), JobRef::none);
}

// kick --------------------------------------------------------------------------------------------

TEST_F(EngineCommands, KickTakesBuriedJobsAndDelayedOnesOnlyIfThereIsNoBuried) {
  Client& client = world.connect();
  const JobId later = world.put(client, {.delay_s = 20});
  const JobId sooner = world.put(client, {.delay_s = 10});
  const JobId buried = world.put(client);
  ASSERT_EQ(world.reserve(client), buried);
  ASSERT_EQ(engine.bury(client, buried, 1), Outcome::done);

  EXPECT_EQ(world.kick(client, 0).jobs, 0u);
  EXPECT_EQ(world.kick(client, 10).jobs, 1u);
  EXPECT_EQ(world.state(buried), JobState::ready);
  EXPECT_EQ(world.report(buried).kicks, 1u);
  EXPECT_EQ(world.state(sooner), JobState::delayed);
  EXPECT_EQ(world.kick(client, 1).jobs, 1u);
  EXPECT_EQ(world.state(sooner), JobState::ready);
  EXPECT_EQ(world.report(sooner).delay_s, 10u);
  EXPECT_EQ(world.state(later), JobState::delayed);
  EXPECT_EQ(world.kick(client, 4294967295).jobs, 1u);
  const test::Ended nothing = world.kick(client, 10);
  EXPECT_EQ(nothing.outcome, Outcome::done);
  EXPECT_EQ(nothing.jobs, 0u);
}

TEST_F(EngineCommands, KickDoesNotTouchOtherTubes) {
  Client& client = world.connect();
  const JobId id = world.put(client, {.delay_s = 20});
  ASSERT_EQ(engine.use(client, "other"), Outcome::done);
  EXPECT_EQ(world.kick(client, 10).jobs, 0u);
  EXPECT_EQ(world.state(id), JobState::delayed);
}

TEST_F(EngineCommands, KickJobTakesOneBuriedOrDelayedJobOfAnyTube) {
  Client& client = world.connect();
  Client& other = world.connect();
  ASSERT_EQ(engine.use(client, "tube"), Outcome::done);
  const JobId delayed = world.put(client, {.delay_s = 20});
  const JobId buried = world.put(client);
  ASSERT_EQ(engine.reserve_job(client, buried, world.now).outcome, Outcome::done);
  ASSERT_EQ(engine.bury(client, buried, 1), Outcome::done);
  EXPECT_EQ(engine.kick_job(delayed, world.now), Outcome::done);
  EXPECT_EQ(engine.kick_job(buried, world.now), Outcome::done);
  EXPECT_EQ(world.report(buried).kicks, 1u);
  EXPECT_EQ(engine.kick_job(buried, world.now), Outcome::not_found);
  EXPECT_EQ(engine.kick_job(999, world.now), Outcome::not_found);
  ASSERT_EQ(engine.watch(other, "tube"), Outcome::done);
  EXPECT_EQ(world.reserve(other), buried);
  EXPECT_EQ(world.reserve(other), delayed);
}

// pause -------------------------------------------------------------------------------------------

TEST_F(EngineCommands, NoJobOfAPausedTubeIsReserved) {
  Client& client = world.connect();
  const JobId id = world.put(client);
  EXPECT_EQ(engine.pause("default", 10, world.now), Outcome::done);
  EXPECT_EQ(engine.pause("no-such-tube", 10, world.now), Outcome::not_found);
  EXPECT_EQ(world.reserve(client), 0u);
  EXPECT_EQ(world.tube().pause_s, 10u);
  EXPECT_EQ(world.tube().pauses, 1u);
  world.pass_ms(9999);
  EXPECT_EQ(world.reserve(client), 0u);
  world.pass_ms(1);
  EXPECT_EQ(world.tube().pause_s, 0u);
  EXPECT_EQ(world.reserve(client), id);
}

TEST_F(EngineCommands, ALaterPauseReplacesTheFirstAndZeroEndsIt) {
  Client& client = world.connect();
  const JobId id = world.put(client);
  ASSERT_EQ(engine.pause("default", 1000, world.now), Outcome::done);
  ASSERT_EQ(engine.pause("default", 5, world.now), Outcome::done);
  world.pass_s(5);
  EXPECT_EQ(world.reserve(client), id);
  ASSERT_EQ(engine.release(client, id, 1, 0, world.now), Outcome::done);
  ASSERT_EQ(engine.pause("default", 5, world.now), Outcome::done);
  ASSERT_EQ(engine.pause("default", 1000, world.now), Outcome::done);
  world.pass_s(999);
  EXPECT_EQ(world.reserve(client), 0u);
  ASSERT_EQ(engine.pause("default", 0, world.now), Outcome::done);
  EXPECT_EQ(world.tube().pause_s, 0u);
  EXPECT_EQ(world.reserve(client), id);
  EXPECT_EQ(world.tube().pauses, 5u);
}

TEST_F(EngineCommands, APauseOf136YearsHolds) {
  Client& client = world.connect();
  world.put(client);
  ASSERT_EQ(engine.pause("default", 4294967295, world.now), Outcome::done);
  world.pass_s(4294967294);
  EXPECT_EQ(world.reserve(client), 0u);
  world.pass_s(1);
  EXPECT_NE(world.reserve(client), 0u);
}

// report ------------------------------------------------------------------------------------------

TEST_F(EngineCommands, ThereIsNoReportOfAMissingJob) {
  EXPECT_FALSE(engine.queries().report(1, world.now).has_value());
}

TEST_F(EngineCommands, AReportNamesTheJournalsFile) {
  Client& client = world.connect();
  journal.file = 17;
  EXPECT_EQ(world.report(world.put(client)).file, 17u);
}

}  // namespace
}  // namespace haricot
