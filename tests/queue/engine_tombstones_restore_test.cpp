// Restoring keys that outlive their jobs.

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>

#include "support/engine_world.hpp"

namespace haricot {
namespace {

class EngineRestoreOfTombstones : public ::testing::Test {
 protected:
  PlacedKey restore(JobId id, std::string_view tube, std::string_view key, Instant end) {
    const JobRef tombstone_ref = world.engine.restoring().restore_tombstone(
        {.ref = JobRef::none, .id = id, .tube_name = tube, .key = key, .seconds = 60, .end = end});
    EXPECT_EQ(world.engine.jobs().find_tombstone(id), tombstone_ref);
    const PlacedKey placed = world.engine.restoring().place_tombstone(tombstone_ref);
    if (placed == PlacedKey::over) {
      EXPECT_EQ(world.engine.tombstone(tombstone_ref).end, end);
      world.engine.jobs().destroy_tombstone(tombstone_ref);
    }
    return placed;
  }
  Instant in(std::uint32_t seconds) const { return world.now + Duration::seconds(seconds); }
  // Returns the owner of the key; 0: none.
  JobId holder(Client& client, std::string_view tags) {
    const Outcome outcome = world.try_put(client, world.engine.take_id(), {.tags = tags});
    world.engine.check_invariants();
    return outcome == Outcome::duplicate ? world.id_of(world.engine.duplicate().job) : 0;
  }

  test::World world;
};

// If two restored jobs have one key, the one with the higher id owns it.
TEST_F(EngineRestoreOfTombstones, AJobThatDoesNotHoldItsKeyLeavesNothing) {
  world.restore(1, JobState::ready, "idp:k:60", 0);
  world.restore(2, JobState::ready, "idp:k", 0);
  world.engine.restoring().end(3);
  Client& client = world.connect();
  EXPECT_EQ(world.engine.delete_job(client, 1), Outcome::done);
  EXPECT_EQ(world.engine.jobs().tombstones(), 0U);
  EXPECT_EQ(holder(client, "idp:k"), 2U);
  EXPECT_EQ(world.engine.delete_job(client, 2), Outcome::done);
  EXPECT_EQ(holder(client, "idp:k"), 0U);
}

TEST_F(EngineRestoreOfTombstones, AKeyIsTakenUntilItsEnd) {
  EXPECT_EQ(restore(5, "default", "k", in(10)), PlacedKey::taken);
  EXPECT_EQ(restore(6, "gone", "k", in(20)), PlacedKey::taken);
  world.engine.restoring().end(7);
  world.engine.check_invariants();
  Client& client = world.connect();
  EXPECT_EQ(world.engine.tubes().size(), 1U);
  EXPECT_EQ(holder(client, "idp:k"), 5U);
  EXPECT_TRUE(world.engine.duplicate().is_deleted);
  ASSERT_EQ(world.engine.use(client, "gone"), Outcome::done);
  world.pass_s(19);
  EXPECT_EQ(holder(client, "idp:k"), 6U);
  world.pass_s(1);
  EXPECT_EQ(holder(client, "idp:k"), 0U);
}

TEST_F(EngineRestoreOfTombstones, TheOneWithTheHighestIdHasTheKey) {
  world.restore(3, JobState::buried, "idp:a", 0);
  world.restore(4, JobState::ready, "idp:b", 0);
  world.restore(10, JobState::buried, "idp:d:60", 0);
  EXPECT_EQ(restore(9, "default", "a", in(10)), PlacedKey::taken);
  EXPECT_EQ(restore(2, "default", "d", in(10)), PlacedKey::over);
  EXPECT_EQ(restore(8, "default", "c", in(10)), PlacedKey::taken);
  EXPECT_EQ(restore(7, "default", "c", in(99)), PlacedKey::over);
  EXPECT_EQ(restore(6, "other", "b", in(10)), PlacedKey::taken);
  EXPECT_EQ(restore(5, "default", "over", world.now), PlacedKey::over);
  EXPECT_EQ(world.engine.jobs().tombstones(), 3U);
  world.engine.restoring().end(11);
  world.engine.check_invariants();
  Client& client = world.connect();
  EXPECT_EQ(holder(client, "idp:a"), 9U) << "the deletion of job 3 is lost";
  EXPECT_EQ(holder(client, "idp:d"), 10U);
  EXPECT_EQ(holder(client, "idp:b"), 4U);
  EXPECT_EQ(holder(client, "idp:c"), 8U);
  EXPECT_EQ(holder(client, "idp:over"), 0U);
}

TEST_F(EngineRestoreOfTombstones, AJobDroppedBeforeItIsPlacedLeavesNoTombstone) {
  const std::uint64_t before = world.engine.memory().used_bytes();
  const JobRef tombstone_ref = world.engine.restoring().restore_tombstone(
      {.ref = JobRef::none, .id = 5, .tube_name = "t", .key = "k", .seconds = 1, .end = in(1)});
  ASSERT_NE(tombstone_ref, JobRef::none);
  EXPECT_EQ(world.engine.tombstone(tombstone_ref).end, in(1));
  world.engine.jobs().destroy_tombstone(tombstone_ref);
  EXPECT_EQ(world.engine.memory().used_bytes(), before);
  world.engine.restoring().end(6);
  world.engine.check_invariants();
}

}  // namespace
}  // namespace haricot
