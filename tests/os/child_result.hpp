// What a child of the test says of a state that belongs to the whole process.

#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>

namespace haricot::os {

// What a child returns when all is as it should be; any other number is the step that was not.
inline constexpr int kGood = 0;

// Waits for the end of a child. Returns what waitpid() says of it.
inline int wait_for(pid_t child) {
  int raw = 0;
  EXPECT_EQ(::waitpid(child, &raw, 0), child);
  return raw;
}

// Runs it in a child, whose state it may spoil. Returns what it returned, or 1 if an expectation in
// it failed.
inline int result_in_child(const std::function<int()>& function) {
  std::fflush(nullptr);  // What was not written yet, the child would write too.
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
