// Limits of tries: by a tag, or for all jobs.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/engine_world.hpp"

namespace haricot::test {
namespace {

using Kind = FakeJournal::Kind;

class EngineTries : public ::testing::Test {
 protected:
  JobId take(Client& worker) {
    const ReserveResult result = engine.reserve(worker, world.now, world.now);
    return result.outcome == Outcome::done ? engine.jobs()[result.job].id : 0;
  }
  std::uint64_t buried_by_tries() {
    return engine.queries().detail(*engine.find_tube("default"), world.now).buried_by_tries;
  }

  World world;
  Engine& engine = world.engine;
  FakeJournal& journal = world.journal;
};

TEST_F(EngineTries, AReleaseBuriesAJobThatWasReservedSoOften) {
  Client& client = world.connect();
  const JobId id = world.put(client, {.tags = "try:2"});
  ASSERT_EQ(take(client), id);
  EXPECT_EQ(engine.release(client, id, 1, 0, world.now), Outcome::done);
  ASSERT_EQ(take(client), id);
  EXPECT_EQ(engine.release(client, id, 7, 90, world.now), Outcome::buried);
  EXPECT_EQ(world.state(id), JobState::buried);
  EXPECT_EQ(journal.written.back().kind, Kind::update);
  EXPECT_EQ(journal.written.back().state, JobState::buried);
  EXPECT_EQ(journal.written.back().priority, 7U);
  EXPECT_EQ(buried_by_tries(), 1U);
  engine.check_invariants();
}

TEST_F(EngineTries, AKickGivesOneMore) {
  Client& client = world.connect();
  const JobId id = world.put(client, {.tags = "try:1"});
  for (int kicks = 0; kicks < 3; ++kicks) {
    ASSERT_EQ(take(client), id);
    ASSERT_EQ(engine.release(client, id, 1, 0, world.now), Outcome::buried);
    ASSERT_EQ(world.kick(client, 1).jobs, 1U);
    engine.check_invariants();
  }
  EXPECT_EQ(buried_by_tries(), 3U);
}

// A reserve by id takes a buried job without a kick, and counts as a try.
TEST_F(EngineTries, AReserveByTheIdGivesNoMore) {
  Client& client = world.connect();
  const JobId id = world.put(client, {.tags = "try:1"});
  ASSERT_EQ(take(client), id);
  ASSERT_EQ(engine.release(client, id, 1, 0, world.now), Outcome::buried);
  ASSERT_EQ(engine.reserve_job(client, id, world.now).outcome, Outcome::done);
  engine.check_invariants();
  EXPECT_EQ(engine.release(client, id, 1, 0, world.now), Outcome::buried);
}

TEST_F(EngineTries, TheEndOfATtrBuriesTheJobAndTheWaitingWorkerGetsTheNext) {
  Client& holder = world.connect();
  Client& waiting = world.connect();
  const JobId spent = world.put(holder, {.priority = 1, .ttr_s = 1, .tags = "try:1"});
  const JobId other = world.put(holder, {.priority = 2, .ttr_s = 2});
  ASSERT_EQ(take(holder), spent);
  ASSERT_EQ(take(holder), other);
  world.wait(waiting);
  world.pass_s(1);
  EXPECT_EQ(world.state(spent), JobState::buried);
  EXPECT_EQ(journal.written.back().id, spent);
  EXPECT_EQ(journal.written.back().state, JobState::buried);
  world.pass_s(1);
  EXPECT_EQ(world.state(other), JobState::reserved);
  EXPECT_EQ(engine.queries().report(spent, world.now)->timeouts, 1U);
  EXPECT_EQ(engine.queries().report(spent, world.now)->buries, 1U);
  engine.check_invariants();
}

// With and without a waiting client.
TEST_F(EngineTries, TheJobsOfAClosedClientAreBuriedInTheOrderOfTheirTtrs) {
  Client& producer = world.connect();
  std::vector<JobId> ids;
  Client& holder = world.connect();
  for (int jobs = 0; jobs < 10; ++jobs) {
    ids.push_back(world.put(producer, {.tags = "try:1"}));
    ASSERT_EQ(take(holder), ids.back());
  }
  world.disconnect(holder);
  std::vector<JobRef> found;
  engine.queries().list(*engine.find_tube("default"), JobState::buried, 10, found);
  std::vector<JobId> buried;
  for (const JobRef ref : found) buried.push_back(world.id_of(ref));
  EXPECT_EQ(buried, ids);
}

TEST_F(EngineTries, TheEndOfATryIsRecordedOfJobsWithALimitOnly) {
  Client& client = world.connect();
  const JobId limited = world.put(client, {.priority = 1, .ttr_s = 1, .tags = "try:2"});
  const JobId plain = world.put(client, {.priority = 2, .ttr_s = 1});
  ASSERT_EQ(take(client), limited);
  ASSERT_EQ(take(client), plain);
  const std::size_t before = journal.written.size();
  world.pass_s(1);
  ASSERT_EQ(journal.written.size(), before + 1);
  EXPECT_EQ(journal.written.back().id, limited);
  EXPECT_EQ(journal.written.back().state, JobState::ready);
}

TEST_F(EngineTries, AHolderThatVanishesEndsATry) {
  Client& client = world.connect();
  Client& holder = world.connect();
  const JobId spent = world.put(client, {.tags = "try:1"});
  const JobId other = world.put(client, {.tags = "try:2"});
  ASSERT_EQ(take(holder), spent);
  ASSERT_EQ(take(holder), other);
  world.disconnect(holder);
  EXPECT_EQ(world.state(spent), JobState::buried);
  EXPECT_EQ(world.state(other), JobState::ready);
  EXPECT_EQ(buried_by_tries(), 1U);
  engine.check_invariants();
}

TEST_F(EngineTries, TheServersLimitIsThatOfJobsWithoutATag) {
  engine.limit_tries(2);
  Client& client = world.connect();
  const JobId once = world.put(client, {.priority = 1, .tags = "try:1"});
  const JobId twice = world.put(client, {.priority = 2});
  EXPECT_TRUE(journal.put_room.may_be_buried);
  ASSERT_EQ(take(client), once);
  EXPECT_EQ(engine.release(client, once, 1, 0, world.now), Outcome::buried);
  ASSERT_EQ(take(client), twice);
  EXPECT_EQ(engine.release(client, twice, 1, 0, world.now), Outcome::done);
  ASSERT_EQ(take(client), twice);
  EXPECT_EQ(engine.release(client, twice, 1, 0, world.now), Outcome::done);
  EXPECT_EQ(world.state(twice), JobState::buried);
}

// The put has set the limit, so its clients know BURIED.
TEST_F(EngineTries, LastReleaseReportsBurialOnlyIfTheJobHasItsOwnLimit) {
  engine.limit_tries(1);
  Client& client = world.connect();
  for (const bool has_own : {false, true}) {
    const JobId id = world.put(client, {.tags = has_own ? "try:1" : ""});
    ASSERT_EQ(take(client), id);
    EXPECT_EQ(engine.release(client, id, 7, 90, world.now),
              has_own ? Outcome::buried : Outcome::done);
    EXPECT_EQ(world.state(id), JobState::buried);
    EXPECT_EQ(journal.written.back().state, JobState::buried);
    EXPECT_EQ(journal.written.back().priority, 7U);
  }
  EXPECT_EQ(buried_by_tries(), 2U);
  engine.check_invariants();
}

TEST_F(EngineTries, RoomForABurialIsReservedForEachLimitedJob) {
  Client& client = world.connect();
  const JobId plain = world.put(client);
  EXPECT_FALSE(journal.put_room.may_be_buried);
  EXPECT_EQ(journal.promised_burials(), 0U);
  const JobId id = world.put(client, {.priority = 1, .tags = "try:1"});
  EXPECT_TRUE(journal.put_room.may_be_buried);
  EXPECT_EQ(journal.put_room.tag_bytes, 5U);
  EXPECT_EQ(journal.promised_burials(), 1U);
  ASSERT_EQ(take(client), id);
  EXPECT_EQ(journal.promised_burials(), 1U);
  ASSERT_EQ(engine.release(client, id, 1, 0, world.now), Outcome::buried);
  EXPECT_EQ(journal.promised_burials(), 0U);
  ASSERT_EQ(engine.kick_job(id, world.now), Outcome::done);
  EXPECT_EQ(journal.promised_burials(), 1U);
  EXPECT_EQ(engine.delete_job(client, id), Outcome::done);
  EXPECT_EQ(journal.promised_burials(), 0U);
  EXPECT_EQ(engine.delete_job(client, plain), Outcome::done);
}

TEST_F(EngineTries, AFlushOfBuriedJobsForgetsThem) {
  Client& client = world.connect();
  for (int i = 0; i < 3; ++i) {
    const JobId id = world.put(client, {.tags = "try:1"});
    ASSERT_EQ(engine.reserve_job(client, id, world.now).outcome, Outcome::done);
    ASSERT_EQ(engine.release(client, id, 1, 0, world.now), Outcome::buried);
  }
  EXPECT_EQ(world.flush(client, "default", {.buried = true}).jobs, 3U);
  engine.check_invariants();
  EXPECT_EQ(journal.promised_burials(), 0U);
}

// The job is buried at once, and its room is kept until its record is written.
TEST_F(EngineTries, ABurialThatTheJournalDoesNotTakeIsRecordedLater) {
  Client& client = world.connect();
  const JobId id = world.put(client, {.ttr_s = 1, .tags = "try:1"});
  ASSERT_EQ(take(client), id);
  journal.refuse_from(1, JournalStatus::failed);
  world.pass_s(1);
  EXPECT_EQ(world.state(id), JobState::buried);
  EXPECT_EQ(journal.promised_burials(), 1U);
  EXPECT_LE(engine.next_event(), world.now + Duration::seconds(1));
  world.pass_s(1);
  EXPECT_EQ(journal.written.back().kind, Kind::put);
  journal.accept();
  world.pass_s(1);
  EXPECT_EQ(journal.written.back().kind, Kind::update);
  EXPECT_EQ(journal.written.back().state, JobState::buried);
  EXPECT_EQ(journal.promised_burials(), 0U);
  EXPECT_EQ(engine.next_event(), Instant::never());
}

TEST_F(EngineTries, ALateBurialOfAJobThatIsGoneIsForgotten) {
  Client& client = world.connect();
  const JobId kicked = world.put(client, {.priority = 1, .ttr_s = 1, .tags = "try:1"});
  const JobId deleted = world.put(client, {.priority = 2, .ttr_s = 1, .tags = "try:1"});
  ASSERT_EQ(take(client), kicked);
  ASSERT_EQ(take(client), deleted);
  journal.refuse_from(1, JournalStatus::failed);
  world.pass_s(1);
  journal.accept();
  EXPECT_EQ(engine.delete_job(client, deleted), Outcome::done);
  EXPECT_EQ(engine.kick_job(kicked, world.now), Outcome::done);
  const std::size_t before = journal.written.size();
  world.pass_s(1);
  EXPECT_EQ(journal.written.size(), before);
  EXPECT_EQ(journal.promised_burials(), 1U);
}

// Jobs whose burials the journal has not accepted yet.
class EngineLateBurials : public EngineTries {
 protected:
  static constexpr std::uint32_t kJobs = Engine::kJobsPerCall + 500;

