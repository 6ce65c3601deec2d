// The log: events on stderr, one in a line. Logging never blocks the server.
//
// Lines are collected, and written at the end of a turn as far as stderr takes them without
// blocking. If nothing reads stderr, lines are dropped. The first line that can be written again
// has their number.
//
// Each event has a row in docs/runbook.md; a test compares them.

#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "os/clock.hpp"
#include "os/log_line.hpp"

namespace haricot::os {

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
