// A full disk has enough room for all work on its jobs.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "binlog_world.hpp"
#include "folder_proportion.hpp"
#include "full_disk.hpp"
#include "support/random.hpp"

namespace haricot::binlog {
namespace {

// The records of a batch stand together if possible. On a full disk files are smaller and may lack
// the room; then the records are in several files.
TEST(BinlogSpace, FullDiskHasRoomForABatchOfDeletes) {
  test::Random random;
  for (const std::uint64_t capacity : {kFullDiskBytes, 8 * kFullDiskBytes}) {
    for (const std::size_t body_bytes : {0U, 100U, 900U, 3000U}) {
      for (const std::size_t most : {3U, 60U, 1000U}) {
        SCOPED_TRACE(std::to_string(capacity) + " bytes, bodies of " + std::to_string(body_bytes) +
                     ", batches of " + std::to_string(most));
        SimDisk disk;
        disk.set_capacity(capacity);
        World world(disk, kSmallFiles);
        std::vector<JobId> left = fill(world, body_bytes);
        for (std::size_t i = left.size(); i > 1; --i) {
          std::swap(left[i - 1], left[random.below(i)]);
        }
        while (!left.empty()) {
          const auto begin = left.end() - static_cast<std::ptrdiff_t>(std::min(most, left.size()));
          std::vector<JobId> ids(begin, left.end());
          left.erase(begin, left.end());
          const std::size_t size = ids.size();
          if (most > size) ids.push_back(ids.front());
          const Ended result = world.delete_batch(ids);
          ASSERT_EQ(result.outcome, Outcome::done);
          ASSERT_EQ(result.jobs, size);
          ASSERT_EQ(result.not_found, ids.size() - size);
          ASSERT_EQ(world.engine.jobs().size(), left.size());
          if (random.one_in(2)) world.end_turn();
        }
        EXPECT_FALSE(world.binlog.numbers().refusing);
        world.idle();
        EXPECT_EQ(world.binlog.safe_records(), world.binlog.records());
        EXPECT_TRUE(world.close());
        const World again(disk, kSmallFiles);
        EXPECT_EQ(again.engine.jobs().size(), 0U);
      }
    }
  }
}

TEST(BinlogSpace, FullDiskHasRoomForAFlush) {
  for (const std::size_t body_bytes : {0U, 100U, 900U, 3000U}) {
    SCOPED_TRACE(body_bytes);
    SimDisk disk;
    disk.set_capacity(kFullDiskBytes);
    World world(disk, kSmallFiles);
    EXPECT_FALSE(fill(world, body_bytes).empty());
    EXPECT_TRUE(world.flush("default", {.ready = true, .delayed = true, .buried = true}));
    EXPECT_EQ(world.engine.jobs().size(), 0U);
    world.idle();
    EXPECT_TRUE(world.close());
    World again(disk, kSmallFiles);
    EXPECT_EQ(again.engine.jobs().size(), 0U);
  }
}

TEST(BinlogSpace, FullDiskHasRoomToDeleteAllJobsInAnyOrder) {
  test::Random random;
  for (const std::size_t body_bytes : {0U, 100U, 900U, 3000U, 9000U}) {
    for (int order = 0; order < 3; ++order) {
      SCOPED_TRACE(std::to_string(body_bytes) + " bytes, order " + std::to_string(order));
      SimDisk disk;
      disk.set_capacity(kFullDiskBytes);
      World world(disk, kSmallFiles);
      std::vector<JobId> ids = fill(world, body_bytes);
      const std::size_t jobs = ids.size();
      if (order == 1) std::reverse(ids.begin(), ids.end());
      if (order == 2) {
        for (std::size_t i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[random.below(i)]);
      }
      for (const JobId id : ids) {
        ASSERT_EQ(world.delete_job(id), Outcome::done);
        if (random.one_in(3)) world.end_turn();
      }
      world.idle();
      EXPECT_EQ(world.binlog.safe_records(), world.binlog.records());
      expect_small(world, 4096);
      EXPECT_GE(fill(world, body_bytes).size() * 10, jobs * 8);
      EXPECT_TRUE(world.close());
      const World again(disk, kSmallFiles, world.wall());
      EXPECT_EQ(world.compare(again, world.binlog.records(), true), "");
    }
  }
}

class FullDiskWithoutRemovals : public ::testing::TestWithParam<SyncPolicy> {};

// A file that cannot be removed returns no space, so there is nothing to wait for.
TEST_P(FullDiskWithoutRemovals, RefusesChanges) {
  SimDisk disk;
  disk.set_capacity(kFullDiskBytes);
  World world(disk, {.file_bytes = 4096, .sync = GetParam()});
  const std::vector<JobId> ids = fill(world, 100);
  for (std::size_t i = 0; i < ids.size() / 2; ++i) {
    ASSERT_EQ(world.delete_job(ids[i]), Outcome::done);
  }
  (void)fill(world, 100);
  disk.set_sync_mode(SyncMode::when_told);
  disk.inject({.call = DiskCall::remove, .lasts = true});
  const JobId id = ids.back();
  Outcome outcome = Outcome::done;
  for (int i = 0; i < 10000 && outcome == Outcome::done; ++i) {
    outcome = world.reserve(id);
    if (outcome == Outcome::done) outcome = world.bury(id);
  }
  EXPECT_EQ(outcome, Outcome::journal_failed);
  EXPECT_FALSE(world.binlog.numbers().refusing);
  // Later, other jobs are refused too, until the fault ends.
  world.pass(Duration::seconds(2));
  EXPECT_EQ(world.release(id), Outcome::journal_failed);
  disk.clear_faults();
  world.idle();
  EXPECT_EQ(world.release(id), Outcome::done);
}

// With a quota, the lack of space shows only when a large body is half written.
TEST_P(FullDiskWithoutRemovals, RefusesChangesIfALargeBodyCannotBeMoved) {
  SimDisk disk;
  disk.set_capacity(kFullDiskBytes);
  disk.set_tells_space(false);
  World world(
      disk, {.file_bytes = 4096, .sync = GetParam(), .large_body_bytes = 2000, .slice_bytes = 500});
  const JobId large = world.put({.body_bytes = 12000});
  const std::vector<JobId> ids = fill(world, 100);
  for (std::size_t i = 0; i < ids.size() / 2; ++i) {
    ASSERT_EQ(world.delete_job(ids[i]), Outcome::done);
  }
  (void)fill(world, 100);
  const JobId id = ids.back();
  Outcome outcome = Outcome::done;
  for (int i = 0; i < 10000 && outcome == Outcome::done; ++i) {
    outcome = world.reserve(id);
    if (outcome == Outcome::done) outcome = world.bury(id);
  }
  EXPECT_EQ(outcome, Outcome::journal_failed);
  EXPECT_FALSE(world.binlog.numbers().refusing);
  EXPECT_EQ(world.delete_job(large), Outcome::done);
  world.idle();
  EXPECT_EQ(world.release(id), Outcome::done);
}

INSTANTIATE_TEST_SUITE_P(Each, FullDiskWithoutRemovals, kEachSyncPolicy, name_of_policy);

// Each file has records that no job needs. If nearly all other records are needed, a copy would
// return no space. The world fails if the binlog requests turns without end.
TEST(BinlogSpace, FullDiskWithSmallFilesIsNotCopiedInVain) {
  test::Random random;
  for (int round = 0; round < 4; ++round) {
    SimDisk disk;
    disk.set_capacity(4 * kFullDiskBytes);
    disk.set_block_bytes(512);
    BinlogOptions options = kSmallFiles;
    options.file_bytes = 4096;
    World world(disk, options);
    (void)fill_mixed(world, random, 1000);
    std::vector<JobId> ids;
    for (JobId id = 1; id < world.engine.next_id(); ++id) {
      if (world.engine.peek(id) != JobRef::none) ids.push_back(id);
    }
    while (!ids.empty()) {
      const std::size_t place = random.below(ids.size());
      ASSERT_EQ(world.delete_job(ids[place]), Outcome::done);
      ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(place));
      if (random.one_in(3)) world.end_turn();
      if (random.one_in(10)) world.idle(Duration::milliseconds(10));
    }
    EXPECT_TRUE(world.close());
  }
}

TEST(BinlogSpace, FullDiskHasRoomForWorkers) {
  for (const std::size_t body_bytes : {20U, 400U, 700U, 3000U}) {
    SCOPED_TRACE(std::to_string(body_bytes) + " bytes");
    SimDisk disk;
    disk.set_capacity(kFullDiskBytes);
    World world(disk, kSmallFiles);
    fill(world, body_bytes);
    int refused = 0;
    for (int i = 0; i < 1000; ++i) {
      const JobId id = world.reserve();
      ASSERT_NE(id, 0U);
      if (i % 3 == 0) {
        refused += world.bury(id) != Outcome::done;
        refused += world.kick_job(id) != Outcome::done;
      } else {
        refused += world.release(id) != Outcome::done;
      }
      if (world.engine.counts().reserved > 0) break;
      world.end_turn();
      world.idle(Duration::milliseconds(10));
    }
    EXPECT_EQ(refused, 0);
  }
}

// The disk gets no time: the next command comes at once, sometimes in the same turn.
TEST(BinlogSpace, FullDiskHasRoomForWorkersWithoutPauses) {
  for (const std::size_t body_bytes : {20U, 400U, 3000U}) {
    for (const SyncPolicy sync :
         {SyncPolicy::every_turn, SyncPolicy::interval, SyncPolicy::never}) {
      SCOPED_TRACE(std::to_string(body_bytes) + " bytes");
      SimDisk disk;
      disk.set_block_bytes(4096);
      disk.set_capacity(kFullDiskBytes);
      BinlogOptions options = kSmallFiles;
      options.sync = sync;
      World world(disk, options);
      fill(world, body_bytes);
      int refused = 0;
      for (int i = 0; i < 1000 && refused == 0; ++i) {
        const JobId id = world.reserve();
        ASSERT_NE(id, 0U);
        refused += world.bury(id) != Outcome::done;
        if (i % 4 == 0) world.end_turn();
        refused += world.kick_job(id) != Outcome::done;
        if (i % 7 == 0) world.end_turn();
      }
      EXPECT_EQ(refused, 0);
      world.end_turn();
      world.idle();
      EXPECT_TRUE(world.close());
      const World again(disk, options, world.wall());
      EXPECT_EQ(world.compare(again, world.binlog.records(), true), "");
    }
  }
}

// Many clients change their jobs in one turn. Most of the changes come while compaction is in the
// middle of a file, often a small one. It must still have the room that the next file needs.
TEST(BinlogSpace, FullDiskHasRoomToChangeAllJobsAtOnce) {
  test::Random random;
  for (const std::uint64_t capacity : {65536U, 100000U, 200000U, 524288U}) {
    for (const std::size_t body_bytes : {0U, 100U, 400U, 900U, 3000U}) {
      if (body_bytes > capacity / 128) continue;  // A sixteenth of a file of that disk.
      for (const bool is_mixed : {false, true}) {
        SCOPED_TRACE(std::to_string(capacity) + " bytes, bodies of " + std::to_string(body_bytes) +
                     (is_mixed ? " at most" : ""));
        SimDisk disk;
        disk.set_block_bytes(4096);
        disk.set_capacity(capacity);
        World world(disk, {.file_bytes = 10485760, .sync = SyncPolicy::every_turn});
        const std::size_t jobs =
            is_mixed ? fill_mixed(world, random, body_bytes) : fill(world, body_bytes).size();
        int refused = 0;
        std::vector<JobId> all;
        for (int round = 0; round < 4 && refused == 0; ++round) {
          for (std::size_t i = 0; i < jobs; ++i) {
            const JobId id = world.reserve();
            ASSERT_NE(id, 0U);
            const Outcome outcome = round % 2 == 0 ? world.bury(id) : world.release(id);
            refused += outcome != Outcome::done;
            if (round == 0) all.push_back(id);
          }
          for (const JobId id : round % 2 == 0 ? all : std::vector<JobId>()) {
            refused += world.kick_job(id) != Outcome::done;
          }
          world.end_turn();
        }
        EXPECT_EQ(refused, 0) << "of " << jobs;
        EXPECT_FALSE(world.binlog.numbers().refusing);
      }
    }
  }
}

// A spare that is too small for a job must not come before one that is large enough.
TEST(BinlogSpace, FullDiskHasRoomForJobsOfDifferentSizes) {
  for (const std::size_t large : {3000U, 9000U}) {
    SimDisk disk;
    disk.set_capacity(kFullDiskBytes);
    World world(disk, kSmallFiles);
    for (int i = 0; i < 200; ++i) {
      (void)world.try_put({.body_bytes = i % 10 == 0 ? large : 30U});
      world.end_turn();
    }
    for (JobId id = 1; id < world.engine.next_id(); ++id) {
      EXPECT_NE(world.delete_job(id), Outcome::journal_failed);
      if (id % 3 == 0) world.end_turn();
    }
    world.idle();
    EXPECT_EQ(world.engine.jobs().size(), 0U);
    EXPECT_EQ(world.try_put({.body_bytes = large}), Outcome::done);
  }
}

}  // namespace
}  // namespace haricot::binlog