  // Ends the last try of this many jobs while the journal answers with this status.
  void bury_late(JournalStatus status) {
    Client& client = world.connect();
    for (std::uint32_t i = 0; i < kJobs; ++i) {
      world.put(client, {.ttr_s = 1, .tags = "try:1"});
      ASSERT_NE(take(client), 0U);
    }
    journal.refuse_from(1, status);
    world.pass_s(1);
    ASSERT_EQ(journal.promised_burials(), kJobs);
  }
  std::size_t recorded() const { return journal.written.size() - kJobs; }
};

TEST_F(EngineLateBurials, NoTurnRecordsMoreThanItMoves) {
  bury_late(JournalStatus::failed);
  journal.accept();
  world.now = std::max(world.now, engine.next_event());
  engine.advance(world.now);
  EXPECT_EQ(recorded(), Engine::kJobsPerCall);
  EXPECT_LE(engine.next_event(), world.now);
  engine.advance(world.now);
  EXPECT_EQ(recorded(), kJobs);
  EXPECT_EQ(journal.promised_burials(), 0U);
  EXPECT_EQ(engine.next_event(), Instant::never());
}

TEST_F(EngineLateBurials, JobsDelayedByTheDiskShareTheBudgetOfCommands) {
  bury_late(JournalStatus::later);
  journal.accept();
  engine.resume_tasks(world.now);
  EXPECT_EQ(recorded(), Engine::kJobsPerCall);
  EXPECT_LE(engine.next_event(), world.now);
  engine.resume_tasks(world.now);
  EXPECT_EQ(recorded(), Engine::kJobsPerCall);
  engine.advance(world.now);
  EXPECT_EQ(recorded(), kJobs);
  EXPECT_EQ(engine.next_event(), Instant::never());
}

// The end of a try that is not the last one need not be recorded.
TEST_F(EngineTries, ATryEndsWithoutItsRecordToo) {
  Client& client = world.connect();
  const JobId id = world.put(client, {.ttr_s = 1, .tags = "try:2"});
  ASSERT_EQ(take(client), id);
  journal.refuse_from(1, JournalStatus::full);
  world.pass_s(1);
  EXPECT_EQ(world.state(id), JobState::ready);
  EXPECT_EQ(journal.written.back().kind, Kind::put);
  EXPECT_EQ(engine.next_event(), Instant::never());
}

TEST_F(EngineTries, ABurialIsReportedForTheLog) {
  Client& client = world.connect();
  const JobId id = world.put(client, {.tags = "try:1"});
  ASSERT_EQ(take(client), id);
  ASSERT_EQ(engine.release(client, id, 1, 0, world.now), Outcome::buried);
  const std::vector<SpentJobs> taken = engine.spent_jobs().take();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].tube, "default");
  EXPECT_EQ(taken[0].last_id, id);
}

