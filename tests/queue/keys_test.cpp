#include "haricot/queue/keys.hpp"

#include <vector>

#include "queue/parts.hpp"

namespace haricot {
namespace {

class KeysTest : public test::Parts {};

TEST_F(KeysTest, AJobHasItsKeyUntilItIsDestroyed) {
  EXPECT_EQ(keys.find(tube, "k").holder, JobRef::none);
  const JobRef ref = make_ready("idp:k");
  EXPECT_EQ(keys.find(tube, "k").holder, ref);
  EXPECT_EQ(keys.find(*state.tubes.find_or_create("other"), "k").holder, JobRef::none);
  EXPECT_FALSE(keys.outlives(ref));
  destroy(ref);
  EXPECT_EQ(keys.find(tube, "k").holder, JobRef::none);
}

TEST_F(KeysTest, AKeyWithATimeOutlivesItsJob) {
  const JobRef ref = make_ready("idp:k:60");
  ASSERT_TRUE(keys.outlives(ref));
  const JobRef remains = keys.make_remains(ref);
  ASSERT_NE(remains, JobRef::none);
  EXPECT_EQ(keys.kept(remains).key, "k");
  EXPECT_EQ(keys.kept(remains).tube_name, "default");
  destroy(ref);
  EXPECT_EQ(keys.find(tube, "k").remains, remains);
  EXPECT_EQ(keys.next_event(), state.now + Duration::seconds(60));
  pass(Duration::seconds(60));
  EXPECT_EQ(journal.forgotten, std::vector<JobRef>{remains});
  EXPECT_EQ(keys.find(tube, "k").remains, JobRef::none);
  EXPECT_EQ(state.jobs.remains(), 0U);
}

TEST_F(KeysTest, RemainsAreMadeForAllJobsOrForNone) {
  const std::vector<JobRef> refs = {make_ready("idp:a:60"), make_ready(), make_ready("idp:b:60")};
  std::vector<JobRef> remains;
  ASSERT_TRUE(keys.make_remains(refs, remains));
  ASSERT_EQ(remains.size(), 3U);
  EXPECT_EQ(remains[1], JobRef::none);
  EXPECT_EQ(keys.room_of(remains).keys, 2U);
  keys.unmake_remains(remains);
  EXPECT_EQ(state.jobs.remains(), 0U);
  for (const JobRef ref : refs) destroy(ref);
}

TEST_F(KeysTest, OfSeveralThatComeBackTheOneWithTheHighestIdHoldsAKey) {
  const JobRef older = make_ready("idp:k");
  const JobRef newer = state.jobs.create(99, {.bytes = "body", .blob = {}}, "idp:k");
  state.jobs[newer].tube = tube.ref;
  ASSERT_TRUE(extras.restore(newer));
  EXPECT_EQ(keys.find(tube, "k").holder, newer);
  destroy(older);
  EXPECT_EQ(keys.find(tube, "k").holder, newer);
}

}  // namespace
}  // namespace haricot
