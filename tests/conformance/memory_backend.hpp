// A backend that is the service itself, in memory and under a clock that only scripts move.
#pragma once

#include <string>
#include <vector>

#include "backend.hpp"

namespace haricot::conformance {

// Starts a service with what these flags of haricotd ask for: -z, -s and --compat. Its binlog, if
// it keeps one, is on a disk that is in memory, too.
[[nodiscard]] Started start_in_memory(const std::vector<std::string>& flags, bool keeps_binlog);

}  // namespace haricot::conformance
