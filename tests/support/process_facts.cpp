#include "support/process_facts.hpp"

#include <dirent.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "support/temporary_folder.hpp"

namespace haricot::test {
namespace {

std::string proc_path(pid_t pid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(" \t\n", at)) != std::string::npos) {
    const std::size_t end = std::min(line.find_first_of(" \t\n", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

// Returns the words after the key at the beginning of a line.
std::vector<std::string> words_after(const std::string& text, const std::string& key) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (text.compare(at, key.size(), key) == 0) {
      return words_of(text.substr(at + key.size(), end - at - key.size()));
    }
    at = end + 1;
  }
  return {};
}

std::uint64_t number_of(const std::string& word) {
  return std::strtoull(word.c_str(), nullptr, 10);
}

std::size_t status_kib(pid_t pid, const char* key) {
  const std::vector<std::string> words = status_words(pid, key);
  return words.empty() ? 0 : static_cast<std::size_t>(number_of(words[0])) * 1024;
}

}  // namespace

std::size_t resident_bytes(pid_t pid) {
  return status_kib(pid, "VmRSS");
}

CpuTimes cpu_times(pid_t pid) {
  // In nanoseconds; the times in `stat` are in ticks of 10 ms.
  const std::vector<std::string> words = words_of(read_file(proc_path(pid, "schedstat")));
  if (words.size() < 2) return {};
  return {.used = static_cast<double>(number_of(words[0])) / 1e9,
          .waited = static_cast<double>(number_of(words[1])) / 1e9};
}

double cpu_seconds(pid_t pid) {
  return cpu_times(pid).used;
}

double slowdown_since(pid_t pid, const CpuTimes& before) {
  const CpuTimes now = cpu_times(pid);
  const double used = now.used - before.used;
  return used > 0 ? (used + now.waited - before.waited) / used : 1;
}

HeldUp::HeldUp(std::vector<pid_t> others) : all_(std::move(others)) {
  all_.push_back(::getpid());
  before_ = waited();
}

std::chrono::milliseconds HeldUp::since() const {
  const std::chrono::duration<double> longer(waited() - before_);
  return std::chrono::ceil<std::chrono::milliseconds>(longer);
}

double HeldUp::waited() const {
  double sum = 0;
  for (const pid_t pid : all_) sum += cpu_times(pid).waited;
  return sum;
}

double cpu_share_over(pid_t pid, std::chrono::milliseconds time) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const double before = cpu_seconds(pid);
  ::poll(nullptr, 0, static_cast<int>(time.count()));
  const std::chrono::duration<double> passed = Clock::now() - start;
  return (cpu_seconds(pid) - before) / passed.count();
}

std::map<int, std::string> open_descriptors(pid_t pid) {
  std::map<int, std::string> result;
  const std::string folder = proc_path(pid, "fd");
  DIR* entries = ::opendir(folder.c_str());
  if (entries == nullptr) return result;
  while (const dirent* entry = ::readdir(entries)) {
    char target[256];
    const std::string path = folder + "/" + entry->d_name;
    const ssize_t n = ::readlink(path.c_str(), target, sizeof target);
    if (n < 0) continue;
    result[std::atoi(entry->d_name)] = std::string(target, static_cast<std::size_t>(n));
  }
  ::closedir(entries);
  return result;
}

std::vector<std::string> status_words(pid_t pid, const std::string& key) {
  return words_after(read_file(proc_path(pid, "status")), key + ":");
}

std::pair<std::uint64_t, std::uint64_t> descriptor_limits(pid_t pid) {
  const std::vector<std::string> words =
      words_after(read_file(proc_path(pid, "limits")), "Max open files");
  if (words.size() < 2) return {0, 0};
  return {number_of(words[0]), number_of(words[1])};
}

std::optional<pid_t> child_of(pid_t parent) {
  DIR* entries = ::opendir("/proc");
  if (entries == nullptr) return std::nullopt;
  std::optional<pid_t> child;
  while (const dirent* entry = ::readdir(entries)) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid <= 0) continue;
    const std::vector<std::string> words = status_words(pid, "PPid");
    if (!words.empty() && std::atoi(words[0].c_str()) == parent) child = pid;
  }
  ::closedir(entries);
  return child;
}

MemoryPeak::MemoryPeak(pid_t pid) : pid_(pid), before_(resident_bytes(pid)) {
  // 5 resets the high-water mark to the current use.
  if (!write_file(proc_path(pid, "clear_refs"), "5")) before_ = status_kib(pid, "VmHWM");
}

std::size_t MemoryPeak::growth() const {
  const std::size_t peak = status_kib(pid_, "VmHWM");
  return peak > before_ ? peak - before_ : 0;
}

}  // namespace haricot::test
