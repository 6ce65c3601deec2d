// One line of the log: an event with its fields, as logfmt or as JSON.
//
//   time=2026-11-21T10:40:38.123Z level=warning event=job-too-big bytes=70000 tube="a b"
//   {"time":"2026-11-21T10:40:38.123Z","level":"warning","event":"job-too-big","bytes":70000}
//
// A text may have any bytes. The line is printable ASCII: other characters are escaped as in JSON
// (\u00e9), and a byte that is no character becomes the four characters \xff. In logfmt, a text
// with blanks, quotes and the like is in quotes and escaped in the same way, so both forms can be
// decoded to the same text.

#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace haricot::os {

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

}  // namespace haricot::os
