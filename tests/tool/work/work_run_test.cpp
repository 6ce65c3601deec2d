#include "tool/work/work_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace haricot::tool {
namespace {

class WorkRunTest : public testing::Test {
 protected:
  std::string error_;
  WorkPlan plan_;
  Address address_ = *Address::find("unix:/nowhere", error_);
  WorkRun work_{plan_, address_, Duration::seconds(10)};
};

TEST_F(WorkRunTest, ManyUnreadLinesKeepProgramsFromStarting) {
  EXPECT_FALSE(work_.is_choked());
  work_.output.add(std::string(1024 * 1024, 'x'));
  EXPECT_FALSE(work_.is_choked());
  work_.say("a line");
  EXPECT_TRUE(work_.is_choked());
}

TEST_F(WorkRunTest, JobsThatAreAskedForCountAsBegun) {
  plan_.count = 3;
  EXPECT_TRUE(work_.has_ticket());
  work_.begun = 1;
  work_.reserving = 1;
  EXPECT_TRUE(work_.has_ticket());
  work_.reserving = 2;
  EXPECT_FALSE(work_.has_ticket());
}

TEST(Slowdown, ProgramsThatAllFailStartEverMoreRarely) {
  Slowdown slowdown;
  Instant now = Instant::at(1'000'000'000);
  for (std::uint64_t i = 1; i < Slowdown::kFreeFailures; ++i) {
    EXPECT_FALSE(slowdown.count_failure(now));
    EXPECT_LE(slowdown.next_start(), now);
  }
  EXPECT_TRUE(slowdown.count_failure(now));
  Duration pause = Slowdown::kPauseMin;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(slowdown.next_start(), now + pause) << i;
    now = slowdown.next_start();
    // One worker tries, and the others wait for the result.
    slowdown.count_start(now);
    EXPECT_GT(slowdown.next_start(), now);
    EXPECT_FALSE(slowdown.count_failure(now));
    pause = std::min(Duration::nanoseconds(pause.count() * 2), Slowdown::kPauseMax);
  }
  EXPECT_EQ(pause, Slowdown::kPauseMax);
}

TEST(Slowdown, OneSuccessEndsIt) {
  Slowdown slowdown;
  const Instant now = Instant::at(1'000'000'000);
  for (std::uint64_t i = 0; i < Slowdown::kFreeFailures; ++i) slowdown.count_failure(now);
  EXPECT_GT(slowdown.next_start(), now);
  slowdown.count_success();
  EXPECT_LE(slowdown.next_start(), now);
  slowdown.count_start(now);
  EXPECT_LE(slowdown.next_start(), now);
  EXPECT_FALSE(slowdown.count_failure(now));
}

TEST(JobLog, AWordIsQuotedForAShell) {
  EXPECT_EQ(shell_word("a-b_c/d.e=f:g,h+i@j%k"), "a-b_c/d.e=f:g,h+i@j%k");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(shell_word("{}"), "'{}'");
}

TEST(JobLog, NoWordMakesAnotherColumnOrLine) {
  EXPECT_EQ(shell_word("a\tb\nc\x1b"), "'a\\x09b\\x0ac\\x1b'");
}

}  // namespace
}  // namespace haricot::tool
