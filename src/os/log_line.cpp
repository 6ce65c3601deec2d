#include "os/log_line.hpp"

#include <charconv>
#include <cstddef>
#include <cstdio>
#include <ctime>

#include "haricot/base/check.hpp"
#include "haricot/base/json.hpp"

namespace haricot::os {
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

}  // namespace haricot::os
