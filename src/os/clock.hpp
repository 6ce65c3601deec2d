// The only place where the monotonic clock is read.

#pragma once

#include "haricot/base/time.hpp"

namespace haricot::os {

// Never goes back; does not jump when somebody sets the time.
Instant read_clock();
// What the wall clock is ahead of that one. It changes when somebody sets the wall clock.
Duration read_wall_offset();

}  // namespace haricot::os
