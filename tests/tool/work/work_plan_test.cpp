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

TEST(WorkPlan, AProgramGetsTheFactsAboutItsJob) {
  const WorkJob job{
      .id = 7, .body = "x", .tube = "mail", .priority = 5, .ttr_s = 60, .reserves = 2};
  EXPECT_EQ(environment_of(job),
            (Words{"HARICOT_JOB_ID=7", "HARICOT_JOB_TUBE=mail", "HARICOT_JOB_PRIORITY=5",
                   "HARICOT_JOB_RESERVES=2", "HARICOT_JOB_TTR=60"}));
}

TEST(WorkPlan, AProgramIsFoundLikeByTheSystem) {
  EXPECT_EQ(check_program("sh", "/nowhere:/bin:/usr/bin"), 0);
  EXPECT_EQ(check_program("sh", nullptr), 0);
  EXPECT_EQ(check_program("/bin/sh", ""), 0);
  EXPECT_EQ(check_program("sh", "/nowhere"), 127);
  EXPECT_EQ(check_program("sh", ""), 127);
  EXPECT_EQ(check_program("/nowhere/sh", ""), 127);
  EXPECT_EQ(check_program("/bin", "/"), 126);
  EXPECT_EQ(check_program("/etc/passwd", ""), 126);
  EXPECT_EQ(check_program("passwd", "/etc:/nowhere"), 126);
}

TEST(WorkPlan, ATextThatIsRunHasNoPlaceForABody) {
  const auto found = [](Words command) {
    return std::string(executed_word(plan_for(std::move(command))));
  };
  EXPECT_EQ(found({"sh", "-c", "echo {}"}), "echo {}");
  EXPECT_EQ(found({"/usr/bin/bash", "-lc", "{}"}), "{}");
  EXPECT_EQ(found({"sh", "-ecx{}"}), "-ecx{}");
  EXPECT_EQ(found({"bash", "-o", "pipefail", "-c", "a {}"}), "a {}");
  EXPECT_EQ(found({"bash", "-c", "--", "a {}"}), "a {}");
  EXPECT_EQ(found({"env", "-i", "nice", "sh", "-c", "a {}"}), "a {}");
  EXPECT_EQ(found({"python3.11", "-c", "p({})"}), "p({})");
  EXPECT_EQ(found({"su", "-", "mail", "-c", "a {}"}), "a {}");
  EXPECT_EQ(found({"ssh", "-p", "22", "host", "a", "{}"}), "{}");
  EXPECT_EQ(found({"su", "--command", "a {}", "mail"}), "a {}");
  EXPECT_EQ(found({"runuser", "mail", "--command=a {}"}), "--command=a {}");
  EXPECT_EQ(found({"fish", "--init-command", "a {}", "script"}), "a {}");
  EXPECT_EQ(found({"flock", "file", "-c", "a {}"}), "a {}");
  EXPECT_EQ(found({"env", "-S", "sh -c {}"}), "sh -c {}");
  EXPECT_EQ(found({"env", "--split-string=sh -c {}"}), "--split-string=sh -c {}");
  EXPECT_EQ(found({"perl", "-E", "say {}"}), "say {}");
  EXPECT_EQ(found({"node", "-p", "{}"}), "{}");
  EXPECT_EQ(found({"nodejs", "--eval={}"}), "--eval={}");
  EXPECT_EQ(found({"php", "-B", "{}"}), "{}");
  EXPECT_EQ(found({"awk", "-F", ":", "-v", "x=1", "/a/{}", "file"}), "/a/{}");
  EXPECT_EQ(found({"sed", "-n", "-e", "s/a/{}/", "file"}), "s/a/{}/");
  EXPECT_EQ(found({"sed", "--expression=s/a/{}/e"}), "--expression=s/a/{}/e");
  EXPECT_EQ(found({"parallel", "echo", "{}"}), "{}");
  EXPECT_EQ(found({"awk", "{print}", "{}"}), "");
  EXPECT_EQ(found({"awk", "-v", "x={}", "{print x}"}), "");
  EXPECT_EQ(found({"sed", "-n", "p", "{}"}), "");
  EXPECT_EQ(found({"env", "A={}", "deliver"}), "");
  EXPECT_EQ(found({"flock", "file", "deliver", "{}"}), "");
  EXPECT_EQ(found({"su", "mail", "-c", "echo \"$1\"", "sh", "{}"}), "");
  EXPECT_EQ(found({"perl", "script", "--eval", "{}"}), "");
  EXPECT_EQ(found({"sh", "-c", "echo \"$1\"", "sh", "{}"}), "");
  EXPECT_EQ(found({"sh", "script", "-c", "{}"}), "");
  EXPECT_EQ(found({"python3", "mail.py", "-c", "{}"}), "");
  EXPECT_EQ(found({"shred", "-c", "{}"}), "");
  EXPECT_EQ(found({"ssh-add", "{}"}), "");
  EXPECT_EQ(found({"mail", "-c", "{}"}), "");
  EXPECT_EQ(found({"sh", "-c", "wc"}), "");
}

TEST(WorkPlan, StatusesAreNumbersAndRanges) {
  WorkPlan plan;
  EXPECT_FALSE(buries_at_once(plan, 65));
  plan.burying = read_statuses("65,70-78,255").value();
  std::vector<int> burying;
  for (int status = 0; status <= 255; ++status) {
    if (buries_at_once(plan, status)) burying.push_back(status);
  }
  EXPECT_EQ(burying, (std::vector<int>{65, 70, 71, 72, 73, 74, 75, 76, 77, 78, 255}));
  for (const char* wrong :
       {"", "0", "256", "5,", ",5", "7-5", "5-", "-5", "5--6", "x", "5 ", "+5"}) {
    EXPECT_EQ(read_statuses(wrong).has_value(), false) << wrong;
  }
}

}  // namespace
}  // namespace haricot::tool
