// Commands for several jobs, and queries of several.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/engine_world.hpp"

namespace haricot {
namespace {

using test::FakeJournal;
using test::got_job_in_batch;
using test::Gots;

constexpr BatchBound kNoBound = {[](void*, std::uint32_t) { return true; }, nullptr};

class EngineBatches : public test::EngineTest {
 protected:
  std::vector<JobId> ids_of(const std::vector<JobRef>& refs) const {
    std::vector<JobId> ids;
    for (const JobRef ref : refs) ids.push_back(world.id_of(ref));
    return ids;
  }
  std::vector<JobId> reserve_batch(Client& client, std::uint32_t count,
                                   BatchBound bound = kNoBound) {
    std::vector<JobRef> taken;
    outcome = engine.reserve_batch(client, count, bound, world.now, world.now, taken);
    return ids_of(taken);
  }
  std::vector<JobId> scan(JobId from, std::uint32_t count, const Tube* tube = nullptr,
                          std::optional<JobState> state = std::nullopt) {
    std::vector<JobRef> found;
    scanned = engine.queries().scan(from, count, tube, state, found);
    return ids_of(found);
  }
  std::vector<JobId> list(const Tube& tube, JobState state, std::uint32_t count) {
    std::vector<JobRef> found;
    engine.queries().list(tube, state, count, found);
    return ids_of(found);
  }

  using Ids = std::vector<JobId>;
  Outcome outcome = Outcome::done;
  ScanResult scanned;
};

// Reserves -------------------------------------------------------------------------------------

TEST_F(EngineBatches, AReserveTakesJobsAsReservesWouldOneByOne) {
  Client& client = world.connect();
  ASSERT_EQ(engine.watch(client, "t"), Outcome::done);
  Client& producer = world.connect();
  const JobId last = world.put(producer, {.priority = 9});
  const JobId third = world.put(producer, {.priority = 5});
  ASSERT_EQ(engine.use(producer, "t"), Outcome::done);
  const JobId first = world.put(producer, {.priority = 1});
  const JobId second = world.put(producer, {.priority = 3});
  EXPECT_EQ(reserve_batch(client, 3), (Ids{first, second, third}));
  EXPECT_EQ(outcome, Outcome::done);
  engine.check_invariants();
  EXPECT_EQ(reserve_batch(client, 3), Ids{last});
  EXPECT_EQ(reserve_batch(client, 3), Ids{});
  EXPECT_EQ(outcome, Outcome::timed_out);
  EXPECT_EQ(client.held_jobs(), 4U);
  EXPECT_EQ(engine.counts().workers, 1U);
}

TEST_F(EngineBatches, AReserveTakesJobsThatFitAndAlwaysTheFirst) {
  Client& client = world.connect();
  for (int i = 0; i < 5; ++i) world.put(client, {.body = "12345"});
  struct Room {
    std::uint32_t bytes;
    static bool fits(void* self, std::uint32_t body_bytes) {
      auto& room = *static_cast<Room*>(self);
      if (body_bytes > room.bytes) return false;
      room.bytes -= body_bytes;
      return true;
    }
  };
  Room room{12};
  EXPECT_EQ(reserve_batch(client, 5, {&Room::fits, &room}), (Ids{1, 2}));
  Room none{0};
  EXPECT_EQ(reserve_batch(client, 5, {&Room::fits, &none}), Ids{3});
  EXPECT_EQ(world.reserve(client), 4U);
}

TEST_F(EngineBatches, AReserveThatWaitsGetsOneJob) {
  Client& client = world.connect();
  Client& producer = world.connect();
  std::vector<JobRef> taken;
  EXPECT_EQ(engine.reserve_batch(client, 10, kNoBound, Instant::never(), world.now, taken),
            Outcome::waiting);
  EXPECT_TRUE(client.is_waiting());
  const JobId id = world.put(producer);
  world.put(producer);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_job_in_batch(client, id)}));
  // The next wait of the same client is for a single job again.
  EXPECT_EQ(reserve_batch(client, 10).size(), 1U);
  world.wait(client);
  const JobId third = world.put(producer);
  EXPECT_EQ(world.take_deliveries(), (Gots{test::got_job(client, third)}));
}

TEST_F(EngineBatches, AReserveEndsAsReservesDo) {
  Client& client = world.connect();
  const JobId id = world.put(client, {.ttr_s = 2});
  ASSERT_EQ(world.reserve(client), id);
  world.pass_s(1);
  EXPECT_EQ(reserve_batch(client, 5), Ids{});
  EXPECT_EQ(outcome, Outcome::deadline_soon);
  // A ready job comes first.
  const JobId other = world.put(client);
  EXPECT_EQ(reserve_batch(client, 5), Ids{other});
  EXPECT_EQ(outcome, Outcome::done);
  ASSERT_EQ(engine.pause("default", 10, world.now), Outcome::done);
  world.put(client);
  EXPECT_EQ(reserve_batch(client, 5), Ids{});
}

