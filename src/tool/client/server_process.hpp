// CPU time and memory of a process on this machine, such as a server.

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "tool/client/stats_text.hpp"

namespace haricot::tool {

struct ProcessUsage {
  // All threads, in the resolution of the scheduler.
  std::uint64_t cpu_ns = 0;
  // The two parts of the CPU time, in ticks of the kernel (10 ms).
  std::uint64_t user_ns = 0;
  std::uint64_t system_ns = 0;
  std::uint64_t resident_bytes = 0;
};

// Returns nothing if there is no such process.
std::optional<ProcessUsage> usage_of(pid_t pid);

// Returns the resident memory in bytes of the process that sent `stats`. Returns nothing unless
// host name, process id and age of a local process match them.
std::optional<std::uint64_t> server_memory(const StatsText& stats);

}  // namespace haricot::tool
