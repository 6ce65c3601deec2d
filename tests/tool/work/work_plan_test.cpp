#include "tool/work/work_plan.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace haricot::tool {
namespace {

using Words = std::vector<std::string>;

WorkPlan plan_for(Words command) {
  WorkPlan plan;
  plan.command = std::move(command);
  return plan;
}

TEST(WorkPlan, DelaysDoubleUpToTheLongest) {
  WorkPlan plan;
  plan.delay_s = 3;
  plan.delay_max_s = 20;
  std::vector<std::uint64_t> delays;
  for (std::uint64_t reserves = 1; reserves <= 6; ++reserves) {
    delays.push_back(delay_of_release(plan, reserves));
  }
  EXPECT_EQ(delays, (std::vector<std::uint64_t>{3, 6, 12, 20, 20, 20}));
  EXPECT_EQ(delay_of_release(plan, 4294967295), 20U);
  plan.delay_max_s = 2;
  EXPECT_EQ(delay_of_release(plan, 1), 2U);
  plan.delay_s = 0;
  EXPECT_EQ(delay_of_release(plan, 4294967295), 0U);
}

TEST(WorkPlan, TheLastTryIsTheOneThatWasAskedFor) {
  WorkPlan plan;
  EXPECT_FALSE(is_last_try(plan, 4294967295));
  plan.tries = 3;
  EXPECT_FALSE(is_last_try(plan, 2));
  EXPECT_TRUE(is_last_try(plan, 3));
  EXPECT_TRUE(is_last_try(plan, 4));
}

TEST(WorkPlan, TheBodyGoesIntoEachPlace) {
  const WorkPlan plan = plan_for({"echo", "{}", "a{}b{}c", "{", "}{"});
  EXPECT_TRUE(has_body_mark(plan));
  EXPECT_EQ(words_for(plan, "{} x"), (Words{"echo", "{} x", "a{} xb{} xc", "{", "}{"}));
}

TEST(WorkPlan, WithoutAPlaceTheWordsStayAsTheyAre) {
  const WorkPlan plan = plan_for({"{}", "-c", "x"});
  EXPECT_FALSE(has_body_mark(plan));
  EXPECT_EQ(words_for(plan, std::string(1'000'000, '\0')), (Words{"{}", "-c", "x"}));
}

TEST(WorkPlan, ABodyThatNoArgumentCanHaveIsRefused) {
  const WorkPlan plan = plan_for({"echo", "{}"});
  EXPECT_EQ(words_for(plan, std::string_view("a\0b", 3)), std::nullopt);
  EXPECT_NE(words_for(plan, std::string(128 * 1024 - 1, 'x')), std::nullopt);
  EXPECT_EQ(words_for(plan, std::string(128 * 1024, 'x')), std::nullopt);
}

TEST(WorkPlan, AProgramIsToldOfItsJob) {
  const WorkJob job{
      .id = 7, .body = "x", .tube = "mail", .priority = 5, .ttr_s = 60, .reserves = 2};
  EXPECT_EQ(environment_of(job),
            (Words{"HARICOT_JOB_ID=7", "HARICOT_JOB_TUBE=mail", "HARICOT_JOB_PRIORITY=5",
                   "HARICOT_JOB_RESERVES=2", "HARICOT_JOB_TTR=60"}));
}

TEST(WorkPlan, AProgramIsLookedForAsTheSystemDoes) {
  EXPECT_TRUE(can_be_run("sh", "/nowhere:/bin:/usr/bin"));
  EXPECT_TRUE(can_be_run("sh", nullptr));
  EXPECT_TRUE(can_be_run("/bin/sh", ""));
  EXPECT_FALSE(can_be_run("sh", "/nowhere"));
  EXPECT_FALSE(can_be_run("sh", ""));
  EXPECT_FALSE(can_be_run("/bin", "/"));
  EXPECT_FALSE(can_be_run("/etc/passwd", ""));
}

}  // namespace
}  // namespace haricot::tool
