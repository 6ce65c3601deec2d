#include "os/clock.hpp"

#include <ctime>

namespace haricot::os {

static_assert(sizeof(timespec::tv_sec) >= sizeof(std::int64_t));  // Valid after 2038.

Instant read_clock() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return Instant::at(static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec);
}

Duration read_wall_offset() {
  return Instant::at(read_wall_clock()) - read_clock();
}

std::int64_t read_boot_clock() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

std::int64_t read_wall_clock() {
  timespec wall{};
  ::clock_gettime(CLOCK_REALTIME, &wall);
  return static_cast<std::int64_t>(wall.tv_sec) * 1'000'000'000 + wall.tv_nsec;
}

}  // namespace haricot::os
