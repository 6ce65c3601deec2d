// The log: lines on stderr that never keep the server waiting.
//
// Lines are collected and written at the end of a turn, as much as stderr takes without blocking.
// When whoever reads it has stopped reading, lines are dropped, and the first one that gets through
// again says how many.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace haricot::os {

class Log {
 public:
  static constexpr std::size_t kKeptBytesMax = 64 * 1024;

  // Writes to a descriptor that outlives the log and is left as it is (not set to non-blocking: it
  // may be shared with others).
  explicit Log(int descriptor) : descriptor_(descriptor) {}
  ~Log() { flush(); }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // Adds a line; what is not printable ASCII in it is shown as \xHH.
  void line(std::string_view text);

  // Writes what can be written now.
  void flush();
  bool has_lines() const { return !kept_.empty(); }

 private:
  bool is_writable() const;

  int descriptor_;
  std::string kept_;
  std::uint64_t dropped_ = 0;
};

}  // namespace haricot::os
