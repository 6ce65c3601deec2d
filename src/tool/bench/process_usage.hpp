// CPU time and memory that a local process has used.

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

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

}  // namespace haricot::tool
