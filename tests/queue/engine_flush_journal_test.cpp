// Flushes whose journal waits for its disk, refuses, or asks for a job.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "queue/engine_flush.hpp"
#include "support/engine_world.hpp"

namespace haricot {
namespace {

using test::EngineFlush;
using test::got_flush_failed;
using test::got_flushed;
using test::got_job;
using test::Gots;

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
