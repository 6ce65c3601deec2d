// Flushes of one tube: only one is in progress at a time.

#include <gtest/gtest.h>

#include "queue/engine_flush.hpp"
#include "support/engine_world.hpp"

namespace haricot {
namespace {

using test::got_flush_failed;
using test::got_flushed;
using test::Gots;

class FlushTurns : public test::EngineFlush {
 protected:
  // Begins a flush that waits for the disk.
  Client& flush_stuck() {
    Client& client = world.connect();
    journal.refuse_from(1, JournalStatus::later);
    begin_flush(client);
    journal.accept();
    return client;
  }

  Client& producer = world.connect();
};

TEST_F(FlushTurns, OnlyTheSecondWaitsForTheFirst) {
  bury_many(producer, 3);
  Client& first = flush_stuck();
  bury_many(producer, 4);
  Client& second = world.connect();
  begin_flush(second);
  EXPECT_EQ(listed(JobState::buried).size(), 4U);
  // It takes the jobs that exist at its beginning.
  bury_many(producer, 5);
  EXPECT_EQ(world.reserve(producer), 0U);
  ASSERT_EQ(engine.use(producer, "other"), Outcome::done);
  world.put(producer);
  EXPECT_EQ(world.flush(producer, "other", kAll).jobs, 1U);
  EXPECT_GT(engine.next_event(), world.now) << "it waits without being busy";
  engine.resume_tasks(world.now);
  finish();
  EXPECT_EQ(world.take_deliveries(), (Gots{got_flushed(first, 3), got_flushed(second, 9)}));
  EXPECT_EQ(engine.jobs().size(), 0U);
}

TEST_F(FlushTurns, AnyNumberTakeTurnsInTheirOrder) {
  put_many(producer, 2);
  Gots expected = {got_flushed(flush_stuck(), 2)};
  put_many(producer, 7);
  for (int i = 0; i < 20; ++i) {
    Client& client = world.connect();
    begin_flush(client);
    expected.push_back(got_flushed(client, i == 0 ? 7 : 0));
  }
  engine.resume_tasks(world.now);
  finish();
  EXPECT_EQ(world.take_deliveries(), expected);
  EXPECT_EQ(engine.jobs().size(), 0U);
}

// The first one is long, and continues in its own half of a call.
TEST_F(FlushTurns, OneThatWaitsDoesNotHoldTheCall) {
  put_many(producer, 3 * kSlice);
  Client& first = world.connect();
  begin_flush(first);
  Client& second = world.connect();
  begin_flush(second, {.buried = true});
  world.disconnect(first);
  engine.check_invariants();
  engine.advance(world.now);
  EXPECT_EQ(engine.counts().ready, kSlice);
  finish();
  EXPECT_EQ(world.take_deliveries(), (Gots{got_flushed(second, 0)}));
}

TEST_F(FlushTurns, OneThatHasNotBegunGoesWithItsClient) {
  put_many(producer, 2);
  flush_stuck();
  const Ids later = put_many(producer, 3);
  Client& second = world.connect();
  begin_flush(second);
  world.disconnect(second);
  engine.check_invariants();
  engine.resume_tasks(world.now);
  finish();
  EXPECT_EQ(listed(JobState::ready), later);
}

TEST_F(FlushTurns, OneThatIsRefusedWhenItsTurnComesHasNotBegun) {
  put_many(producer, 2);
  Client& first = flush_stuck();
  const Ids later = put_many(producer, 3);
  Client& second = world.connect();
  begin_flush(second);
  journal.refuse_from(3, JournalStatus::failed);
  engine.resume_tasks(world.now);
  finish();
  journal.accept();
  EXPECT_EQ(world.take_deliveries(), (Gots{got_flushed(first, 2), got_flush_failed(second, 0)}));
  EXPECT_EQ(listed(JobState::ready), later);
}

TEST_F(FlushTurns, BuriedJobsOfBothSidesKeepApart) {
  Ids left = bury_many(producer, 4);
  for (int round = 0; round < 3; ++round) {
    flush_stuck();
    left = bury_many(producer, 3);
    EXPECT_EQ(listed(JobState::buried), left);
    EXPECT_EQ(scanned(), left);
    // One of them leaves and returns.
    EXPECT_EQ(world.kick(producer, 1).jobs, 1U);
    bury(producer, left[0]);
    engine.check_invariants();
    engine.resume_tasks(world.now);
    finish();
    EXPECT_EQ(engine.jobs().size(), 3U);
  }
}

}  // namespace
}  // namespace haricot
