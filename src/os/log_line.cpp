#include "os/log_line.hpp"

#include <charconv>
#include <cstddef>
#include <cstdio>
#include <ctime>

namespace haricot::os {
namespace {

constexpr char kHex[] = "0123456789abcdef";

// The character at the beginning of a text and the bytes that it takes; none if they are no UTF-8:
// cut off, longer than needed, half a surrogate pair, or beyond the last character.
struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;
};

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  std::uint32_t code = lead & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kSmallest[bytes] || is_surrogate || code > 0x10ffff) return {};
  return {code, bytes};
}

void append_unit(std::string& to, std::uint32_t unit) {
  to += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) to += kHex[unit >> shift & 15];
}

void append_code(std::string& to, std::uint32_t code) {
  switch (code) {
    case '"':
      to += "\\\"";
      return;
    case '\\':
      to += "\\\\";
      return;
    case '\n':
      to += "\\n";
      return;
    case '\r':
      to += "\\r";
      return;
    case '\t':
      to += "\\t";
      return;
    default:
      break;
  }
  if (code >= ' ' && code <= '~') {
    to += static_cast<char>(code);
  } else if (code < 0x10000) {
    append_unit(to, code);
  } else {
    append_unit(to, 0xd800 + ((code - 0x10000) >> 10));
    append_unit(to, 0xdc00 + ((code - 0x10000) & 0x3ff));
  }
}

void append_quoted(std::string& to, std::string_view text) {
  to += '"';
  while (!text.empty()) {
    const Character character = first_character(text);
    if (character.bytes == 0) {
      const auto byte = static_cast<unsigned char>(text[0]);
      to += "\\\\x";  // An escaped backslash: what is read back is \xff.
      to += kHex[byte >> 4];
      to += kHex[byte & 15];
      text.remove_prefix(1);
      continue;
    }
    append_code(to, character.code);
    text.remove_prefix(character.bytes);
  }
  to += '"';
}

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

// The fields of one line, one behind the other.
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
      append_quoted(to_, field.text());
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
