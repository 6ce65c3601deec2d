// The only place where the monotonic clock is read.

#pragma once

#include "haricot/base/time.hpp"

namespace haricot::os {

// Never goes back; does not jump when somebody sets the time.
Instant read_clock();

}  // namespace haricot::os