TEST_F(EngineBatches, TheWorkOfAReserveIsBounded) {
  Client& client = world.connect();
  Client& producer = world.connect();
  // Just fewer tubes than have an index, so that each job costs a scan of all of them.
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(engine.watch(client, "t" + std::to_string(i)), Outcome::done);
  }
  for (int i = 0; i < 1000; ++i) world.put(producer);
  engine.steps() = 0;
  const std::size_t taken = reserve_batch(client, 1000).size();
  EXPECT_GE(taken, 1U);
  EXPECT_LT(taken, 100U);
  EXPECT_LT(engine.steps(), 20'000U);
  engine.check_invariants();
}

TEST_F(EngineBatches, AClientWithVeryManyWatchesGetsTheSame) {
  Client& client = world.connect();
  Client& producer = world.connect();
  for (int i = 0; i < 1500; ++i) {
    ASSERT_EQ(engine.watch(client, "t" + std::to_string(i)), Outcome::done);
  }
  Ids expected;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(engine.use(producer, "t" + std::to_string(i)), Outcome::done);
    expected.push_back(world.put(producer));
  }
  EXPECT_EQ(reserve_batch(client, 1000), expected);
  engine.check_invariants();
}

// Deletes --------------------------------------------------------------------------------------

TEST_F(EngineBatches, ADeleteCountsFoundAndMissingJobs) {
  Client& client = world.connect();
  Client& other = world.connect();
  const JobId own = world.put(client);
  ASSERT_EQ(world.reserve(client), own);
  const JobId foreign = world.put(client);
  ASSERT_EQ(world.reserve(other), foreign);
  const JobId delayed = world.put(client, {.delay_s = 9});
  const JobId ready = world.put(client);
  const Ids ids = {ready, 99, foreign, own, delayed, ready, 0};
  const test::Ended result = world.delete_batch(client, ids);
  EXPECT_EQ(result.outcome, Outcome::done);
  EXPECT_EQ(result.jobs, 3U);
  EXPECT_EQ(result.not_found, 4U);
  EXPECT_TRUE(world.exists(foreign));
  EXPECT_EQ(engine.jobs().size(), 1U);
  EXPECT_EQ(world.tube().deletes, 3U);
  // In the order of ids, whatever the order in the line.
  Ids removed;
  for (const FakeJournal::Record& record : journal.written) {
    if (record.kind == FakeJournal::Kind::deletion) removed.push_back(record.id);
  }
  EXPECT_EQ(removed, (Ids{own, delayed, ready}));
}

TEST_F(EngineBatches, ADeleteThatTheJournalRefusesDeletesNothing) {
  Client& client = world.connect();
  for (int i = 0; i < 3; ++i) world.put(client);
  for (const JournalStatus status : {JournalStatus::full, JournalStatus::failed}) {
    journal.refuse_from(1, status);
    EXPECT_EQ(world.delete_batch(client, Ids{1, 2, 3}).outcome, Outcome::journal_failed);
    EXPECT_EQ(engine.jobs().size(), 3U);
  }
  // A batch that finds no job needs no room in the journal.
  journal.refuse_from(1, JournalStatus::later);
  const test::Ended nothing = world.delete_batch(client, Ids{8, 9});
  EXPECT_EQ(nothing.outcome, Outcome::done);
  EXPECT_EQ(nothing.not_found, 2U);
  EXPECT_EQ(world.delete_batch(client, Ids{1, 2, 3}).outcome, Outcome::waiting);
  EXPECT_EQ(engine.jobs().size(), 3U);
  engine.check_invariants();
  journal.accept();
  engine.resume_tasks(world.now);
  EXPECT_EQ(world.take_deliveries(), (Gots{{&client, Delivery::Kind::batch_deleted, 0, 3}}));
}

