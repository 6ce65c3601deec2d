// Notes of jobs: who may set one, how long it stays, and what it costs.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/allocations.hpp"
#include "support/engine_world.hpp"

namespace haricot {
namespace {

using test::World;

std::string_view note_of(const World& world, JobId id) {
  return world.engine.jobs().note(world.engine.peek(id));
}

TEST(EngineNotes, TheHolderOfAReservedJobSetsItsNote) {
  World world;
  Client& worker = world.connect();
  Client& other = world.connect();
  const JobId id = world.put(other);
  EXPECT_EQ(world.engine.set_note(other, id, "free"), Outcome::done);
  ASSERT_EQ(world.reserve(worker), id);
  EXPECT_EQ(world.engine.set_note(other, id, "no"), Outcome::not_found);
  EXPECT_EQ(note_of(world, id), "free");
  EXPECT_EQ(world.engine.set_note(worker, id, "holder"), Outcome::done);
  EXPECT_EQ(note_of(world, id), "holder");
  EXPECT_EQ(world.engine.set_note(other, id + 1, "x"), Outcome::not_found);
  EXPECT_EQ(world.report(id).note, "holder");
  world.engine.check_invariants();
}

TEST(EngineNotes, AnEmptyNoteWithoutAnEarlierOneIsNotRecorded) {
  World world;
  Client& client = world.connect();
  const JobId id = world.put(client);
  const std::size_t records = world.journal.written.size();
  EXPECT_EQ(world.engine.set_note(client, id, ""), Outcome::done);
  EXPECT_EQ(world.journal.written.size(), records);
  EXPECT_EQ(world.engine.set_note(client, id, "x"), Outcome::done);
  EXPECT_EQ(world.journal.note_bytes, 1U);
  EXPECT_EQ(world.engine.set_note(client, id, ""), Outcome::done);
  EXPECT_EQ(world.engine.set_note(client, id, ""), Outcome::done);
  EXPECT_EQ(world.journal.written.size(), records + 3);
  EXPECT_EQ(note_of(world, id), "");
}

TEST(EngineNotes, ARefusedNoteLeavesTheFormer) {
  World world;
  Client& client = world.connect();
  const JobId id = world.put(client);
  ASSERT_EQ(world.engine.set_note(client, id, "before"), Outcome::done);
  const std::string longer(1000, 'n');
  const auto set = [&] { return world.engine.set_note(client, id, longer); };
  world.journal.refuse_from(1, JournalStatus::full);
  EXPECT_EQ(set(), Outcome::out_of_memory);
  world.journal.refuse_from(1, JournalStatus::failed);
  EXPECT_EQ(set(), Outcome::journal_failed);
  world.journal.refuse_from(1, JournalStatus::later);
  EXPECT_EQ(set(), Outcome::not_yet);
  world.journal.accept();
  world.engine.memory().limit(world.engine.jobs().memory_bytes() + 1000);
  EXPECT_EQ(set(), Outcome::out_of_memory);
  EXPECT_FALSE(world.journal.has_open_room());
  EXPECT_EQ(note_of(world, id), "before");
  // The limit refuses no removal.
  world.engine.memory().limit(1);
  EXPECT_EQ(world.engine.set_note(client, id, ""), Outcome::done);
}

TEST(EngineNotes, AFailedAllocationLeavesNoNote) {
  World world;
  Client& client = world.connect();
  const JobId id = world.put(client);
  world.journal.written.reserve(100);
  bool has_failed = false;
  for (int succeeding = 0;; ++succeeding) {
    ASSERT_LT(succeeding, 100);
    Outcome outcome = Outcome::done;
    {
      const test::AllocationFailure failure(succeeding);
      outcome = world.engine.set_note(client, id, "x");
    }
    EXPECT_FALSE(world.journal.has_open_room());
    if (outcome == Outcome::done) break;
    has_failed = true;
    EXPECT_EQ(outcome, Outcome::out_of_memory);
    EXPECT_EQ(note_of(world, id), "");
  }
  EXPECT_TRUE(has_failed);
  EXPECT_EQ(note_of(world, id), "x");
}

// A note is freed with its job, however the job ends, and takes as many steps as the job.
TEST(EngineNotes, EndWithTheirJobs) {
  World world;
  Client& client = world.connect();
  JobStore& jobs = world.engine.jobs();
  const std::uint64_t empty = jobs.memory_bytes();
  const auto steps_of_flush = [&] {
    const std::uint64_t before = world.engine.steps();
    EXPECT_EQ(world.flush(client, "default", {.ready = true}).jobs, 100U);
    return world.engine.steps() - before;
  };
  for (int i = 0; i < 100; ++i) world.put(client);
  const std::uint64_t plain = steps_of_flush();
  for (std::size_t i = 0; i < 100; ++i) {
    const std::string note(1 + 10 * i, 'n');
    ASSERT_EQ(world.engine.set_note(client, world.put(client), note), Outcome::done);
  }
  EXPECT_EQ(steps_of_flush(), plain + 100 * Engine::kStepsPerJob);
  EXPECT_EQ(jobs.memory_bytes(), empty);
  std::vector<JobId> ids;
  for (int i = 0; i < 10; ++i) {
    ids.push_back(world.put(client));
    ASSERT_EQ(world.engine.set_note(client, ids.back(), "n"), Outcome::done);
  }
  EXPECT_EQ(world.engine.delete_job(client, ids[0]), Outcome::done);
  EXPECT_EQ(world.delete_batch(client, ids).jobs, 9U);
  EXPECT_EQ(jobs.memory_bytes(), empty);
  world.engine.check_invariants();
}

TEST(EngineNotes, StayBesideLargeCounters) {
  World world;
  Client& client = world.connect();
  const JobId id = world.put(client);
  JobStore& jobs = world.engine.jobs();
  const JobRef ref = world.engine.peek(id);
  ASSERT_EQ(world.engine.set_note(client, id, "a note"), Outcome::done);
  for (int i = 0; i < 5000; ++i) jobs.count(ref, JobEvent::kick);
  EXPECT_EQ(note_of(world, id), "a note");
  ASSERT_EQ(world.engine.set_note(client, id, "another"), Outcome::done);
  EXPECT_EQ(jobs.counted(ref, JobEvent::kick), 5000U);
  ASSERT_EQ(world.engine.set_note(client, id, ""), Outcome::done);
  EXPECT_EQ(jobs.counted(ref, JobEvent::kick), 5000U);
}

}  // namespace
}  // namespace haricot
