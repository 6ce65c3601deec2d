// Keys that outlive their jobs.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "queue/engine_keys.hpp"
#include "support/allocations.hpp"

namespace haricot {
namespace {

using test::Again;
using test::deleted;
using test::EngineKeys;
using test::got_job;
using test::Gots;
using test::tombstone;

class EngineTombstones : public EngineKeys {
 protected:
  // Puts a job and deletes it.
  JobId leave(std::string_view tags = "idp:k:60") {
    const JobId id = put(tags);
    remove(id);
    return id;
  }
  void remove(JobId id) {
    EXPECT_EQ(engine.delete_job(producer, id), Outcome::done);
    engine.check_invariants();
  }
  void use(std::string_view tube) { ASSERT_EQ(engine.use(producer, tube), Outcome::done); }
  // Outcome of a put with a free key.
  static Again taken() { return {Outcome::done}; }
};

// Duration ----------------------------------------------------------------------------------------

TEST_F(EngineTombstones, AKeyIsTakenBeyondTheDelete) {
  const JobId id = put("idp:k:60");
  EXPECT_EQ(again("idp:k:60"), tombstone(id));
  world.pass_s(100);
  remove(id);
  EXPECT_FALSE(world.exists(id));
  EXPECT_EQ(again("idp:k:60"), deleted(id));
  EXPECT_EQ(again("idp:k"), deleted(id));
  EXPECT_EQ(again("try:3 con:l idp:k:1"), deleted(id));
  EXPECT_EQ(again("idp:other"), taken());
  world.pass(Duration::nanoseconds(59'999'999'999));
  EXPECT_EQ(again("idp:k"), deleted(id));
  world.pass(Duration::nanoseconds(1));
  EXPECT_EQ(again("idp:k"), taken());
}

TEST_F(EngineTombstones, TheTimeIsFromOneSecondToTheLongest) {
  const JobId shortest = leave("idp:shortest:1");
  const JobId longest = leave("idp:longest:" + std::to_string(kTombstoneSecondsMax));
  world.pass_ms(999);
  EXPECT_EQ(again("idp:shortest"), deleted(shortest));
  world.pass_ms(1);
  EXPECT_EQ(again("idp:shortest"), taken());
  world.pass_s(kTombstoneSecondsMax - 2);
  world.pass(Duration::nanoseconds(999'999'999));
  EXPECT_EQ(again("idp:longest"), deleted(longest));
  world.pass(Duration::nanoseconds(1));
  EXPECT_EQ(again("idp:longest"), taken());
}

TEST_F(EngineTombstones, WithoutATimeAKeyEndsWithItsJob) {
  const JobId id = leave("idp:k");
  EXPECT_EQ(engine.peek(id), JobRef::none);
  EXPECT_EQ(engine.jobs().tombstones(), 0U);
  EXPECT_EQ(again("idp:k:60"), taken());
  EXPECT_TRUE(journal.tombstone.empty());
}

// Before expired tombstones are freed.
TEST_F(EngineTombstones, AnExpiredKeyIsIgnored) {
  const JobId first = leave("idp:k:5");
  world.now = world.now + Duration::seconds(5);
  EXPECT_EQ(engine.jobs().tombstones(), 1U);
  const JobId second = put("idp:k:7");
  EXPECT_EQ(engine.jobs().tombstones(), 0U);
  EXPECT_EQ(journal.forgotten.size(), 1U);
  EXPECT_EQ(again("idp:k"), tombstone(second));
  remove(second);
  EXPECT_EQ(again("idp:k"), deleted(second));
  EXPECT_NE(first, second);
  // The command of another client may come at the same moment.
  world.now = world.now + Duration::seconds(7);
  EXPECT_EQ(again("idp:k"), taken());
}

TEST_F(EngineTombstones, ExpiredTombstonesAreDropped) {
  const Instant begin = world.now;
  leave("idp:a:3");
  leave("idp:b:2");
  EXPECT_EQ(engine.next_event(), begin + Duration::seconds(2));
  world.pass_s(2);
  EXPECT_EQ(engine.jobs().tombstones(), 1U);
  EXPECT_EQ(engine.next_event(), begin + Duration::seconds(3));
  world.pass_s(1);
  EXPECT_EQ(engine.jobs().tombstones(), 0U);
  EXPECT_EQ(journal.forgotten.size(), 2U);
  EXPECT_EQ(engine.memory().used_bytes(), 0U);
  EXPECT_EQ(engine.next_event(), Instant::never());
}

TEST_F(EngineTombstones, ManyThatEndAtOnceAreDroppedBitByBit) {
  constexpr std::uint32_t kMany = 3000;
  for (std::uint32_t i = 0; i < kMany; ++i) {
    const JobId id = put("idp:" + std::to_string(i) + ":5");
    ASSERT_EQ(engine.delete_job(producer, id), Outcome::done);
  }
  world.now = world.now + Duration::seconds(5);
  std::uint32_t calls = 0;
  for (std::uint64_t before = kMany; before > 0; ++calls) {
    ASSERT_LE(engine.next_event(), world.now);
    engine.advance(world.now);
    const std::uint64_t left = engine.jobs().tombstones();
    ASSERT_LT(left, before);
    EXPECT_LE(before - left, 500U);
    before = left;
    EXPECT_EQ(again("idp:" + std::to_string(kMany - 1)).is_deleted, false);
  }
  EXPECT_GE(calls, 6U);
  world.pass_s(5);  // Their memory is freed with time.
  EXPECT_EQ(engine.next_event(), Instant::never());
}

// Owners ------------------------------------------------------------------------------------------

TEST_F(EngineTombstones, AKeyIsOfTheNameOfATube) {
  use("t");
  const JobId id = leave();
  use("default");
  EXPECT_EQ(engine.find_tube("t"), nullptr);
  EXPECT_EQ(engine.tubes().size(), 1U);
  EXPECT_EQ(again("idp:k"), taken());
  use("other");
  EXPECT_EQ(again("idp:k"), taken());
  use("t");
  EXPECT_EQ(again("idp:k"), deleted(id));
  EXPECT_EQ(world.tube("t").total_jobs, 0U);
}

TEST_F(EngineTombstones, ADeletedJobIsNoJob) {
  const JobId id = leave();
  EXPECT_EQ(engine.jobs().size(), 0U);
  EXPECT_EQ(engine.counts().total_jobs, 1U);
  EXPECT_EQ(engine.delete_job(producer, id), Outcome::not_found);
  EXPECT_EQ(engine.kick_job(id, world.now), Outcome::not_found);
  EXPECT_EQ(engine.reserve_job(worker, id, world.now).outcome, Outcome::not_found);
  EXPECT_EQ(engine.queries().report(id, world.now), std::nullopt);
  EXPECT_TRUE(scanned().empty());
  EXPECT_EQ(world.reserve(worker), 0U);
  const std::vector<JobId> ids{id};
  EXPECT_EQ(world.delete_batch(producer, ids).not_found, 1U);
  EXPECT_EQ(again(), deleted(id));
  EXPECT_EQ(engine.counts().total_jobs, 1U);
  EXPECT_EQ(world.tube().total_jobs, 1U);
}

TEST_F(EngineTombstones, APriorityRaisesNothing) {
  const JobId id = leave();
  journal.refuse_from(1, JournalStatus::failed);
  EXPECT_EQ(again("idp:k", 0), deleted(id));
  journal.accept();
  EXPECT_EQ(journal.written.size(), 2U);
}

TEST_F(EngineTombstones, AJobLeavesItsKeyFromEveryState) {
  const JobId delayed = world.put(producer, {.delay_s = 9, .tags = "idp:delayed:60"});
  const JobId buried = put("idp:buried:60");
  bury(worker, buried);
  const JobId reserved = put("idp:reserved:60");
  ASSERT_EQ(world.reserve(producer), reserved);
  const JobId of_another = put("idp:of_another:60");
  ASSERT_EQ(world.reserve(worker), of_another);
  for (const JobId id : {delayed, buried, reserved}) remove(id);
  EXPECT_EQ(engine.delete_job(producer, of_another), Outcome::not_found);
  EXPECT_EQ(again("idp:delayed"), deleted(delayed));
  EXPECT_EQ(again("idp:buried"), deleted(buried));
  EXPECT_EQ(again("idp:reserved"), deleted(reserved));
  EXPECT_EQ(again("idp:of_another"), tombstone(of_another));
}

TEST_F(EngineTombstones, TheNextOfALaneIsServedAsAfterAnyDelete) {
  const JobId first = put("con:l idp:k:60");
  const JobId second = put("con:l idp:l:60");
  ASSERT_EQ(world.reserve(producer), first);
  world.wait(worker);
  remove(first);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_job(worker, second)}));
  EXPECT_EQ(again("con:l idp:k"), deleted(first));
}

// Flushes -----------------------------------------------------------------------------------------

TEST_F(EngineTombstones, AFlushLeavesNoKeysAndDropsNone) {
  const JobId before = leave("idp:before:60");
  put("idp:ready:60");
  world.put(producer, {.delay_s = 9, .tags = "idp:delayed:60"});
  bury(worker, put("idp:buried:60"));
  ASSERT_EQ(world.flush(producer, "default", kAll).jobs, 3U);
  engine.check_invariants();
  for (const char* tags : {"idp:ready", "idp:delayed", "idp:buried"}) {
    EXPECT_EQ(again(tags), taken()) << tags;
  }
  EXPECT_EQ(again("idp:before"), deleted(before));
  EXPECT_EQ(journal.tombstone.size(), 1U);
}

// Jobs of a flush in progress no longer own their keys.
TEST_F(EngineTombstones, AKeyThatAFlushHasFreedMayBeLeftByAnother) {
  const JobId flushed = put("idp:k:60");
  journal.refuse_from(1, JournalStatus::later);
  begin_flush(producer);
  journal.accept();
  const JobId other = world.put(worker, {.tags = "idp:k:60"});
  ASSERT_EQ(engine.delete_job(worker, other), Outcome::done);
  engine.check_invariants();
  ASSERT_NE(engine.jobs().find(flushed), JobRef::none);
  EXPECT_EQ(engine.peek(flushed), JobRef::none);
  engine.resume_tasks(world.now);
  finish();
  (void)world.take_deliveries();
  EXPECT_EQ(engine.jobs().size(), 0U);
  EXPECT_EQ(again(), deleted(other));
}

// Batches -----------------------------------------------------------------------------------------

TEST_F(EngineTombstones, ABatchLeavesTheKeysOfSomeOfItsJobs) {
  const JobId plain = put("");
  const JobId first = put("idp:first:60");
  const JobId without_time = put("idp:second");
  const JobId third = put("con:l idp:third:1");
  journal.written.clear();
  const std::vector<JobId> ids{third, plain, 99, without_time, first, third};
  const test::Ended result = world.delete_batch(producer, ids);
  engine.check_invariants();
  EXPECT_EQ(result.outcome, Outcome::done);
  EXPECT_EQ(result.jobs, 4U);
  EXPECT_EQ(result.not_found, 2U);
  const TombstoneRoom room = {.keys = 2, .bytes = 2 * std::string_view("default").size() + 5 + 5};
  EXPECT_EQ(journal.tombstone_room, room);
  EXPECT_EQ(journal.written.size(), 4U);
  ASSERT_EQ(journal.tombstone.size(), 2U);
  EXPECT_EQ(journal.tombstone[0].id, first);
  EXPECT_EQ(journal.tombstone[1].id, third);
  EXPECT_EQ(again("idp:first"), deleted(first));
  EXPECT_EQ(again("idp:second"), taken());
  EXPECT_EQ(again("idp:third"), deleted(third));
  world.pass_s(1);
  EXPECT_EQ(again("idp:third"), taken());
}

TEST_F(EngineTombstones, TombstonesOfABatchCountAsWork) {
  const auto steps_of = [&](const char* time) {
    std::vector<JobId> ids;
    for (int i = 0; i < 20; ++i) ids.push_back(put("idp:" + std::to_string(i) + time));
    engine.steps() = 0;
    EXPECT_EQ(world.delete_batch(producer, ids).jobs, 20U);
    return engine.steps();
  };
  const std::uint64_t without = steps_of("");
  EXPECT_EQ(steps_of(":60"), without + std::uint64_t{20} * Engine::kStepsPerJob);
}

TEST_F(EngineTombstones, ABatchOfOthersAsksForNoRoomOfKeys) {
  put("idp:k:60");
  const std::vector<JobId> ids{put(""), put("idp:l")};
  ASSERT_EQ(world.delete_batch(producer, ids).jobs, 2U);
  EXPECT_EQ(journal.tombstone_room, TombstoneRoom{});
}

// The journal -------------------------------------------------------------------------------------

TEST_F(EngineTombstones, TheJournalHearsOfAKeyWithItsDeletion) {
  use("tube");
  const JobId id = put("try:3 idp:key:60");
  EXPECT_EQ(journal.put_room.tombstone_key_bytes, 3U);
  EXPECT_EQ(journal.put_room.tube_name_bytes, 4U);
  world.pass_s(5);
  remove(id);
  EXPECT_EQ(journal.tombstone_room, (TombstoneRoom{.keys = 1, .bytes = 4 + 3}));
  ASSERT_EQ(journal.tombstone.size(), 1U);
  EXPECT_EQ(journal.tombstone[0].id, id);
  EXPECT_EQ(journal.tombstone[0].tube, "tube");
  EXPECT_EQ(journal.tombstone[0].key, "key");
  EXPECT_EQ(journal.tombstone[0].seconds, 60U);
  EXPECT_EQ(journal.tombstone[0].end, world.now + Duration::seconds(60));
  const JobRef tombstone_ref = engine.jobs().find_tombstone(id);
  const Tombstone found = engine.tombstone(tombstone_ref);
  EXPECT_EQ(found.ref, tombstone_ref);
  EXPECT_EQ(found.id, id);
  EXPECT_EQ(found.tube_name, "tube");
  EXPECT_EQ(found.key, "key");
  EXPECT_EQ(found.seconds, 60U);
  EXPECT_EQ(found.end, world.now + Duration::seconds(60));
  EXPECT_TRUE(journal.forgotten.empty());
  world.pass_s(60);
  EXPECT_EQ(journal.forgotten, std::vector{tombstone_ref});
}

TEST_F(EngineTombstones, APutWithoutATimeAsksForNoRoomOfAKey) {
  put("idp:key");
  EXPECT_EQ(journal.put_room.tombstone_key_bytes, 0U);
}

TEST_F(EngineTombstones, ARefusedDeleteLeavesEverythingAsItWas) {
  const JobId id = put("idp:k:60");
  const JobId plain = put("");
  const std::uint64_t memory = engine.memory().used_bytes();
  const std::pair<JournalStatus, Outcome> rows[] = {
      {JournalStatus::failed, Outcome::journal_failed},
      {JournalStatus::later, Outcome::not_yet},
  };
  for (const auto& [status, outcome] : rows) {
    journal.refuse_from(1, status);
    EXPECT_EQ(engine.delete_job(producer, id), outcome);
    engine.check_invariants();
    journal.accept();
    EXPECT_EQ(again(), tombstone(id));
  }
  for (const JournalStatus status : {JournalStatus::failed, JournalStatus::full}) {
    journal.refuse_from(1, status);
    EXPECT_EQ(world.delete_batch(producer, std::vector{plain, id}).outcome,
              Outcome::journal_failed);
    engine.check_invariants();
    journal.accept();
    EXPECT_EQ(again(), tombstone(id));
  }
  EXPECT_EQ(engine.memory().used_bytes(), memory);
  EXPECT_EQ(engine.jobs().tombstones(), 0U);
  EXPECT_TRUE(journal.tombstone.empty());
  EXPECT_TRUE(journal.forgotten.empty());
  remove(id);
  EXPECT_EQ(again(), deleted(id));
}

TEST_F(EngineTombstones, TheSizeOfTheRecordsOfKeysIsKnown) {
  EXPECT_EQ(journal.promised_keys(), TombstoneRoom{});
  put("idp:none");
  EXPECT_EQ(journal.promised_keys(), TombstoneRoom{});
  const JobId first = put("idp:first:60");
  EXPECT_EQ(journal.promised_keys(), (TombstoneRoom{.keys = 1, .bytes = 12}));
  use("t");
  const JobId other = put("con:l idp:a:60");
  EXPECT_EQ(journal.promised_keys(), (TombstoneRoom{.keys = 2, .bytes = 14}));
  remove(first);
  EXPECT_EQ(journal.promised_keys(), (TombstoneRoom{.keys = 1, .bytes = 2}));
  ASSERT_EQ(world.flush(producer, "t", kAll).jobs, 1U);
  EXPECT_FALSE(world.exists(other));
  EXPECT_EQ(journal.promised_keys(), TombstoneRoom{});
}

// Memory ------------------------------------------------------------------------------------------

TEST_F(EngineTombstones, TombstonesTakeMemory) {
  const JobId id = put("idp:k:60");
  // The body of a tombstone is the name of the tube.
  const std::uint64_t with_job = engine.memory().used_bytes();
  remove(id);
  const std::size_t tag_bytes = JobStore::tag_bytes_of(std::string_view("idp:k:60"));
  const std::uint64_t left =
      engine.jobs().memory_bytes_for(std::string_view("default").size(), tag_bytes) +
      sizeof(KeyNode*);
  EXPECT_EQ(engine.memory().used_bytes(), left);
  // It makes a put fail, but not a delete.
  engine.memory().limit(with_job + left);
  const JobId last = put("idp:l:60");
  EXPECT_EQ(world.try_put(producer, engine.take_id(), {.tags = "idp:m"}), Outcome::out_of_memory);
  engine.memory().limit(1);
  remove(last);
  world.pass_s(60);
  EXPECT_EQ(engine.memory().used_bytes(), 0U);
}

// A tube with a long name makes the tombstone larger than its job. The jobs count as much from the
// start, so that deletions take no memory beyond the limit.
TEST_F(EngineTombstones, DeletionsTakeNoMoreThanThePutsHaveAskedFor) {
  use(std::string(200, 't'));
  std::uint64_t of_first = 0;
  for (const char* const tags : {"idp:k:60", "idp:l:4294967295 try:3", "idp:m"}) {
    const std::uint64_t before = engine.memory().used_bytes();
    const JobId id = put(tags);
    const std::uint64_t with_job = engine.memory().used_bytes();
    EXPECT_GT(with_job, before);
    remove(id);
    EXPECT_LE(engine.memory().used_bytes(), with_job);
    if (of_first == 0) of_first = engine.memory().used_bytes();
    engine.check_invariants();
  }
  const std::uint64_t tombstone = engine.memory().used_bytes();
  engine.memory().limit(tombstone + of_first - 1);
  EXPECT_EQ(world.try_put(producer, engine.take_id(), {.tags = "idp:n:60"}),
            Outcome::out_of_memory);
  engine.memory().limit(2 * tombstone);
  (void)put("idp:n:60");
}

TEST_F(EngineTombstones, ADeleteThatFindsNoMemoryLeavesEverythingAsItWas) {
  const JobId id = put("con:l idp:k:60");
  journal.written.reserve(100);
  journal.tombstone.reserve(100);
  const std::uint64_t memory = engine.memory().used_bytes();
  Outcome outcome = Outcome::out_of_memory;
  std::int64_t allocations = 0;
  while (outcome == Outcome::out_of_memory && allocations < 20) {
    EXPECT_EQ(engine.memory().used_bytes(), memory);
    {
      const test::AllocationFailure failure(allocations++);
      outcome = engine.delete_job(producer, id);
    }
    engine.check_invariants();
    EXPECT_FALSE(journal.has_open_room());
  }
  EXPECT_EQ(outcome, Outcome::done);
  EXPECT_GT(allocations, 2);
  EXPECT_EQ(again(), deleted(id));
}

TEST_F(EngineTombstones, ABatchThatFindsNoMemoryLeavesEverythingAsItWas) {
  // Enough to make the heap of ends and the table grow in between.
  std::vector<JobId> ids;
  for (int i = 0; i < 100; ++i) ids.push_back(put("idp:" + std::to_string(i) + ":60"));
  ids.push_back(put(""));
  journal.written.reserve(1000);
  journal.tombstone.reserve(1000);
  const std::uint64_t memory = engine.memory().used_bytes();
  test::Ended result{Outcome::out_of_memory};
  std::int64_t allocations = 0;
  while (result.outcome == Outcome::out_of_memory && allocations < 400) {
    {
      const test::AllocationFailure failure(allocations++);
      try {
        result = world.delete_batch(producer, ids);
      } catch (const std::bad_alloc&) {
        result = {Outcome::out_of_memory};
      }
    }
    engine.check_invariants();
    if (result.outcome == Outcome::done) break;
    EXPECT_EQ(engine.memory().used_bytes(), memory);
    EXPECT_EQ(engine.jobs().tombstones(), 0U);
    EXPECT_FALSE(journal.has_open_room());
  }
  EXPECT_EQ(result.outcome, Outcome::done);
  EXPECT_EQ(result.jobs, 101U);
  EXPECT_GT(allocations, 5);
  EXPECT_EQ(engine.jobs().tombstones(), 100U);
  EXPECT_EQ(again("idp:7"), deleted(ids[7]));
}

}  // namespace
}  // namespace haricot