// A touch of all jobs takes effect at once: no TTR ends before the last one has restarted, however
// many turns that takes.
TEST_F(EngineBatches, ATouchOfVeryManyJobsIsDividedAmongTurnsAndLosesNone) {
  constexpr std::uint32_t kJobs = 3 * Engine::kJobsPerCall;
  Client& client = world.connect();
  for (std::uint32_t i = 0; i < kJobs; ++i) world.put(client, {.ttr_s = 2 + i % 7});
  for (std::uint32_t i = 0; i < kJobs; ++i) ASSERT_NE(world.reserve(client), 0U);
  world.pass_ms(1999);
  const Instant begin = world.now;
  const std::uint64_t before = engine.steps();
  EXPECT_EQ(world.touch_all(client).outcome, Outcome::waiting);
  EXPECT_LE(engine.steps() - before, turn_limits::kStepsOfCalls + Engine::kStepsPerJob);
  EXPECT_TRUE(client.is_busy());
  // The next turn is late: the old TTRs are over.
  world.now = world.now + Duration::milliseconds(500);
  engine.advance(world.now);
  engine.check_invariants();
  EXPECT_EQ(engine.counts().timeouts, 0U);
  while (client.is_busy()) engine.advance(world.now);
  EXPECT_EQ(world.take_deliveries(), (Gots{{&client, Delivery::Kind::touched_all, 0, kJobs}}));
  engine.check_invariants();
  // They count from the command.
  world.pass(begin + Duration::milliseconds(1999) - world.now);
  EXPECT_EQ(client.held_jobs(), kJobs);
  world.pass_s(7);
  EXPECT_EQ(client.held_jobs(), 0U);
  EXPECT_EQ(engine.counts().timeouts, kJobs);
}

TEST_F(EngineBatches, ClosingInTheMiddleOfATouchReleasesTheJobs) {
  constexpr std::uint32_t kJobs = 2 * Engine::kJobsPerCall;
  Client& client = world.connect();
  for (std::uint32_t i = 0; i < kJobs; ++i) world.put(client);
  for (std::uint32_t i = 0; i < kJobs; ++i) ASSERT_NE(world.reserve(client), 0U);
  EXPECT_EQ(world.touch_all(client).outcome, Outcome::waiting);
  world.disconnect(client);
  while (engine.next_event() <= world.now) engine.advance(world.now);
  EXPECT_EQ(engine.counts().ready, kJobs);
  engine.check_invariants();
}

