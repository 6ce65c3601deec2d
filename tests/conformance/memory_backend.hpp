// A backend with the service itself, in memory and with a clock that only scripts move.
#pragma once

#include <string>
#include <vector>

#include "backend.hpp"

namespace haricot::conformance {

// Starts a service with these flags of haricotd: -z, -s and --compat. Its binlog, if it has one, is
// on a disk in memory, too.
[[nodiscard]] Started start_in_memory(const std::vector<std::string>& flags, bool keeps_binlog);

}  // namespace haricot::conformance
