// Results of child processes, for tests of states that belong to the whole process.

#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>

namespace haricot::os {

// Exit status of a child that found no error; any other number is the failed step.
inline constexpr int kGood = 0;

// Waits for the end of a child. Returns its exit status as of waitpid().
inline int wait_for(pid_t child) {
  int raw = 0;
  EXPECT_EQ(::waitpid(child, &raw, 0), child);
  return raw;
}

// Runs the function in a child, whose state it may change. Returns its result, or 1 if an
// expectation in it failed.
inline int result_in_child(const std::function<int()>& function) {
  std::fflush(nullptr);  // The child would write unflushed output, too.
  const pid_t child = ::fork();
  if (child == 0) {
    const int result = function();
    std::fflush(nullptr);
    ::_exit(::testing::Test::HasFailure() ? 1 : result);
  }
  const int raw = wait_for(child);
  EXPECT_TRUE(WIFEXITED(raw)) << "signal " << WTERMSIG(raw);
  return WEXITSTATUS(raw);
}

}  // namespace haricot::os
