#include "os/log.hpp"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>

#include "haricot/base/check.hpp"
#include "haricot/base/encoding.hpp"
#include "haricot/base/number.hpp"

namespace haricot::os {

// Lines -------------------------------------------------------------------------------------------

namespace {

bool needs_quotes(std::string_view text) {
  for (const char c : text) {
    if (c <= ' ' || c > '~' || c == '"' || c == '\\' || c == '=') return true;
  }
  return text.empty();
}

void append_number(std::string& to, const LogField& field) {
  char digits[20];
  const char* end = std::to_chars(digits, digits + sizeof digits, field.magnitude()).ptr;
  if (field.is_negative()) to += '-';
  to.append(digits, static_cast<std::size_t>(end - digits));
}

// Writes the fields of a line in sequence.
class FieldWriter {
 public:
  FieldWriter(std::string& to, LogFormat format) : to_(to), format_(format) {}

  void add(const LogField& field) {
    switch (format_) {
      case LogFormat::text:
        if (!is_first_) to_ += ' ';
        to_ += field.key();
        to_ += '=';
        break;
      case LogFormat::json:
        to_ += is_first_ ? "{\"" : ",\"";
        to_ += field.key();
        to_ += "\":";
        break;
    }
    is_first_ = false;
    if (field.is_number()) {
      append_number(to_, field);
    } else if (format_ == LogFormat::text && !needs_quotes(field.text())) {
      to_ += field.text();
    } else {
      append_json_string(to_, field.text(), JsonText::ascii);
    }
  }

 private:
  std::string& to_;
  LogFormat format_;
  bool is_first_ = true;
};

// 2026-11-21T10:40:38.123Z
std::string time_text(std::int64_t wall_time) {
  constexpr std::int64_t kPerSecond = 1'000'000'000;
  std::int64_t nanoseconds = wall_time % kPerSecond;
  std::time_t seconds = wall_time / kPerSecond;
  if (nanoseconds < 0) {
    nanoseconds += kPerSecond;
    --seconds;
  }
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[64];
  const int length =
      std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900,
                    parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                    static_cast<int>(nanoseconds / 1'000'000));
  CHECK(length > 0 && static_cast<std::size_t>(length) < sizeof text);
  return {text, static_cast<std::size_t>(length)};
}

}  // namespace

std::string_view name_of(Level level) {
  switch (level) {
    case Level::error:
      return "error";
    case Level::warning:
      return "warning";
    case Level::info:
      return "info";
    case Level::debug:
      return "debug";
  }
  return "";
}

void append_log_line(std::string& to, LogFormat format, std::optional<std::int64_t> wall_time,
                     Level level, std::string_view event, LogFields fields) {
  FieldWriter writer(to, format);
  if (wall_time) writer.add({"time", time_text(*wall_time)});
  writer.add({"level", name_of(level)});
  writer.add({"event", event});
  for (const LogField& field : fields) writer.add(field);
  if (format == LogFormat::json) to += '}';
}

// The log -----------------------------------------------------------------------------------------

namespace {

static_assert(Log::kKeptBytesMax >= PIPE_BUF);

// Returns the priority of syslog(3).
char priority_of(Level level) {
  switch (level) {
    case Level::error:
      return '3';
    case Level::warning:
      return '4';
    case Level::info:
      return '6';
    case Level::debug:
      return '7';
  }
  return '6';
}

}  // namespace

bool names_file(const char* journal_stream, dev_t device, ino_t inode) {
  if (journal_stream == nullptr) return false;
  std::string_view text = journal_stream;
  const auto device_named = take_number(text);
  if (!device_named || !text.starts_with(':')) return false;
  text.remove_prefix(1);
  const auto inode_named = take_number(text);
  return inode_named && text.empty() && *device_named == device && *inode_named == inode;
}

// The variable alone is not enough: a server whose stderr is redirected to a file inherits it, too.
bool is_journal(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 &&
         names_file(std::getenv("JOURNAL_STREAM"), status.st_dev, status.st_ino);
}

// Without memory the event is lost.
void Log::event(Level level, std::string_view name, LogFields fields) {
  if (!wants(level)) return;
  try {
    line_.clear();
    append(level, name, fields);
    if (kept_.size() + line_.size() > kKeptBytesMax) flush();
    if (kept_.size() + line_.size() > kKeptBytesMax) {
      ++dropped_;
      return;
    }
    if (dropped_ > 0) {
      line_.clear();
      append(Level::warning, "log-lines-dropped", {{"lines", dropped_}});
      append(level, name, fields);
    }
    kept_ += line_;
    dropped_ = 0;
  } catch (const std::bad_alloc&) {
    ++dropped_;
  }
}

void Log::append(Level level, std::string_view name, LogFields fields) {
  std::optional<std::int64_t> time;
  if (style_.for_journal) {
    line_ += {'<', priority_of(level), '>'};
  } else {
    time = wall_clock_();
  }
  append_log_line(line_, style_.format, time, level, name, fields);
  line_ += '\n';
}

// A pipe is writable if it has room for PIPE_BUF bytes, so a piece of that size never blocks.
void Log::flush() {
  std::size_t written = 0;
  while (written < kept_.size() && is_writable()) {
    const std::size_t piece = std::min<std::size_t>(kept_.size() - written, PIPE_BUF);
    const ssize_t result = ::write(descriptor_, kept_.data() + written, piece);
    if (result <= 0) break;
    written += static_cast<std::size_t>(result);
  }
  kept_.erase(0, written);
}

bool Log::is_writable() const {
  pollfd poll{.fd = descriptor_, .events = POLLOUT, .revents = 0};
  return ::poll(&poll, 1, 0) == 1 && (poll.revents & POLLOUT) != 0;
}

}  // namespace haricot::os
