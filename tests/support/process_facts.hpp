// Facts of the kernel about a process: memory, CPU time, descriptors, identity.

#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace haricot::test {

// Returns the bytes of memory in use.
std::size_t resident_bytes(pid_t pid);

// Returns user and system time in seconds, with the precision of the scheduler.
double cpu_seconds(pid_t pid);

struct CpuTimes {
  double used = 0;    // Seconds on a core.
  double waited = 0;  // Seconds in which it was runnable, but other processes had the cores.
};
CpuTimes cpu_times(pid_t pid);
// Returns the factor by which the process took longer for its work since then than on a core of its
// own.
double slowdown_since(pid_t pid, const CpuTimes& before);

// Measures how long this process and others were runnable while no core was free: an answer may be
// late by this time without a fault of the server.
class HeldUp final {
 public:
  explicit HeldUp(std::vector<pid_t> others);

  std::chrono::milliseconds since() const;

 private:
  double waited() const;

  std::vector<pid_t> all_;
  double before_;
};

// Returns the share of a core that the process uses during this time, 0 to 1 for each thread.
double cpu_share_over(pid_t pid, std::chrono::milliseconds time);

// Maps descriptors to their targets, such as `socket:[4711]`.
std::map<int, std::string> open_descriptors(pid_t pid);

// Returns the words of a line of /proc/PID/status, such as `Uid`.
std::vector<std::string> status_words(pid_t pid, const std::string& key);

// Returns the soft and the hard limit of open descriptors.
std::pair<std::uint64_t, std::uint64_t> descriptor_limits(pid_t pid);

// Returns the only child of a process; nothing if it has none.
std::optional<pid_t> child_of(pid_t parent);

// Measures the highest memory use since its construction, as sampled by the kernel.
class MemoryPeak final {
 public:
  // Resets the peak.
  explicit MemoryPeak(pid_t pid);

  // Returns how many bytes the peak is above the use at the construction.
  std::size_t growth() const;

 private:
  pid_t pid_;
  std::size_t before_;
};

}  // namespace haricot::test