TEST_F(EngineTries, ATubeThatIsGoneTakesItsNumberWithIt) {
  Client& client = world.connect();
  ASSERT_EQ(engine.use(client, "short"), Outcome::done);
  const JobId id = world.put(client, {.tags = "try:1"});
  ASSERT_EQ(engine.reserve_job(client, id, world.now).outcome, Outcome::done);
  ASSERT_EQ(engine.release(client, id, 1, 0, world.now), Outcome::buried);
  ASSERT_EQ(engine.delete_job(client, id), Outcome::done);
  ASSERT_EQ(engine.use(client, "default"), Outcome::done);
  ASSERT_EQ(engine.use(client, "next"), Outcome::done);
  EXPECT_EQ(engine.queries().detail(*engine.find_tube("next"), world.now).buried_by_tries, 0U);
}

TEST_F(EngineTries, TagsTakeNoMoreMemoryThanTheirText) {
  const JobStore& jobs = engine.jobs();
  EXPECT_EQ(jobs.memory_bytes_for(100, 0), jobs.memory_bytes_for(100));
  EXPECT_LE(jobs.memory_bytes_for(100, 40), jobs.memory_bytes_for(100) + 40 + 8);
  Client& client = world.connect();
  const std::uint64_t before = jobs.memory_bytes();
  const std::string body(100, 'b');
  const JobId id = world.put(client, {.body = body, .tags = "try:12"});
  EXPECT_EQ(jobs.memory_bytes() - before, jobs.memory_bytes_for(100, 6));
  EXPECT_EQ(jobs.tags(engine.peek(id)), "try:12");
  EXPECT_EQ(jobs.body(engine.peek(id)), body);
}

}  // namespace
}  // namespace haricot::test
