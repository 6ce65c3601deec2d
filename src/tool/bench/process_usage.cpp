#include "tool/bench/process_usage.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>

namespace haricot::tool {
namespace {

std::uint64_t nanoseconds(const timespec& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// Returns the beginning of a file in /proc; empty if it cannot be read.
std::string read_start(pid_t pid, const char* name) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + name;
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return {};
  char text[2048];
  const std::size_t size = std::fread(text, 1, sizeof text, file);
  std::fclose(file);
  return {text, size};
}

}  // namespace

std::optional<ProcessUsage> usage_of(pid_t pid) {
  ProcessUsage usage;
  clockid_t clock{};
  timespec used{};
  if (pid <= 0 || ::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) {
    return std::nullopt;
  }
  usage.cpu_ns = nanoseconds(used);

  // The name, in parentheses, may contain anything. utime and stime are words 12 and 13 after it.
  const std::string stat = read_start(pid, "stat");
  const std::size_t name_end = stat.rfind(')');
  unsigned long long user = 0;
  unsigned long long system = 0;
  if (name_end == std::string::npos ||
      std::sscanf(stat.c_str() + name_end + 1,
                  " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system) != 2) {
    return std::nullopt;
  }
  const auto tick_ns = 1'000'000'000U / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  usage.user_ns = user * tick_ns;
  usage.system_ns = system * tick_ns;

  unsigned long long pages = 0;
  if (std::sscanf(read_start(pid, "statm").c_str(), "%*u %llu", &pages) != 1) return std::nullopt;
  usage.resident_bytes = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return usage;
}

}  // namespace haricot::tool
