#include "haricot/queue/keys.hpp"

#include <vector>

#include "queue/parts.hpp"

namespace haricot {
namespace {

class KeysTest : public test::Parts {};

TEST_F(KeysTest, AJobHasItsKeyUntilItIsDestroyed) {
  EXPECT_EQ(keys.find(tube, "k").owner, JobRef::none);
  const JobRef ref = make_ready("idp:k");
  EXPECT_EQ(keys.find(tube, "k").owner, ref);
  EXPECT_EQ(keys.find(*state.tubes.find_or_create("other"), "k").owner, JobRef::none);
  EXPECT_FALSE(keys.outlives(ref));
  destroy(ref);
  EXPECT_EQ(keys.find(tube, "k").owner, JobRef::none);
}

TEST_F(KeysTest, AKeyWithATimeOutlivesItsJob) {
  const JobRef ref = make_ready("idp:k:60");
  ASSERT_TRUE(keys.outlives(ref));
  const JobRef tombstone_ref = keys.make_tombstone(ref);
  ASSERT_NE(tombstone_ref, JobRef::none);
  EXPECT_EQ(keys.tombstone(tombstone_ref).key, "k");
  EXPECT_EQ(keys.tombstone(tombstone_ref).tube_name, "default");
  destroy(ref);
  EXPECT_EQ(keys.find(tube, "k").tombstone, tombstone_ref);
  EXPECT_EQ(keys.next_event(), state.now + Duration::seconds(60));
  pass(Duration::seconds(60));
  EXPECT_EQ(journal.forgotten, std::vector<JobRef>{tombstone_ref});
  EXPECT_EQ(keys.find(tube, "k").tombstone, JobRef::none);
  EXPECT_EQ(state.jobs.tombstones(), 0U);
}

TEST_F(KeysTest, RemainsAreMadeForAllJobsOrForNone) {
  const std::vector<JobRef> refs = {make_ready("idp:a:60"), make_ready(), make_ready("idp:b:60")};
  std::vector<JobRef> tombstone_refs;
  ASSERT_TRUE(keys.make_tombstones(refs, tombstone_refs));
  ASSERT_EQ(tombstone_refs.size(), 3U);
  EXPECT_EQ(tombstone_refs[1], JobRef::none);
  EXPECT_EQ(keys.room_of(tombstone_refs).keys, 2U);
  keys.unmake_tombstones(tombstone_refs);
  EXPECT_EQ(state.jobs.tombstones(), 0U);
  for (const JobRef ref : refs) destroy(ref);
}

TEST_F(KeysTest, OfSeveralThatComeBackTheOneWithTheHighestIdHoldsAKey) {
  const JobRef older = make_ready("idp:k");
  const JobRef newer = state.jobs.create(99, {.bytes = "body", .blob = {}}, "idp:k");
  state.jobs[newer].tube = tube.ref;
  ASSERT_TRUE(extras.restore(newer));
  EXPECT_EQ(keys.find(tube, "k").owner, newer);
  destroy(older);
  EXPECT_EQ(keys.find(tube, "k").owner, newer);
}

}  // namespace
}  // namespace haricot
