// The log: events on stderr, one per line. Logging never blocks the server.
//
// Lines are collected, and written at the end of a turn as far as stderr takes them without
// blocking. If nothing reads stderr, lines are dropped. The first line that can be written again
// has their number.
//
// Each event has a row in docs/runbook.md; a test compares them.

#pragma once

#include <sys/types.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "os/clock.hpp"

namespace haricot::os {

// Lines -----------------------------------------------------------------------------------------
//
// A line is an event with its fields, as logfmt or as JSON:
//
//   time=2026-11-21T10:40:38.123Z level=warning event=job-too-big bytes=70000 tube="a b"
//   {"time":"2026-11-21T10:40:38.123Z","level":"warning","event":"job-too-big","bytes":70000}
//
// A text may have any bytes. The line is printable ASCII: other characters are escaped as in JSON
// (\u00e9), and a byte that is no character becomes the four characters \xff. In logfmt, a text
// with blanks, quotes and the like is in quotes and escaped in the same way, so both forms can be
// decoded to the same text.

enum class Level : std::uint8_t { error, warning, info, debug };
enum class LogFormat : std::uint8_t { text, json };

// A key (a word of lower case letters and underscores) and its value. Does not own its texts.
class LogField {
 public:
  LogField(std::string_view key, std::string_view text) : key_(key), text_(text) {}
  LogField(std::string_view key, const char* text) : key_(key), text_(text) {}
  LogField(std::string_view key, const std::string& text) : key_(key), text_(text) {}
  template <std::unsigned_integral T>
  LogField(std::string_view key, T number) : key_(key), number_(number), is_number_(true) {}
  template <std::signed_integral T>
  LogField(std::string_view key, T number)
      : key_(key),
        number_(number < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(number)
                           : static_cast<std::uint64_t>(number)),
        is_number_(true),
        is_negative_(number < 0) {}

  std::string_view key() const { return key_; }
  std::string_view text() const { return text_; }
  bool is_number() const { return is_number_; }
  bool is_negative() const { return is_negative_; }
  std::uint64_t magnitude() const { return number_; }

 private:
  std::string_view key_;
  std::string_view text_;
  std::uint64_t number_ = 0;
  bool is_number_ = false;
  bool is_negative_ = false;
};

using LogFields = std::initializer_list<LogField>;

std::string_view name_of(Level level);

// Appends the line without its end. `wall_time` is in nanoseconds since 1970; without it the line
// has no time.
void append_log_line(std::string& to, LogFormat format, std::optional<std::int64_t> wall_time,
                     Level level, std::string_view event, LogFields fields);

// The log ---------------------------------------------------------------------------------------

struct LogStyle {
  LogFormat format = LogFormat::text;
  Level level = Level::info;  // Less important events are omitted.
  // journald reads the log: it adds the time, and takes the priority from the `<4>` at the
  // beginning of a line.
  bool for_journal = false;
};

// Returns true if the value of JOURNAL_STREAM (`device:inode`; null: not set) is this file.
bool names_file(const char* journal_stream, dev_t device, ino_t inode);
// Returns true if journald reads this descriptor.
bool is_journal(int descriptor);

class Log {
 public:
  static constexpr std::size_t kKeptBytesMax = 64 * 1024;

  // Writes to a descriptor that outlives the log. Does not set it to non-blocking, because other
  // processes may share it.
  explicit Log(int descriptor, LogStyle style = {}, std::int64_t (*wall_clock)() = read_wall_clock)
      : descriptor_(descriptor), style_(style), wall_clock_(wall_clock) {}
  ~Log() { flush(); }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // Adds an event, if its level is wanted. Names are lower case words with hyphens, keys with
  // underscores.
  void event(Level level, std::string_view name, LogFields fields = {});
  // For callers to which computing the fields of an event would be expensive.
  bool wants(Level level) const { return level <= style_.level; }

  // Writes as much as possible without blocking.
  void flush();
  bool has_lines() const { return !kept_.empty(); }

 private:
  void append(Level level, std::string_view name, LogFields fields);
  bool is_writable() const;

  int descriptor_;
  LogStyle style_;
  std::int64_t (*wall_clock_)();
  std::string kept_;
  std::string line_;  // The current line; kept for its memory.
  std::uint64_t dropped_ = 0;
};

}  // namespace haricot::os
