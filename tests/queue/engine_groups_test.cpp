// Groups: which jobs are held, and when a hold ends.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "queue/engine_tags.hpp"
#include "support/engine_world.hpp"

namespace haricot {
namespace {

using test::EngineTags;

class EngineGroupsTest : public EngineTags {
 protected:
  void remove(JobId id) {
    ASSERT_EQ(engine.delete_job(client, id), Outcome::done);
    engine.check_invariants();
  }
  bool is_held(JobId id) const { return engine.jobs().is_held(engine.peek(id)); }
  std::uint32_t held(std::string_view group) const {
    const Group* const found = engine.find_group(group);
    return found == nullptr ? 0 : found->held;
  }

  Client& client = producer;
};

TEST_F(EngineGroupsTest, AJobIsHeldUntilTheLastOneOfTheGroupIsDeleted) {
  const JobId first = put("grp:g");
  const JobId second = put("grp:g");
  const JobId waits = put("aft:g");
  EXPECT_EQ(world.state(waits), JobState::delayed);
  remove(first);
  EXPECT_TRUE(is_held(waits));
  remove(second);
  EXPECT_EQ(world.state(waits), JobState::ready);
  EXPECT_EQ(engine.find_group("g"), nullptr);
}

// A held job that is kicked and reserved is taken once: the end of the group has no further effect.
TEST_F(EngineGroupsTest, AHeldJobIsNotTakenTwice) {
  const JobId first = put("grp:g");
  const JobId waits = put("aft:g");
  ASSERT_EQ(engine.reserve_job(client, waits, world.now).outcome, Outcome::done);
  engine.check_invariants();
  EXPECT_EQ(held("g"), 0U);
  remove(first);
  EXPECT_EQ(world.state(waits), JobState::reserved);
}

TEST_F(EngineGroupsTest, ADeletedHeldJobCountsNoMore) {
  const JobId first = put("grp:g");
  const JobId waits[] = {put("aft:g"), put("aft:g"), put("aft:g")};
  EXPECT_EQ(held("g"), 3U);
  remove(waits[1]);
  remove(waits[2]);
  EXPECT_EQ(held("g"), 1U);
  remove(waits[0]);
  EXPECT_EQ(held("g"), 0U);
  remove(first);
  EXPECT_EQ(engine.jobs().size(), 0U);
}

// The flush has the last job of the group and the jobs that are held for it.
TEST_F(EngineGroupsTest, AFlushMissesNoHeldJob) {
  put("grp:g");
  for (int i = 0; i < 3000; ++i) world.put(client, {.tags = "aft:g"});
  ASSERT_EQ(engine.flush(client, "default", {true, true, true}), Outcome::waiting);
  for (int i = 0; engine.jobs().size() > 0 && i < 100; ++i) {
    engine.check_invariants();
    engine.advance(world.now);
  }
  EXPECT_EQ(engine.jobs().size(), 0U);
  EXPECT_TRUE(engine.is_at_rest());
}

// Jobs that are freed later than the end of the group do not wait for a new job of that name.
TEST_F(EngineGroupsTest, TheEndOfManyHoldsIsNoLongTurn) {
  constexpr std::uint32_t kJobs = 5000;
  const JobId first = put("grp:g");
  for (std::uint32_t i = 0; i < kJobs; ++i) world.put(client, {.tags = "aft:g"});
  remove(first);
  const auto ready = [&] { return engine.counts().ready; };
  EXPECT_GT(ready(), 0U);
  EXPECT_LE(ready(), Engine::kJobsPerCall);
  const JobId again = put("grp:g", 10);
  const JobId waits = put("aft:g");
  while (engine.counts().delayed > 2) {
    const std::uint64_t before = ready();
    engine.advance(world.now);
    engine.check_invariants();
    EXPECT_GT(ready(), before);
    EXPECT_LE(ready() - before, Engine::kJobsPerCall);
  }
  EXPECT_EQ(ready(), kJobs);
  EXPECT_TRUE(is_held(waits));
  EXPECT_EQ(world.state(again), JobState::delayed);
}

TEST_F(EngineGroupsTest, AFlushedHeldJobOnlyStopsWaiting) {
  const JobId first = put("grp:g");
  for (int i = 0; i < 5000; ++i) world.put(client, {.tags = "aft:g"});
  remove(first);
  Client& other = world.connect();
  ASSERT_EQ(engine.flush(other, "default", {true, true, true}), Outcome::waiting);
  for (int i = 0; engine.jobs().size() > 0 && i < 100; ++i) {
    engine.advance(world.now);
    engine.check_invariants();
    world.put(client, {.delay_s = 100, .tags = "grp:g"});
    ASSERT_EQ(engine.delete_job(client, engine.next_id() - 1), Outcome::done);
  }
  EXPECT_EQ(engine.jobs().size(), 0U);
}

// If the journal refuses, the job stays held, and is released as soon as it can be recorded.
TEST_F(EngineGroupsTest, ARefusedRecordIsTriedAgain) {
  const JobId first = put("grp:g");
  const JobId waits = put("aft:g", 7);
  EXPECT_EQ(journal.promised_hold_ends(), 1U);
  journal.refuse_from(2, JournalStatus::failed);
  remove(first);
  EXPECT_TRUE(is_held(waits));
  EXPECT_FALSE(engine.is_at_rest());
  EXPECT_EQ(engine.find_group("g"), nullptr);
  journal.accept();
  world.now = world.now + QueueState::kPauseOfRefused;
  engine.advance(world.now);
  engine.check_invariants();
  EXPECT_FALSE(is_held(waits));
  EXPECT_EQ(world.state(waits), JobState::delayed);
  EXPECT_EQ(journal.promised_hold_ends(), 0U);
  EXPECT_EQ(journal.written.back().deadline, world.now + Duration::seconds(7));
  EXPECT_TRUE(engine.is_at_rest());
}

}  // namespace
}  // namespace haricot
