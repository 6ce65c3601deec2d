// Flushes whose journal waits for its disk, refuses, or reads a job.

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
using test::Gots;

TEST_F(EngineFlush, ThatHasToWaitForTheDiskIsNoReasonForATurn) {
  Client& client = world.connect();
  put_many(client, 10);
  journal.refuse_from(5, JournalStatus::later);  // It takes room before it begins.
  begin_flush(client);
  EXPECT_TRUE(client.is_busy());
  EXPECT_GT(engine.next_event(), world.now);
  EXPECT_EQ(engine.counts().ready, 7U);
  engine.advance(world.now);
  EXPECT_TRUE(world.take_deliveries().empty());
  engine.resume_tasks(world.now);
  EXPECT_TRUE(client.is_busy());
  journal.accept();
  engine.resume_tasks(world.now);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_flushed(client, 10)}));
}

TEST_F(EngineFlush, ThatIsRefusedAtOnceHasNotBegun) {
  Client& client = world.connect();
  const Ids ready = put_many(client, 3);
  const Ids buried = bury_many(client, 2);
  for (const JournalStatus status : {JournalStatus::failed, JournalStatus::full}) {
    journal.refuse_from(1, status);
    EXPECT_EQ(world.flush(client, "default", kAll).outcome, Outcome::journal_failed);
    EXPECT_FALSE(client.is_busy());
    engine.check_invariants();
    journal.accept();
  }
  EXPECT_EQ(listed(JobState::ready), ready);
  EXPECT_EQ(listed(JobState::buried), buried);
  // A tube without such jobs needs no room in the journal.
  journal.refuse_from(1, JournalStatus::failed);
  EXPECT_EQ(world.flush(client, "default", {.delayed = true}).outcome, Outcome::done);
  journal.accept();
  EXPECT_EQ(world.flush(client, "default", kAll).jobs, 5U);
}

// The client is answered at once. No job returns, and the rest stays invisible.
TEST_F(EngineFlush, ThatIsRefusedLaterContinuesUntilAllIsRecorded) {
  for (const bool in_a_turn : {false, true}) {
    Client& client = world.connect();
    Client& worker = world.connect();
    const std::uint32_t jobs = in_a_turn ? kSlice + 100 : 100;
    put_many(client, jobs);
    engine.advance(world.now);
    journal.written.clear();
    journal.refuse_from(in_a_turn ? kSlice + 50 : 50, JournalStatus::failed);
    const test::Ended result = world.flush(client, "default", kAll);
    if (in_a_turn) {
      EXPECT_EQ(result.outcome, Outcome::waiting);
      engine.advance(world.now);
      EXPECT_EQ(world.take_deliveries(), (Gots{got_flush_failed(client, kSlice + 48)}));
    } else {
      EXPECT_EQ(result.outcome, Outcome::journal_failed);
    }
    EXPECT_FALSE(client.is_busy());
    EXPECT_EQ(world.reserve(worker), 0U);
    EXPECT_EQ(listed(JobState::ready), Ids{});
    EXPECT_EQ(engine.counts().ready, 52U);
    // It retries, but not continuously.
    EXPECT_GT(engine.next_event(), world.now);
    const std::uint64_t asked = journal.asked;
    world.pass_s(1);
    EXPECT_GT(journal.asked, asked);
    EXPECT_LE(journal.asked, asked + 25);
    EXPECT_EQ(engine.counts().ready, 52U);
    // Jobs that are put meanwhile stay.
    journal.accept();
    const JobId later = world.put(worker);
    engine.check_invariants();
    world.pass_s(1);
    EXPECT_TRUE(world.take_deliveries().empty());
    EXPECT_EQ(listed(JobState::ready), Ids{later});
    EXPECT_EQ(engine.jobs().size(), 1U);
    ASSERT_EQ(engine.delete_job(worker, later), Outcome::done);
    EXPECT_GT(engine.next_event(), world.now + Duration::seconds(5));
  }
}

// The rest of the first one is retried as long as the journal refuses.
TEST_F(EngineFlush, ThatComesAfterARefusedOneIsRefusedToo) {
  Client& client = world.connect();
  Client& other = world.connect();
  put_many(client, 10);
  journal.refuse_from(5, JournalStatus::failed);
  EXPECT_EQ(world.flush(client, "default", kAll).outcome, Outcome::journal_failed);
  EXPECT_EQ(world.flush(other, "default", kAll).outcome, Outcome::journal_failed);
  EXPECT_FALSE(other.is_busy());
  engine.check_invariants();
}

TEST_F(EngineFlush, ThatWaitsForAnotherIsRefusedWithIt) {
  Client& client = world.connect();
  Client& other = world.connect();
  put_many(client, 10);
  journal.refuse_from(5, JournalStatus::later);
  begin_flush(client);
  begin_flush(other);
  journal.refuse_from(1, JournalStatus::failed);
  engine.resume_tasks(world.now);
  EXPECT_EQ(world.take_deliveries().size(), 2U);
  EXPECT_FALSE(client.is_busy());
  EXPECT_FALSE(other.is_busy());
  engine.check_invariants();
}

TEST_F(EngineFlush, ThatIsRefusedContinuesWithoutItsClient) {
  Client& client = world.connect();
  put_many(client, 10);
  journal.refuse_from(4, JournalStatus::failed);
  EXPECT_EQ(world.flush(client, "default", kAll).outcome, Outcome::journal_failed);
  world.disconnect(client);
  engine.check_invariants();
  journal.accept();
  world.pass_s(1);
  EXPECT_EQ(engine.jobs().size(), 0U);
}

// The binlog reads a job that it moves to another file, flushed or not.
TEST_F(EngineFlush, TheJournalCanAskForAJobThatIsNotFreedYet) {
  Client& client = world.connect();
  const JobId soon = world.put(client, {.delay_s = 10});
  const JobId late = world.put(client, {.delay_s = 90});
  const Ids buried = bury_many(client, 1);
  const JobRef refs[] = {engine.peek(soon), engine.peek(late), engine.peek(buried[0])};
  journal.refuse_from(1, JournalStatus::later);
  begin_flush(client);
  journal.accept();
  world.put(world.connect(), {.delay_s = 1});  // It takes the index of a flushed one.
  for (const JobRef ref : refs) {
    const JournaledJob job = engine.journaled(ref);
    EXPECT_EQ(job.ref, ref);
    EXPECT_EQ(job.tube_name, "default");
  }
  EXPECT_EQ(engine.journaled(refs[0]).deadline, world.now + Duration::seconds(10));
  EXPECT_EQ(engine.journaled(refs[1]).deadline, world.now + Duration::seconds(90));
  engine.resume_tasks(world.now);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_flushed(client, 3)}));
}

}  // namespace
}  // namespace haricot
