#include "tool/cli/json_text.hpp"

#include <cstdint>

#include "tool/cli/utf8.hpp"

namespace haricot::tool {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

void append_escape(std::string& text, unsigned char code) {
  text += "\\u00";
  text += kHexDigits[code >> 4];
  text += kHexDigits[code & 15];
}

void append_json(std::string& text, std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (is_control(character)) {
    // Of a control character in two bytes, the second one is its code.
    append_escape(text, static_cast<unsigned char>(character.back()));
  } else {
    if (first == '"' || first == '\\') text += '\\';
    text += character;
  }
}

}  // namespace

std::string json_string(std::string_view bytes) {
  std::string text = "\"";
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    if (length == 0) {
      text += "\\ufffd";
    } else {
      append_json(text, bytes.substr(0, length));
    }
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return text += '"';
}

std::string json_base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text = "\"";
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view group = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (k < group.size() ? static_cast<unsigned char>(group[k]) : 0);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= group.size() ? kDigits[(bits >> (18 - 6 * k)) & 63] : '=';
    }
  }
  return text += '"';
}

bool is_json_number(std::string_view text) {
  const auto skip_digits = [&text] {
    const std::size_t end = text.find_first_not_of("0123456789");
    const std::size_t count = end == std::string_view::npos ? text.size() : end;
    text.remove_prefix(count);
    return count;
  };
  const bool starts_with_zero = text.starts_with('0');
  const std::size_t digits = skip_digits();
  if (digits == 0 || (starts_with_zero && digits > 1)) return false;
  if (text.empty()) return true;
  if (text[0] != '.') return false;
  text.remove_prefix(1);
  return skip_digits() > 0 && text.empty();
}

}  // namespace haricot::tool
