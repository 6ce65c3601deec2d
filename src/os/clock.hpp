// The only code that reads the clocks.

#pragma once

#include <cstdint>
#include <ctime>

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

}  // namespace haricot::os
