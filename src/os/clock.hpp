// The only code that reads the clocks, and time limits for poll() and epoll_wait().

#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <limits>

#include "haricot/base/time.hpp"

namespace haricot::os {

// Returns a clock of the system in nanoseconds.
inline std::int64_t read_system_clock(clockid_t clock) {
  static_assert(sizeof(timespec::tv_sec) >= sizeof(std::int64_t));  // Valid after 2038.
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// Returns the monotonic clock. It never goes back, and does not change when the system time is set.
inline Instant read_clock() {
  return Instant::at(read_system_clock(CLOCK_MONOTONIC));
}
// Returns nanoseconds since 1970, for people to read. Deadlines must not depend on it.
inline std::int64_t read_wall_clock() {
  return read_system_clock(CLOCK_REALTIME);
}
// Returns the wall clock minus the monotonic clock. Changes when the system time is set.
inline Duration read_wall_offset() {
  return Instant::at(read_wall_clock()) - read_clock();
}
// Returns nanoseconds since the machine was booted, including the time that it was suspended.
inline std::int64_t read_boot_clock() {
  return read_system_clock(CLOCK_BOOTTIME);
}

// Returns the milliseconds to wait for poll() or epoll_wait(), rounded up: a wait that ends too
// early would have to be repeated. -1, without a limit, if `until` is never().
inline int timeout_ms(Instant now, Instant until) {
  if (until == Instant::never()) return -1;
  if (until <= now) return 0;
  constexpr std::int64_t kMillisecond = 1'000'000;
  const std::int64_t rounded = ((until - now).count() - 1) / kMillisecond + 1;
  return static_cast<int>(std::min<std::int64_t>(rounded, std::numeric_limits<int>::max()));
}

}  // namespace haricot::os
