// Memory of a server that runs on this machine.

#pragma once

#include <cstdint>
#include <optional>

#include "tool/client/stats_text.hpp"

namespace haricot::tool {

// Returns the resident memory in bytes of the process that sent `stats`. Returns nothing unless
// host name, process id and age of a local process match them.
std::optional<std::uint64_t> server_memory(const StatsText& stats);

}  // namespace haricot::tool
