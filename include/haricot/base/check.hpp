// CHECK: aborts the program if an assumption of our own code is wrong.
//
// A CHECK states a condition that the code around it relies on. It is on in every build, release
// included: a server that continues with an inconsistent state loses jobs, and leaves no trace of
// the cause. It is never used for client input or for failures of the machine.

#pragma once

#include <cstdio>
#include <cstdlib>

namespace haricot {

// Prints the failed condition with its file and line to stderr, and aborts.
[[noreturn, gnu::cold, gnu::noinline]] inline void check_failed(const char* condition,
                                                                const char* file, int line) {
  std::fprintf(stderr, "haricotd: %s:%d: internal check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace haricot

#define CHECK(condition)                                       \
  do {                                                         \
    if (!(condition)) [[unlikely]]                             \
      ::haricot::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)
