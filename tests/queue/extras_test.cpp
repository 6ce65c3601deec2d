#include "haricot/queue/extras.hpp"

#include "queue/parts.hpp"
#include "support/allocations.hpp"

namespace haricot {
namespace {

class ExtrasTest : public test::Parts {};

TEST_F(ExtrasTest, EachTagHearsOfEachMove) {
  Client& worker = open();
  const JobRef ref = make_ready("con:lane idp:key:60");
  const JobRef blocked = make_ready("con:lane");
  ASSERT_EQ(give(worker), ref);
  EXPECT_FALSE(tube.offers_job());
  places.to_buried(ref, Place::reserved, BurialCause::client);
  EXPECT_EQ(tube.ready.top().job, blocked);
  EXPECT_TRUE(tube.offers_job());
  EXPECT_EQ(keys.find(tube, "key").owner, ref);
  destroy(ref);
  EXPECT_EQ(keys.find(tube, "key").owner, JobRef::none);
}

TEST_F(ExtrasTest, WithoutMemoryForOneTagNothingHasChanged) {
  const std::string_view tags = "con:a-lane-with-a-long-name-that-needs-memory idp:key";
  const JobRef ref = state.jobs.create(7, {.bytes = "body", .blob = {}}, tags);
  const JobTags read = tags_in(tags);
  bool is_done = false;
  std::int64_t failing = 0;
  for (; !is_done && failing < 20; ++failing) {
    const Keys::Found key = keys.find(tube, read.unique_key);
    EXPECT_EQ(key.owner, JobRef::none);
    EXPECT_EQ(lanes.lanes().size(), 0U);
    const test::AllocationFailure failure(failing);
    is_done = extras.take_up(tube, ref, read, key);
  }
  EXPECT_TRUE(is_done);
  EXPECT_GT(failing, 2);
  EXPECT_EQ(keys.find(tube, read.unique_key).owner, ref);
  EXPECT_EQ(lanes.lanes().size(), 1U);
}

}  // namespace
}  // namespace haricot
