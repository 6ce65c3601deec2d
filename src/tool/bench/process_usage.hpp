// What a process of this machine has used so far: CPU time and memory.

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace haricot::tool {

struct ProcessUsage {
  // Of all its threads, as fine as the scheduler counts.
  std::uint64_t cpu_ns = 0;
  // The same in its two parts, in steps of the kernel's clock (10 ms).
  std::uint64_t user_ns = 0;
  std::uint64_t system_ns = 0;
  std::uint64_t resident_bytes = 0;
};

// Nothing if there is no such process.
std::optional<ProcessUsage> usage_of(pid_t pid);

}  // namespace haricot::tool
