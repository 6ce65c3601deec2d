// What the kernel knows about a process: memory, CPU time, descriptors, identity.

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

// Memory that is in use now, in bytes.
std::size_t resident_bytes(pid_t pid);

// User and system time together, in seconds, as fine as the scheduler counts it.
double cpu_seconds(pid_t pid);

struct CpuTimes {
  double used = 0;    // Seconds,
  double waited = 0;  // and those in which it could have run, and others had the cores.
};
CpuTimes cpu_times(pid_t pid);
// How many times longer the process took for its work since then than with a core to itself.
double slowdown_since(pid_t pid, const CpuTimes& before);

// For how long this process and others could have run since then, and somebody else had the cores:
// by so much an answer may be later than the server is to blame for.
class HeldUp final {
 public:
  explicit HeldUp(std::vector<pid_t> others);

  std::chrono::milliseconds since() const;

 private:
  double waited() const;

  std::vector<pid_t> all_;
  double before_;
};

// Which share of one core the process uses for this long, 0 to 1 for each thread.
double cpu_share_over(pid_t pid, std::chrono::milliseconds time);

// Descriptor number to what it is, such as `socket:[4711]`.
std::map<int, std::string> open_descriptors(pid_t pid);

// The words of a line of /proc/PID/status, such as `Uid`.
std::vector<std::string> status_words(pid_t pid, const std::string& key);

// The soft and the hard limit of open descriptors.
std::pair<std::uint64_t, std::uint64_t> descriptor_limits(pid_t pid);

// The only child that a process has; nothing if it has none.
std::optional<pid_t> child_of(pid_t parent);

// The highest memory use from its start to any later moment, sampled by the kernel itself.
class MemoryPeak final {
 public:
  // Forgets what was before.
  explicit MemoryPeak(pid_t pid);

  // How much higher than at the start it has been since then, in bytes.
  std::size_t growth() const;

 private:
  pid_t pid_;
  std::size_t before_;
};

}  // namespace haricot::test
