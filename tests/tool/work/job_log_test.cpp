#include "tool/work/job_log.hpp"

#include <gtest/gtest.h>

namespace haricot::tool {
namespace {

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
