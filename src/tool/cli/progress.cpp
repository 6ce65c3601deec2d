#include "tool/cli/output.hpp"

#include <poll.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <string>

namespace haricot::tool {
namespace {

constexpr Duration kInterval = Duration::milliseconds(250);
constexpr Duration kEstimateAfter = Duration::seconds(1);

bool has_place(bool is_quiet, Progress::Results results) {
  if (is_quiet || ::isatty(STDERR_FILENO) == 0) return false;
  return results == Progress::Results::at_end || ::isatty(STDOUT_FILENO) == 0;
}

// Returns true if stderr takes a line without blocking.
bool has_room() {
  pollfd wanted{STDERR_FILENO, POLLOUT, 0};
  return ::poll(&wanted, 1, 0) > 0;
}

std::string rounded_time(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kHour = 60 * kMinute;
  constexpr double kDay = 24 * kHour;
  const auto whole = [seconds](double unit) {
    return std::to_string(static_cast<std::uint64_t>(std::ceil(seconds / unit)));
  };
  if (seconds < 2 * kMinute) return whole(1) + " s";
  if (seconds < 2 * kHour) return whole(kMinute) + " min";
  if (seconds < 2 * kDay) return whole(kHour) + " h";
  return seconds < 1000 * kDay ? whole(kDay) + " days" : "1000 days";
}

}  // namespace

Progress::Progress(std::string_view verb, bool is_quiet, Results results)
    : verb_(verb), is_wanted_(has_place(is_quiet, results)) {}

bool Progress::is_due(Instant now) {
  if (!is_wanted_) return false;
  const bool is_early = !next_ || now < *next_;
  if (!next_ || now >= *next_) next_ = now + kInterval;
  return !is_early;
}

void Progress::show(Instant now, std::uint64_t done, std::uint64_t all) {
  const std::string left = time_left(now, done, all);
  if (!is_due(now)) return;
  std::string line = std::string(verb_) + " " + std::to_string(done);
  if (all > 0) line += " of " + std::to_string(all);
  write(line + left);
}

void Progress::show_share(Instant now, std::uint64_t done, std::uint64_t part,
                          std::uint64_t whole) {
  const std::string left = time_left(now, part, whole);
  if (!is_due(now)) return;
  std::string line = std::string(verb_) + " " + std::to_string(done);
  if (whole > 0) line += ", " + std::to_string(part * 100 / whole) + " %";
  write(line + left);
}

// Returns an empty string while there is no estimate.
std::string Progress::time_left(Instant now, std::uint64_t part, std::uint64_t whole) {
  if (!begin_part_) {
    begin_ = now;
    begin_part_ = part;
  }
  const Duration elapsed = now - begin_;
  if (elapsed < kEstimateAfter || part <= *begin_part_ || part >= whole) return {};
  const double pace =
      static_cast<double>(part - *begin_part_) / static_cast<double>(elapsed.count());
  const double seconds = static_cast<double>(whole - part) / pace / 1e9;
  return ", about " + rounded_time(seconds) + " left";
}

void Progress::say(std::string_view what) {
  if (is_wanted_) write(std::string(what) + " ...");
}

void Progress::write(const std::string& line) {
  if (!has_room()) return;
  is_shown_ = true;
  std::fputs(("\r\033[K" + line).c_str(), stderr);
  std::fflush(stderr);
}

void Progress::clear() {
  if (!is_shown_ || !has_room()) return;
  is_shown_ = false;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

}  // namespace haricot::tool
