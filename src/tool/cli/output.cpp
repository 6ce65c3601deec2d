#include "tool/cli/output.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "haricot/base/encoding.hpp"
#include "tool/cli/subcommand.hpp"

namespace haricot::tool {
namespace {

// errno of the first failed write to stdout; 0 if there was none.
int write_error = 0;
bool is_reported = false;

void check_written(bool is_written) {
  if (!is_written && write_error == 0) write_error = errno;
}

}  // namespace

void print(std::string_view text) {
  check_written(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
}

void print_format(const char* format, ...) {
  std::va_list values;
  va_start(values, format);
  check_written(std::vfprintf(stdout, format, values) >= 0);
  va_end(values);
}

void flush() {
  check_written(std::fflush(stdout) == 0);
}

int end_output(std::string_view name, int status) {
  flush();
  if (write_error == 0) return status;
  if (write_error != EPIPE && !is_reported) {
    std::fprintf(stderr, "haricot %.*s: cannot write to stdout: %s\n",
                 static_cast<int>(name.size()), name.data(), std::strerror(write_error));
  }
  is_reported = true;
  return status == kExitDone ? static_cast<int>(kExitLocal) : status;
}

namespace {

void append_escape(std::string& text, char c) {
  text += "\\x";
  append_hex(text, static_cast<unsigned char>(c));
}

}  // namespace

std::string safe_word(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    if (c >= ' ' && c <= '~') {
      text += c;
    } else {
      append_escape(text, c);
    }
  }
  return text;
}

std::string safe_lines(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const Utf8Character first = first_character(bytes);
    const std::string_view written = bytes.substr(0, std::max<std::size_t>(first.bytes, 1));
    const bool is_harmless = first.bytes > 0 && is_plain(first.code);
    if (written == "\n" || written == "\t" || is_harmless) {
      text += written;
    } else {
      for (const char c : written) append_escape(text, c);
    }
    bytes.remove_prefix(written.size());
  }
  return text;
}

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
