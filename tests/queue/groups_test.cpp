#include "haricot/queue/groups.hpp"

#include <gtest/gtest.h>

#include <string_view>

#include "parts.hpp"

namespace haricot {
namespace {

class GroupsTest : public test::Parts {
 protected:
  void TearDown() override { groups.check_invariants(); }

  JobRef make_held(std::string_view tags, std::string_view after) {
    const JobRef ref = make(tags);
    EXPECT_TRUE(tube.delayed.allocate_one());
    serving.to_held(ref, *groups.find(after));
    return ref;
  }
  JobRef make_held_any(std::string_view tags) {
    const JobRef ref = make(tags);
    EXPECT_TRUE(tube.delayed.allocate_one());
    Group* awaited = nullptr;
    EXPECT_TRUE(groups.find_awaited(tags_in(tags), awaited));
    serving.to_held(ref, *awaited);
    return ref;
  }
};

TEST_F(GroupsTest, AGroupIsThereAsLongAsAJobOfItLives) {
  EXPECT_EQ(groups.find("g"), nullptr);
  const JobRef first = make_ready("grp:g");
  const JobRef second = make_buried("grp:g");
  const Group* const group = groups.find("g");
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(group->jobs_in(JobState::ready), 1U);
  EXPECT_EQ(group->jobs_in(JobState::buried), 1U);
  EXPECT_EQ(groups.memory_bytes(), Groups::memory_bytes_for("g"));
  destroy(first);
  EXPECT_EQ(groups.find("g"), group);
  destroy(second);
  EXPECT_EQ(groups.find("g"), nullptr);
  EXPECT_EQ(groups.size(), 0U);
  EXPECT_EQ(groups.memory_bytes(), 0U);
  EXPECT_FALSE(groups.has_ended());
}

TEST_F(GroupsTest, EachChangeOfPlaceIsCounted) {
  Client& client = open();
  const JobRef ref = make_ready("grp:g");
  const Group& group = *groups.find("g");
  give(client);
  EXPECT_EQ(group.jobs_in(JobState::reserved), 1U);
  EXPECT_EQ(group.jobs_in(JobState::ready), 0U);
  places.to_buried(ref, Place::reserved, BurialCause::client);
  EXPECT_EQ(group.jobs_in(JobState::reserved), 0U);
  EXPECT_EQ(group.jobs_in(JobState::buried), 1U);
  destroy(ref);
}

TEST_F(GroupsTest, WaitingJobsAreReleasedInTheirOrderWhenTheGroupEnds) {
  const JobRef member = make_ready("grp:g");
  const JobRef refs[] = {make_held("aft:g", "g"), make_held("aft:g", "g"), make_held("aft:g", "g")};
  EXPECT_EQ(groups.find("g")->held, 3U);
  destroy(member);
  ASSERT_TRUE(groups.has_ended());
  EXPECT_EQ(groups.find("g"), nullptr);
  const JobRef later = make_ready("grp:g");
  EXPECT_EQ(groups.find("g")->held, 0U);
  groups.check_invariants();
  EXPECT_EQ(groups.first_of_ended(), refs[0]);
  // The job in the middle leaves in another way.
  places.to_buried(refs[1], Place::delayed, BurialCause::client);
  serving.end_hold(refs[0]);
  EXPECT_EQ(groups.first_of_ended(), refs[2]);
  destroy(refs[2]);
  EXPECT_EQ(groups.first_of_ended(), JobRef::none);
  groups.drop_ended();
  EXPECT_FALSE(groups.has_ended());
  EXPECT_EQ(places.of(refs[0]), Place::ready);
  for (const JobRef ref : {refs[0], refs[1], later}) destroy(ref);
}

TEST_F(GroupsTest, JobsWithAnyWaitForNoBuriedJob) {
  Client& client = open();
  const JobRef member = make_ready("grp:g");
  const JobRef any = make_held_any("aft:g:any");
  const JobRef all = make_held("aft:g", "g");
  EXPECT_EQ(groups.find("g")->held, 2U);
  EXPECT_EQ(groups.memory_bytes(), Groups::memory_bytes_for("g") + Groups::memory_bytes_for(""));
  groups.check_invariants();
  give(client);
  EXPECT_FALSE(groups.has_ended());
  places.to_buried(member, Place::reserved, BurialCause::client);
  ASSERT_TRUE(groups.has_ended());
  EXPECT_EQ(groups.first_of_ended(), any);
  EXPECT_EQ(groups.find("g")->held, 1U);
  groups.check_invariants();
  Group* awaited = nullptr;
  EXPECT_TRUE(groups.find_awaited(tags_in("aft:g:any"), awaited));
  EXPECT_EQ(awaited, nullptr);
  serving.end_hold(any);
  groups.drop_ended();
  EXPECT_EQ(groups.memory_bytes(), Groups::memory_bytes_for("g"));
  destroy(member);
  EXPECT_EQ(groups.first_of_ended(), all);
  serving.end_hold(all);
  groups.drop_ended();
  for (const JobRef ref : {any, all}) destroy(ref);
}

TEST_F(GroupsTest, AGroupWithoutJobsEndsItsShadowFirst) {
  const JobRef member = make_ready("grp:g");
  const JobRef all = make_held("aft:g", "g");
  const JobRef any = make_held_any("aft:g:any");
  const JobRef left = make_held_any("aft:g:any");
  destroy(left);
  EXPECT_EQ(groups.find("g")->held, 2U);
  destroy(member);
  EXPECT_EQ(groups.find("g"), nullptr);
  EXPECT_EQ(groups.first_of_ended(), any);
  destroy(any);
  groups.drop_ended();
  EXPECT_EQ(groups.first_of_ended(), all);
  destroy(all);
  groups.drop_ended();
  EXPECT_EQ(groups.size(), 0U);
}

TEST_F(GroupsTest, AShadowWithoutHeldJobsEndsWithItsGroup) {
  const JobRef member = make_ready("grp:g");
  Group* awaited = nullptr;
  const JobTags tags = tags_in("aft:g:any");
  EXPECT_EQ(groups.memory_bytes_for(tags), Groups::memory_bytes_for(""));
  EXPECT_TRUE(groups.find_awaited(tags, awaited));
  ASSERT_NE(awaited, nullptr);
  EXPECT_EQ(groups.memory_bytes_for(tags), 0U);
  destroy(member);
  EXPECT_FALSE(groups.has_ended());
  EXPECT_EQ(groups.memory_bytes(), 0U);
}

TEST_F(GroupsTest, AJobThatLeavesBeforeItHasAPlaceLeavesNothing) {
  const JobRef ref = make("grp:g");
  EXPECT_NE(groups.find("g"), nullptr);
  groups.leave(ref);
  EXPECT_EQ(groups.size(), 0U);
  state.jobs.destroy(ref);
}

TEST_F(GroupsTest, AtAStartGroupsWithoutAJobEnd) {
  const JobRef waits[] = {make("aft:g"), make("aft:h")};
  for (const JobRef ref : waits) {
    ASSERT_TRUE(tube.delayed.allocate_one());
    places.to_delayed(ref, Place::nowhere, Instant::never());
    ASSERT_TRUE(groups.hold_restored(ref));
  }
  const JobRef member = make_ready("grp:h");
  groups.end_restoring();
  EXPECT_EQ(groups.first_of_ended(), waits[0]);
  EXPECT_EQ(groups.find("h")->held, 1U);
  groups.check_invariants();
  serving.end_hold(waits[0]);
  groups.drop_ended();
  EXPECT_FALSE(groups.has_ended());
  for (const JobRef ref : {waits[0], waits[1]}) destroy(ref);
  destroy(member);
}

TEST_F(GroupsTest, AtAStartJobsWithAnyWaitForAGroupThatIsNotBuried) {
  const JobRef waits[] = {make("aft:g:any"), make("aft:h:any")};
  for (const JobRef ref : waits) {
    ASSERT_TRUE(tube.delayed.allocate_one());
    places.to_delayed(ref, Place::nowhere, Instant::never());
    ASSERT_TRUE(groups.hold_restored(ref));
  }
  const JobRef members[] = {make_buried("grp:g"), make_buried("grp:h"), make_ready("grp:h")};
  EXPECT_FALSE(groups.has_ended());
  groups.end_restoring();
  EXPECT_EQ(groups.first_of_ended(), waits[0]);
  EXPECT_EQ(groups.find("h")->held, 1U);
  groups.check_invariants();
  serving.end_hold(waits[0]);
  groups.drop_ended();
  EXPECT_FALSE(groups.has_ended());
  for (const JobRef ref : {waits[0], waits[1], members[0], members[1], members[2]}) destroy(ref);
}

}  // namespace
}  // namespace haricot
