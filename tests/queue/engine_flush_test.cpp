// Flushes: what one deletes, and what the others see of it while it is under way.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/engine_world.hpp"

namespace haricot {
namespace {

using test::FakeJournal;
using test::got_flush_failed;
using test::got_flushed;
using test::got_job;
using test::Gots;

constexpr JobStates kAll = {.ready = true, .delayed = true, .buried = true};

class EngineFlush : public test::EngineTest {
 protected:
  using Ids = std::vector<JobId>;
  static constexpr std::uint32_t kSlice = Engine::kJobsPerCall;

  // Each is put into the tube that the client uses.
  Ids put_many(Client& client, std::uint32_t jobs, const test::PutOptions& options = {}) {
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
    engine.list(world.tube(tube), state, 100'000, found);
    Ids ids;
    for (const JobRef ref : found) ids.push_back(world.id_of(ref));
    return ids;
  }
  Ids scanned() {
    Ids ids;
    JobId from = 1;
    do {
      std::vector<JobRef> found;
      from = engine.scan(from, 1000, nullptr, std::nullopt, found).next;
      for (const JobRef ref : found) ids.push_back(world.id_of(ref));
    } while (from != 0);
    return ids;
  }
  // A flush that is too long for one call.
  void begin_flush(Client& client, JobStates states = kAll, std::string_view tube = "default") {
    ASSERT_EQ(engine.flush(client, tube, states).outcome, Outcome::waiting);
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
    const ManyResult result = engine.flush(client, "default", row.states);
    EXPECT_EQ(result.outcome, Outcome::done);
    EXPECT_EQ(result.jobs, row.flushed);
    EXPECT_EQ(engine.counts().ready, row.ready);
    EXPECT_EQ(engine.counts().delayed, row.delayed);
    EXPECT_EQ(engine.counts().buried, row.buried);
    EXPECT_EQ(engine.counts().reserved, 1U);
    EXPECT_TRUE(world.exists(held[0]));
    engine.check_invariants();
    engine.advance(world.now);
    EXPECT_EQ(engine.flush(client, "default", kAll).jobs, 12 - row.flushed);
    ASSERT_EQ(engine.delete_job(client, held[0]), Outcome::done);
  }
  EXPECT_EQ(engine.jobs().size(), 0U);
}

TEST_F(EngineFlush, IsOfOneTube) {
  Client& client = world.connect();
  put_many(client, 2);
  EXPECT_EQ(engine.flush(client, "t", kAll).outcome, Outcome::not_found);
  ASSERT_EQ(engine.use(client, "t"), Outcome::done);
  put_many(client, 3);
  ASSERT_EQ(engine.use(client, "default"), Outcome::done);
  EXPECT_EQ(engine.flush(client, "t", kAll).jobs, 3U);
  // Nothing else refers to the tube.
  EXPECT_EQ(engine.find_tube("t"), nullptr);
  EXPECT_EQ(engine.counts().ready, 2U);
  EXPECT_EQ(engine.flush(client, "default", kAll).jobs, 2U);
  EXPECT_EQ(engine.flush(client, "default", kAll).jobs, 0U);
}

TEST_F(EngineFlush, RecordsEachDeletionWithWhatTheJobWas) {
  Client& client = world.connect();
  world.put(client);
  world.put(client, {.delay_s = 9});
  bury_many(client, 1);
  journal.written.clear();
  EXPECT_EQ(engine.flush(client, "default", kAll).jobs, 3U);
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

// The arrival itself --------------------------------------------------------------------------

TEST_F(EngineFlush, MoreThanOneSliceIsAnsweredWhenAllAreGone) {
  Client& client = world.connect();
  put_many(client, 2 * kSlice + 5);
  engine.take_steps();
  begin_flush(client);
  // The arrival costs a slice, however many jobs there are.
  EXPECT_LE(engine.take_steps(), std::uint64_t{kSlice} * Engine::kStepsPerJob);
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

// What the others see -------------------------------------------------------------------------

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
      EXPECT_FALSE(engine.report(id, world.now).has_value());
      EXPECT_EQ(engine.reserve_job(other, id, world.now).outcome, Outcome::not_found);
      EXPECT_EQ(engine.delete_job(other, id), Outcome::not_found);
      EXPECT_EQ(engine.kick_job(id, world.now), Outcome::not_found);
      EXPECT_EQ(engine.release(other, id, 1, 0, world.now), Outcome::not_found);
      EXPECT_EQ(engine.bury(other, id, 1), Outcome::not_found);
      EXPECT_EQ(engine.touch(other, id, world.now), Outcome::not_found);
      EXPECT_EQ(engine.delete_batch(other, Ids{id}).not_found, 1U);
      engine.check_invariants();
    }
  }
  EXPECT_EQ(unfreed, 8U);  // All but the buried one that was the first.
  EXPECT_EQ(engine.peek_ready(other), JobRef::none);
  EXPECT_EQ(engine.peek_delayed(other), JobRef::none);
  EXPECT_EQ(engine.peek_buried(other), JobRef::none);
  EXPECT_EQ(world.reserve(other), 0U);
  for (const JobState state : {JobState::ready, JobState::delayed, JobState::buried}) {
    EXPECT_EQ(listed(state), Ids{});
  }
  EXPECT_EQ(scanned(), Ids{});
  EXPECT_EQ(engine.kick(other, 10, world.now).jobs, 0U);
  finish();
  EXPECT_EQ(world.take_deliveries(), (Gots{got_flushed(client, 4 * kSlice)}));
}

TEST_F(EngineFlush, LeavesWhatComesBehindIt) {
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
  EXPECT_EQ(world.id_of(engine.peek_buried(other)), held[2]);
  // A kick takes the buried one of now, and the delayed ones when there is none.
  EXPECT_EQ(engine.kick(other, 10, world.now).jobs, 1U);
  EXPECT_EQ(world.state(held[2]), JobState::ready);
  EXPECT_EQ(engine.kick(other, 10, world.now).jobs, 2U);
  EXPECT_EQ(world.reserve(other), held[0]);
  finish();
  EXPECT_EQ(world.take_deliveries(), (Gots{got_flushed(client, 3 * kSlice)}));
  EXPECT_EQ(engine.jobs().size(), 6U);
}

// A flush of buried jobs that is under way must not hide the delayed ones from a kick.
TEST_F(EngineFlush, OfBuriedJobsLeavesTheDelayedOnesToAKick) {
  Client& client = world.connect();
  Client& other = world.connect();
  bury_many(client, 3 * kSlice);
  begin_flush(client, {.buried = true});
  engine.advance(world.now);
  EXPECT_EQ(world.tube().buried, kSlice);
  const JobId delayed = world.put(other, {.delay_s = 20});
  EXPECT_EQ(engine.kick(other, 1, world.now).outcome, Outcome::done);
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
  engine.go_on_with_tasks(world.now);
  finish();
  EXPECT_EQ(world.take_deliveries(), (Gots{got_flushed(client, kSlice + 10)}));
}

TEST_F(EngineFlush, WorkersGetWhatComesBehindIt) {
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

TEST_F(EngineFlush, AClientWithVeryManyWatchesIsToldThatNothingIsOffered) {
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

TEST_F(EngineFlush, GoesOnWithoutItsClient) {
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

// Several at once ------------------------------------------------------------------------------

// A list of buried jobs has a number while a flush is under way, and there are fewer numbers than
// there may be flushes.
TEST_F(EngineFlush, MoreOfOneTubeThanThereAreListsOfBuriedJobs) {
  Client& worker = world.connect();
  std::vector<Client*> clients;
  for (std::uint32_t i = 0; i < Job::kBurialLists + 2; ++i) {
    bury_many(worker, 3);
    journal.refuse_from(1, JournalStatus::later);
    clients.push_back(&world.connect());
    begin_flush(*clients.back());
    journal.accept();
    engine.check_invariants();
  }
  // Those with a number are gone for all; the others are still in the tube.
  EXPECT_EQ(world.tube().buried, 3U * clients.size());
  engine.go_on_with_tasks(world.now);
  finish();
  std::uint64_t flushed = 0;
  const Gots got = world.take_deliveries();
  EXPECT_EQ(got.size(), clients.size());
  for (const test::Got& one : got) {
    EXPECT_EQ(one.kind, Delivery::Kind::flushed);
    flushed += one.count;
  }
  EXPECT_EQ(flushed, 3U * clients.size());
  EXPECT_EQ(engine.jobs().size(), 0U);
  // All numbers are free again.
  bury_many(worker, 2);
  EXPECT_EQ(engine.flush(worker, "default", kAll).jobs, 2U);
}

// Those with the numbers belong to clients that are gone, and have their own half of a call: the
// one that is awaited must not spin while it waits for a number.
TEST_F(EngineFlush, OneThatWaitsForANumberDoesNotHoldTheCall) {
  Client& worker = world.connect();
  for (std::uint32_t i = 0; i < Job::kBurialLists - 1; ++i) {
    bury_many(worker, kSlice);
    engine.advance(world.now);
    Client& client = world.connect();
    journal.refuse_from(1, JournalStatus::later);
    begin_flush(client, {.buried = true});
    journal.accept();
    world.disconnect(client);
  }
  bury_many(worker, 5);
  engine.advance(world.now);
  Client& client = world.connect();
  journal.refuse_from(1, JournalStatus::later);
  begin_flush(client, {.buried = true});
  journal.accept();
  engine.go_on_with_tasks(world.now);
  engine.check_invariants();
  finish();
  EXPECT_EQ(world.take_deliveries(), (Gots{got_flushed(client, 5)}));
  EXPECT_EQ(engine.jobs().size(), 0U);
}

TEST_F(EngineFlush, SeveralWithBurialsInBetweenEachDeleteWhatWasThereAtTheirMoment) {
  Client& worker = world.connect();
  Gots expected;
  for (std::uint32_t i = 1; i < Job::kBurialLists; ++i) {
    bury_many(worker, i);
    Client& client = world.connect();
    journal.refuse_from(1, JournalStatus::later);
    begin_flush(client);
    journal.accept();
    expected.push_back(got_flushed(client, i));
    EXPECT_EQ(listed(JobState::buried), Ids{});
  }
  const Ids left = bury_many(worker, 3);
  engine.go_on_with_tasks(world.now);
  finish();
  EXPECT_EQ(world.take_deliveries(), expected);
  EXPECT_EQ(listed(JobState::buried), left);
}

// The journal ----------------------------------------------------------------------------------

TEST_F(EngineFlush, ThatHasToWaitForTheDiskIsNoReasonForATurn) {
  Client& client = world.connect();
  put_many(client, 10);
  journal.refuse_from(4, JournalStatus::later);
  begin_flush(client);
  EXPECT_TRUE(engine.tasks_wait());
  EXPECT_GT(engine.next_event(), world.now);
  EXPECT_EQ(engine.counts().ready, 7U);
  engine.advance(world.now);
  EXPECT_TRUE(world.take_deliveries().empty());
  engine.go_on_with_tasks(world.now);
  EXPECT_TRUE(engine.tasks_wait());
  journal.accept();
  engine.go_on_with_tasks(world.now);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_flushed(client, 10)}));
}

TEST_F(EngineFlush, ThatTheJournalRefusesPutsBackWhatIsLeft) {
  for (const bool at_once : {true, false}) {
    Client& client = world.connect();
    Client& worker = world.connect();
    Ids buried = bury_many(worker, 6);
    const Ids delayed = {world.put(worker, {.delay_s = 30}), world.put(worker, {.delay_s = 10}),
                         world.put(worker, {.delay_s = 20})};
    const Ids ready = {world.put(worker, {.priority = 8}), world.put(worker, {.priority = 3})};
    journal.refuse_from(at_once ? 1 : 4, JournalStatus::failed);
    begin_flush(client);
    journal.accept();
    // Meanwhile another one is buried.
    const Ids later = bury_many(worker, 1);
    const Instant due = world.now + Duration::seconds(10);
    finish();
    const std::uint64_t gone = at_once ? 0 : 3;
    EXPECT_EQ(world.take_deliveries(), (Gots{got_flush_failed(client, gone)}));
    buried.erase(buried.begin(), buried.begin() + static_cast<std::ptrdiff_t>(gone));
    buried.push_back(later[0]);
    EXPECT_EQ(listed(JobState::buried), buried);
    EXPECT_EQ(listed(JobState::delayed), (Ids{delayed[1], delayed[2], delayed[0]}));
    EXPECT_EQ(listed(JobState::ready), (Ids{ready[1], ready[0]}));
    EXPECT_EQ(world.report(delayed[1]).time_left_s, (due - world.now).whole_seconds());
    // And they are as good as before.
    EXPECT_EQ(engine.kick(client, 1, world.now).jobs, 1U);
    EXPECT_EQ(world.state(buried[0]), JobState::ready);
    world.pass_s(10);
    EXPECT_EQ(world.state(delayed[1]), JobState::ready);
    EXPECT_EQ(engine.flush(client, "default", kAll).jobs, buried.size() + 5);
    EXPECT_EQ(engine.jobs().size(), 0U);
  }
}

TEST_F(EngineFlush, WhatIsPutBackGoesToWhoWaitsForIt) {
  Client& client = world.connect();
  Client& worker = world.connect();
  const JobId id = world.put(client);
  journal.refuse_from(1, JournalStatus::full);
  begin_flush(client);
  world.wait(worker);
  finish();
  EXPECT_EQ(world.take_deliveries(), (Gots{got_job(worker, id), got_flush_failed(client, 0)}));
}

TEST_F(EngineFlush, PutsBackMuchInSeveralCallsToo) {
  Client& client = world.connect();
  const Ids buried = bury_many(client, kSlice + 7);
  const Ids ready = put_many(client, kSlice + 9);
  put_many(client, kSlice + 11, {.delay_s = 99});
  journal.refuse_from(1, JournalStatus::failed);
  begin_flush(client);
  journal.accept();
  engine.advance(world.now);
  EXPECT_TRUE(client.is_busy());
  engine.check_invariants();
  finish();
  EXPECT_EQ(world.take_deliveries(), (Gots{got_flush_failed(client, 0)}));
  EXPECT_EQ(listed(JobState::buried), buried);
  EXPECT_EQ(listed(JobState::ready), ready);
  EXPECT_EQ(listed(JobState::delayed).size(), kSlice + 11);
}

// The binlog asks for a job that it moves to another file, flushed or not.
TEST_F(EngineFlush, TheJournalCanAskForAJobThatIsNotFreedYet) {
  Client& client = world.connect();
  const JobId soon = world.put(client, {.delay_s = 10});
  const JobId late = world.put(client, {.delay_s = 90});
  const Ids buried = bury_many(client, 1);
  const JobRef refs[] = {engine.peek(soon), engine.peek(late), engine.peek(buried[0])};
  journal.refuse_from(1, JournalStatus::later);
  begin_flush(client);
  journal.accept();
  world.put(world.connect(), {.delay_s = 1});  // Which stands in the tube where another one stood.
  for (const JobRef ref : refs) {
    const JournaledJob job = engine.journaled(ref);
    EXPECT_EQ(job.ref, ref);
    EXPECT_EQ(job.tube_name, "default");
  }
  EXPECT_EQ(engine.journaled(refs[0]).deadline, world.now + Duration::seconds(10));
  EXPECT_EQ(engine.journaled(refs[1]).deadline, world.now + Duration::seconds(90));
  engine.go_on_with_tasks(world.now);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_flushed(client, 3)}));
}

}  // namespace
}  // namespace haricot
