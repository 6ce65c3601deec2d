// The only place where the clocks are read.

#pragma once

#include <cstdint>

#include "haricot/base/time.hpp"

namespace haricot::os {

// Never goes back; does not jump when somebody sets the time.
Instant read_clock();
// How much the wall clock is ahead of the monotonic one. Changes when somebody sets the wall clock.
Duration read_wall_offset();
// The wall clock in nanoseconds since 1970, for people to read. No deadline may depend on it.
std::int64_t read_wall_clock();
// Nanoseconds since the machine was booted, with those that it has slept.
std::int64_t read_boot_clock();

}  // namespace haricot::os
