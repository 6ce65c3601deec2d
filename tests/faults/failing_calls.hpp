// Socket calls of the daemon that fail when a test says so. The calls are in a library that is
// loaded in front of the C library (failing_calls.cpp); what is to fail stands in a file that both
// sides map into memory, so one daemon can be put through any number of failures.

#pragma once

#include <cstdint>

namespace haricot::faults {

enum class SocketCall : std::uint32_t {
  none,
  recv,
  readv,
  send,
  sendmsg,
  accept4,
  epoll_add,  // epoll_ctl, but only the one that needs memory of the kernel.
  epoll_wait,
  read,    // Of the signals and of the ends of syncs.
  malloc,  // What all memory of the server comes from.
  // From here on those that a server hands itself over and is taken over with, beside sendmsg and
  // epoll_add.
  memfd_create,
  write,
  socketpair,
  fcntl,
  pipe2,
  poll,
  recvmsg,
  setsockopt,
  getsockname,
  fstat,
  mmap,          // Of the state.
  of_hand_over,  // Any of them.
};

// Read and written by two processes, so only by __atomic_….
struct FailingCalls {
  std::uint32_t call;
  std::uint32_t error;  // An errno, or what stands in its place below.
  std::uint64_t first;  // Which of them fail, counted from 1.
  std::uint64_t last;
  std::uint64_t seen;
  std::uint64_t failed;
};

// In the place of an error: the call does one byte of what it was to do.
inline constexpr std::uint32_t kOneByte = 0;
// The same: the process dies in front of the call.
inline constexpr std::uint32_t kKills = 0xffff'ffff;

inline constexpr const char* kFailingCallsFile = "HARICOT_FAILING_CALLS";

}  // namespace haricot::faults
