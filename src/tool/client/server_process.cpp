#include "tool/client/server_process.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

#include "haricot/base/number.hpp"
#include "os/descriptor.hpp"

namespace haricot::tool {
namespace {

std::uint64_t nanoseconds(const timespec& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// Returns the text of a small file in /proc; empty if it cannot be read.
std::string text_of(const std::string& path) {
  const os::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[2048];
  const ssize_t count = file ? ::read(file.get(), text, sizeof text) : 0;
  return {text, count > 0 ? static_cast<std::size_t>(count) : 0};
}

// Returns the word at this index.
std::optional<std::uint64_t> number_at(std::string_view text, std::size_t index) {
  for (; index > 0; --index) {
    const std::size_t blank = text.find(' ');
    if (blank == std::string_view::npos) return std::nullopt;
    text.remove_prefix(blank + 1);
  }
  return read_number(text.substr(0, text.find_first_of(" \n")));
}

// Returns the age in seconds of the process with this folder in /proc.
std::optional<double> age_of(const std::string& folder) {
  // The name of the program may contain blanks and brackets. After it, the state is word 0, and the
  // start time is word 19, in ticks since boot.
  constexpr std::size_t kBegin = 19;
  const std::string stat = text_of(folder + "/stat");
  const std::size_t name_end = stat.rfind(") ");
  if (name_end == std::string::npos) return std::nullopt;
  const auto ticks = number_at(std::string_view(stat).substr(name_end + 2), kBegin);
  const std::string uptime = text_of("/proc/uptime");
  if (!ticks || uptime.empty()) return std::nullopt;
  return std::strtod(uptime.c_str(), nullptr) -
         static_cast<double>(*ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
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
  const std::string folder = "/proc/" + std::to_string(pid);
  const std::string stat = text_of(folder + "/stat");
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
  if (std::sscanf(text_of(folder + "/statm").c_str(), "%*u %llu", &pages) != 1) return std::nullopt;
  usage.resident_bytes = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return usage;
}

std::optional<std::uint64_t> server_memory(const StatsText& stats) {
  constexpr double kAgeSecondsMax = 60;  // Allows for a slow start with a large binlog.
  const std::string* host = stats.find("hostname");
  const std::optional<std::uint64_t> pid = stats.number("pid");
  const std::optional<std::uint64_t> uptime = stats.number("uptime");
  char own_host[256] = {};
  if (host == nullptr || !pid || !uptime) return std::nullopt;
  if (::gethostname(own_host, sizeof own_host - 1) != 0 || *host != own_host) return std::nullopt;

  const std::string folder = "/proc/" + std::to_string(*pid);
  const std::optional<double> age = age_of(folder);
  const auto said = static_cast<double>(*uptime);
  if (!age || *age < said - 2 || *age > said + kAgeSecondsMax) return std::nullopt;
  const std::optional<std::uint64_t> pages = number_at(text_of(folder + "/statm"), 1);
  if (!pages) return std::nullopt;
  return *pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace haricot::tool
