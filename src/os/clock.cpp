#include "os/clock.hpp"

#include <ctime>

namespace haricot::os {

Instant read_clock() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return Instant::at(static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec);
}

}  // namespace haricot::os
