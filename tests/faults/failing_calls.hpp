// Socket calls of the daemon that fail on demand. The calls are in a library that is loaded before
// the C library (failing_calls.cpp). The plan is in a file that both sides map into memory, so one
// daemon can go through any number of failures.

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
  epoll_add,  // epoll_ctl, but only the call that needs memory of the kernel.
  epoll_wait,
  read,    // Reads of signals and of ends of syncs.
  malloc,  // Source of all memory of the server.
  // Calls of a hand-over and a take-over, besides sendmsg and epoll_add.
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
  mmap,          // For the state.
  of_hand_over,  // Any of them.
};

// Read and written by two processes, so only by __atomic_….
struct FailingCalls {
  std::uint32_t call;
  std::uint32_t error;  // An errno, or one of the values below.
  std::uint64_t first;  // First and last call that fail, counted from 1.
  std::uint64_t last;
  std::uint64_t seen;
  std::uint64_t failed;
};

// Instead of an error: the call handles only one byte.
inline constexpr std::uint32_t kOneByte = 0;
// Instead of an error: the process dies before the call.
inline constexpr std::uint32_t kKills = 0xffff'ffff;

inline constexpr const char* kFailingCallsFile = "HARICOT_FAILING_CALLS";
// In the environment: seconds since 1970 that the wall clock shows first.
inline constexpr const char* kWallClockSeconds = "HARICOT_WALL_CLOCK_SECONDS";

}  // namespace haricot::faults
