// How much memory a server takes that runs on this machine.

#pragma once

#include <cstdint>
#include <optional>

#include "tool/client/stats_text.hpp"

namespace haricot::tool {

// The resident memory in bytes of the process that `stats` is from. Nothing: the process cannot be
// seen from here. It counts as seen only if host name, process id and age are what the server says.
std::optional<std::uint64_t> server_memory(const StatsText& stats);

}  // namespace haricot::tool
