#include "os/clock.hpp"

#include <ctime>

namespace haricot::os {

Instant read_clock() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return Instant::at(static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec);
}

Duration read_wall_offset() {
  timespec wall{};
  ::clock_gettime(CLOCK_REALTIME, &wall);
  const std::int64_t now = static_cast<std::int64_t>(wall.tv_sec) * 1'000'000'000 + wall.tv_nsec;
  return Instant::at(now) - read_clock();
}

}  // namespace haricot::os
