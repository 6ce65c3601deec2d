// The only code that reads the clocks.

#pragma once

#include <cstdint>

#include "haricot/base/time.hpp"

namespace haricot::os {

// Returns the monotonic clock. It never goes back, and does not change when the system time is set.
Instant read_clock();
// Returns the wall clock minus the monotonic clock. Changes when the system time is set.
Duration read_wall_offset();
// Returns nanoseconds since 1970, for people to read. Deadlines must not depend on it.
std::int64_t read_wall_clock();
// Returns nanoseconds since the machine was booted, including the time that it was suspended.
std::int64_t read_boot_clock();

}  // namespace haricot::os