// Clients that watch very many tubes are notified of each tube that a deletion changes. The batch
// continues in later turns instead of doing all of that in one, and no watcher sees a tube whose
// notification is pending.
TEST_F(EngineBatches, ADeleteThatNotifiesManyWatchersTakesSeveralTurns) {
  constexpr std::uint32_t kTubes = WatchIndex::kManyFrom;
  Client& client = world.connect();
  Ids ids;
  for (std::uint32_t i = 0; i < kTubes; ++i) {
    ASSERT_EQ(engine.use(client, "t" + std::to_string(i)), Outcome::done);
    ids.push_back(world.put(client));
    world.put(client);
  }
  constexpr std::uint32_t kWatchers = 40;
  std::vector<Client*> watchers;
  for (std::uint32_t n = 0; n < kWatchers; ++n) {
    watchers.push_back(&world.connect());
    for (std::uint32_t i = 0; i < kTubes; ++i) {
      ASSERT_EQ(engine.watch(*watchers.back(), "t" + std::to_string(i)), Outcome::done);
    }
  }
  world.now = world.now + Duration::milliseconds(1);
  engine.advance(world.now);
  // One more tube than a piece allows.
  constexpr std::uint64_t kOneMore = kWatchers * (Engine::kStepsPerJob + 1) + 2 * 128;
  std::uint64_t before = engine.steps();
  ASSERT_EQ(world.delete_batch(client, ids).outcome, Outcome::waiting);
  EXPECT_LE(engine.steps() - before, turn_limits::kStepsOfBatch + kOneMore);
  int turns = 0;
  for (; client.is_busy(); ++turns) {
    ASSERT_LT(turns, 1'000);
    engine.check_invariants();
    before = engine.steps();
    engine.advance(world.now);
    EXPECT_LE(engine.steps() - before, turn_limits::kStepsOfTasks + kOneMore);
    ASSERT_EQ(engine.reserve(*watchers[1], world.now, world.now).outcome, Outcome::done);
  }
  EXPECT_GE(turns, 5);
  ASSERT_EQ(engine.deliveries().size(), 1U);
  EXPECT_EQ(engine.deliveries()[0].count + engine.deliveries()[0].not_found, kTubes);
}

// Deletes that the journal accepts in parts only --------------------------------------------------

class EngineBatchInParts : public EngineBatches {
 protected:
  EngineBatchInParts() : client(world.connect()) {
    for (int i = 0; i < 7; ++i) {
      ids.push_back(world.put(client, {.tags = i % 2 == 0 ? std::string_view() : kKeys[i / 2]}));
    }
    journal.deletions_together_max = 2;
  }
  // The first part is deleted, and the rest waits for the disk. Nothing was recorded before.
  void begin_and_wait() {
    // 8 ids name 7 jobs: 7 are too many, so are 3, and 1 is deleted; the next one waits.
    journal.refuse_from(4, JournalStatus::later);
    ids.push_back(99);
    ASSERT_EQ(world.delete_batch(client, ids).outcome, Outcome::waiting);
    ASSERT_TRUE(client.is_busy());
    ASSERT_EQ(engine.next_event(), Instant::never());
    ASSERT_EQ(engine.jobs().size(), 6U);
    engine.check_invariants();
  }
  void resume() {
    journal.accept();
    engine.resume_tasks(world.now);
  }
  Gots got(Delivery::Kind kind, std::uint64_t deleted) { return {{&client, kind, 0, deleted}}; }

  static constexpr std::string_view kKeys[] = {"idp:a:60", "con:b", "idp:c:60"};
  Client& client;
  Ids ids;
};

TEST_F(EngineBatchInParts, AllOfThemAreDeletedByOneCommand) {
  for (const std::uint32_t together : {1U, 2U, 3U}) {
    SCOPED_TRACE(together);
    journal.deletions_together_max = together;
    ids.push_back(99);
    const test::Ended result = world.delete_batch(client, ids);
    EXPECT_EQ(result.outcome, Outcome::done);
    EXPECT_EQ(result.jobs, 7U);
    EXPECT_EQ(result.not_found, 1U);
    EXPECT_EQ(engine.jobs().size(), 0U);
    EXPECT_EQ(engine.jobs().tombstones(), 2U * together);
    EXPECT_EQ(journal.tombstone.size(), 2U * together);
    ids.clear();
    for (int i = 0; i < 7; ++i) {
      const std::string key = "idp:k" + std::to_string(ids.size() + 10 * together) + ":60";
      ids.push_back(
          world.put(client, {.tags = i % 4 == 1 ? std::string_view(key) : std::string_view()}));
    }
  }
}

TEST_F(EngineBatchInParts, ABatchThatWaitsForTheDiskContinuesAndIsAnsweredOnce) {
  ASSERT_NO_FATAL_FAILURE(begin_and_wait());
  engine.resume_tasks(world.now);
  EXPECT_TRUE(client.is_busy());
  // Another client deletes one of the rest meanwhile, and reserves another.
  Client& other = world.connect();
  journal.accept();
  ASSERT_EQ(engine.delete_job(other, ids[3]), Outcome::done);
  ASSERT_EQ(engine.reserve_job(other, ids[4], world.now).outcome, Outcome::done);
  resume();
  ASSERT_EQ(engine.deliveries().size(), 1U);
  EXPECT_EQ(engine.deliveries().front().not_found, 3U);
  EXPECT_EQ(world.take_deliveries(), got(Delivery::Kind::batch_deleted, 5));
  EXPECT_FALSE(client.is_busy());
  EXPECT_EQ(engine.jobs().size(), 1U);
  EXPECT_TRUE(world.exists(ids[4]));
}

TEST_F(EngineBatchInParts, ABatchThatTheDiskRefusesIsAnsweredAsAFailure) {
  ASSERT_NO_FATAL_FAILURE(begin_and_wait());
  journal.refuse_from(1, JournalStatus::failed);
  engine.resume_tasks(world.now);
  EXPECT_EQ(world.take_deliveries(), got(Delivery::Kind::failed, 1));
  EXPECT_EQ(engine.jobs().size(), 6U);
  EXPECT_EQ(engine.jobs().tombstones(), 0U);
  journal.accept();
  EXPECT_EQ(world.delete_batch(client, ids).jobs, 6U);
}

TEST_F(EngineBatchInParts, AClientThatGoesLeavesTheRest) {
  ASSERT_NO_FATAL_FAILURE(begin_and_wait());
  world.disconnect(client);
  resume();
  EXPECT_TRUE(world.take_deliveries().empty());
  EXPECT_EQ(engine.jobs().size(), 6U);
  EXPECT_EQ(engine.next_event(), Instant::never());
}

TEST_F(EngineBatches, ADeleteFreesTheTubesOfItsJobs) {
  Client& client = world.connect();
  for (const char* const name : {"a", "b"}) {
    ASSERT_EQ(engine.use(client, name), Outcome::done);
    world.put(client);
  }
  ASSERT_EQ(engine.use(client, "default"), Outcome::done);
  EXPECT_EQ(world.delete_batch(client, Ids{1, 2}).jobs, 2U);
  EXPECT_EQ(engine.tubes().size(), 1U);
}

// Queries -----------------------------------------------------------------------------------------

TEST_F(EngineBatches, AScanGoesThroughTheIdsPageByPage) {
  Client& client = world.connect();
  for (int i = 0; i < 10; ++i) world.put(client, {.priority = static_cast<std::uint32_t>(10 - i)});
  ASSERT_EQ(engine.delete_job(client, 3), Outcome::done);
  ASSERT_EQ(engine.delete_job(client, 4), Outcome::done);
  EXPECT_EQ(scan(0, 2), (Ids{1, 2}));
  EXPECT_EQ(scanned.next, 5U);
  EXPECT_EQ(scan(scanned.next, 3), (Ids{5, 6, 7}));
  EXPECT_EQ(scanned.next, 8U);
  EXPECT_EQ(scan(scanned.next, 1000), (Ids{8, 9, 10}));
  EXPECT_EQ(scanned.next, 0U);
  EXPECT_EQ(scan(11, 10), Ids{});
  EXPECT_EQ(scanned.next, 0U);
  EXPECT_EQ(scan(~JobId{0}, 10), Ids{});
}

TEST_F(EngineBatches, AScanExaminesABoundedNumberOfJobs) {
  Client& client = world.connect();
  for (std::uint32_t i = 0; i < Queries::kScanned + 5; ++i) world.put(client);
  ASSERT_EQ(engine.use(client, "t"), Outcome::done);
  const JobId last = world.put(client);
  const Tube& tube = world.tube("t");
  engine.steps() = 0;
  EXPECT_EQ(scan(1, 5, &tube), Ids{});
  EXPECT_EQ(scanned.scanned, Queries::kScanned);
  EXPECT_EQ(scanned.next, Queries::kScanned + 1);
  EXPECT_GE(engine.steps(), Queries::kScanned);
  EXPECT_EQ(scan(scanned.next, 5, &tube), Ids{last});
  EXPECT_EQ(scanned.next, 0U);
}

TEST_F(EngineBatches, AScanShowsOnlyJobsOfTheTubeAndState) {
  Client& client = world.connect();
  const JobId held = world.put(client);
  ASSERT_EQ(world.reserve(client), held);
  const JobId buried = world.put(client);
  ASSERT_EQ(world.reserve(client), buried);
  ASSERT_EQ(engine.bury(client, buried, 1), Outcome::done);
  const JobId delayed = world.put(client, {.delay_s = 9});
  const JobId ready = world.put(client);
  ASSERT_EQ(engine.use(client, "t"), Outcome::done);
  const JobId other = world.put(client);
  const Tube* tube = engine.find_tube("default");
  EXPECT_EQ(scan(1, 9, tube), (Ids{held, buried, delayed, ready}));
  EXPECT_EQ(scan(1, 9, tube, JobState::reserved), Ids{held});
  EXPECT_EQ(scan(1, 9, tube, JobState::buried), Ids{buried});
  EXPECT_EQ(scan(1, 9, tube, JobState::delayed), Ids{delayed});
  EXPECT_EQ(scan(1, 9, tube, JobState::ready), Ids{ready});
  EXPECT_EQ(scan(1, 9, nullptr, JobState::ready), (Ids{ready, other}));
}

TEST_F(EngineBatches, AListHasTheOrderOfServiceInEveryOrderOfArrival) {
  Client& client = world.connect();
  for (const std::uint32_t number : {5U, 3U, 9U, 1U, 7U, 3U}) {
    world.put(client, {.priority = number});
    world.put(client, {.priority = 1, .delay_s = number * 10});
  }
  EXPECT_EQ(list(world.tube(), JobState::ready, 1000), (Ids{7, 3, 11, 1, 9, 5}));
  EXPECT_EQ(list(world.tube(), JobState::ready, 4), (Ids{7, 3, 11, 1}));
  EXPECT_EQ(list(world.tube(), JobState::delayed, 1000), (Ids{8, 4, 12, 2, 10, 6}));
  EXPECT_EQ(list(world.tube(), JobState::delayed, 1), Ids{8});
  EXPECT_EQ(list(world.tube(), JobState::buried, 1000), Ids{});
  for (const JobId id : {JobId{9}, JobId{3}, JobId{5}}) {
    ASSERT_EQ(engine.reserve_job(client, id, world.now).outcome, Outcome::done);
    ASSERT_EQ(engine.bury(client, id, 0), Outcome::done);
  }
  EXPECT_EQ(list(world.tube(), JobState::buried, 1000), (Ids{9, 3, 5}));
  EXPECT_EQ(list(world.tube(), JobState::buried, 2), (Ids{9, 3}));
}

}  // namespace
}  // namespace haricot
