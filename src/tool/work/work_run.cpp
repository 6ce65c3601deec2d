#include "tool/work/work_run.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "tool/cli/output.hpp"

namespace haricot::tool {

bool Slowdown::count_failure(Instant now) {
  if (++failures_ < kFreeFailures) return false;
  const bool begins = pause_.count() == 0;
  pause_ = begins ? kPauseMin : std::min(Duration::nanoseconds(pause_.count() * 2), kPauseMax);
  count_start(now);
  return begins;
}

void Slowdown::count_success() {
  *this = {};
}

void WorkRun::say(const std::string& line) {
  error.add("haricot work: " + safe_lines(line) + "\n");
}

void WorkRun::end(int with_status) {
  if (status == 0) status = with_status;
  has_to_end = true;
}

bool WorkRun::is_choked() const {
  constexpr std::size_t kPendingBytesMax = 1024 * 1024;
  return output.pending_bytes() + error.pending_bytes() > kPendingBytesMax;
}

namespace {

constexpr std::string_view kTitles =
    "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\tTube\tReserves\tEnd"
    "\n";

// Formats seconds with three decimals.
std::string seconds(std::int64_t nanoseconds) {
  char text[40];
  const std::int64_t milliseconds = nanoseconds / 1'000'000;
  std::snprintf(text, sizeof text, "%" PRId64 ".%03d", milliseconds / 1000,
                static_cast<int>(milliseconds % 1000));
  return text;
}

bool is_plain_letter(char c) {
  constexpr std::string_view kOthers = "_-./:,+@%=";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kOthers.find(c) != std::string_view::npos;
}

}  // namespace

std::string shell_word(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain_letter)) {
    return std::string(word);
  }
  std::string text = "'";
  for (const char c : safe_word(word)) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

bool JobLog::open(const std::string& path, const std::vector<std::string>& command,
                  std::string& error) {
  path_ = path;
  for (const std::string& word : command)
    command_ += (command_.empty() ? "" : " ") + shell_word(word);
  file_ = os::Descriptor(
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666));
  struct stat status {};
  if (!file_ || ::fstat(file_.get(), &status) != 0) {
    error = "cannot open " + path + ": " + std::strerror(errno);
    return false;
  }
  return !S_ISREG(status.st_mode) || status.st_size > 0 || add(kTitles, error);
}

bool JobLog::write(const JobRun& run, std::string& error) {
  if (!file_) return true;
  return add(std::to_string(run.id) + "\t:\t" + seconds(run.start_ns) + "\t" +
                 seconds(run.time.count()) + "\t" + std::to_string(run.body_bytes) + "\t" +
                 std::to_string(run.output_bytes) + "\t" + std::to_string(run.status) + "\t" +
                 std::to_string(run.signal) + "\t" + command_ + "\t" + safe_word(run.tube) + "\t" +
                 std::to_string(run.reserves) + "\t" + std::string(run.end) + "\n",
             error);
}

bool JobLog::add(std::string_view line, std::string& error) {
  const ssize_t written = ::write(file_.get(), line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) return true;
  error = "cannot write to " + path_ + ": " + std::strerror(written < 0 ? errno : ENOSPC);
  return false;
}

}  // namespace haricot::tool
