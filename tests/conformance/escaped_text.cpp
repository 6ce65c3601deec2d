#include "escaped_text.hpp"

#include <charconv>
#include <cstdint>
#include <system_error>

namespace haricot::conformance {
namespace {

// More than any script needs, so that a typing error does not use up the machine's memory.
constexpr std::size_t kRepeatedBytesMax = std::size_t{64} << 20;

bool read_hex_byte(std::string_view digits, char& byte) {
  std::uint8_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, failure] = std::from_chars(digits.data(), end, value, 16);
  if (digits.size() != 2 || failure != std::errc{} || stop != end) return false;
  byte = static_cast<char>(value);
  return true;
}

// Reads the escape after the backslash at text[at] and moves `at` after it.
bool read_escape(std::string_view text, std::size_t& at, std::string& bytes) {
  const char kind = at + 1 < text.size() ? text[at + 1] : ' ';
  at += 2;
  char byte = 0;
  switch (kind) {
    case 'r':
      bytes += '\r';
      return true;
    case 'n':
      bytes += '\n';
      return true;
    case 't':
      bytes += '\t';
      return true;
    case '0':
      bytes += '\0';
      return true;
    case '\\':
      bytes += '\\';
      return true;
    case 'x':
      if (!read_hex_byte(text.substr(at, 2), byte)) return false;
      bytes += byte;
      at += 2;
      return true;
    default:
      return false;
  }
}

// Reads the ${text*count} at text[at] and moves `at` after it; the error is empty on success.
std::string read_repetition(std::string_view text, std::size_t& at, std::string& bytes) {
  const std::size_t end = text.find('}', at);
  if (end == std::string_view::npos) return "${ without }";
  const std::string_view inside = text.substr(at + 2, end - at - 2);
  const std::size_t star = inside.rfind('*');
  if (star == std::string_view::npos) return "${...} without *";

  const std::string_view digits = inside.substr(star + 1);
  std::size_t count = 0;
  const char* digits_end = digits.data() + digits.size();
  const auto [stop, failure] = std::from_chars(digits.data(), digits_end, count);
  if (failure != std::errc{} || stop != digits_end) return "${...*count} without a count";

  const Unescaped part = unescape(inside.substr(0, star));
  if (!part.error.empty()) return part.error;
  if (part.bytes.empty()) return "${*count} repeats nothing";
  if (count > kRepeatedBytesMax / part.bytes.size()) return "${...} is too long";
  for (std::size_t i = 0; i < count; ++i) bytes += part.bytes;
  at = end + 1;
  return {};
}

}  // namespace

Unescaped unescape(std::string_view text) {
  Unescaped result;
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '\\') {
      if (!read_escape(text, at, result.bytes)) return {{}, "unknown escape"};
    } else if (text[at] == '$' && at + 1 < text.size() && text[at + 1] == '{') {
      std::string error = read_repetition(text, at, result.bytes);
      if (!error.empty()) return {{}, std::move(error)};
    } else {
      result.bytes += text[at++];
    }
  }
  return result;
}

std::string escape(std::string_view bytes, std::size_t shown_bytes_max) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes.substr(0, shown_bytes_max)) {
    const auto value = static_cast<unsigned char>(byte);
    if (byte == '\r') {
      text += "\\r";
    } else if (byte == '\n') {
      text += "\\n";
    } else if (byte == '\0') {
      text += "\\0";
    } else if (byte == '\\') {
      text += "\\\\";
    } else if (value < 0x20 || value > 0x7e) {
      text += "\\x";
      text += kDigits[value >> 4];
      text += kDigits[value & 15];
    } else {
      text += byte;
    }
  }
  if (bytes.size() > shown_bytes_max) text += "... (" + std::to_string(bytes.size()) + " bytes)";
  return text;
}

}  // namespace haricot::conformance
