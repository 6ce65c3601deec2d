// CHECK: the tool for "we are wrong".
//
// A CHECK states what the code around it relies on. It is on in every build, release included: a
// server that goes on after its own state stopped making sense loses jobs in ways nobody can
// explain afterwards. It is never used for what a client sends or what the machine does.

#pragma once

namespace haricot {

// Prints the failed condition with its file and line to stderr, and aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace haricot

#define CHECK(condition)                                       \
  do {                                                         \
    if (!(condition)) [[unlikely]]                             \
      ::haricot::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)
