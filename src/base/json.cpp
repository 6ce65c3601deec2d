#include "haricot/base/json.hpp"

#include "haricot/base/hex.hpp"
#include "haricot/base/utf8.hpp"

namespace haricot {
namespace {

void append_unit(std::string& to, std::uint32_t unit) {
  to += "\\u";
  append_hex(to, static_cast<unsigned char>(unit >> 8));
  append_hex(to, static_cast<unsigned char>(unit & 0xff));
}

void append_code(std::string& to, std::uint32_t code) {
  if (code < 0x10000) return append_unit(to, code);
  append_unit(to, 0xd800 + ((code - 0x10000) >> 10));
  append_unit(to, 0xdc00 + ((code - 0x10000) & 0x3ff));
}

// Returns the letter after a backslash that stands for the character; 0 if there is none.
char short_escape(std::uint32_t code) {
  switch (code) {
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    default:
      return 0;
  }
}

void append_as_ascii(std::string& to, std::uint32_t code) {
  if (code >= ' ' && code <= '~') {
    to += static_cast<char>(code);
  } else if (const char letter = short_escape(code); letter != 0) {
    to += '\\';
    to += letter;
  } else {
    append_code(to, code);
  }
}

void append_stray_byte(std::string& to, unsigned char byte, JsonText style) {
  if (style == JsonText::utf8) {
    append_unit(to, 0xfffd);
    return;
  }
  to += "\\\\x";  // An escaped backslash: a reader gets \xff.
  append_hex(to, byte);
}

}  // namespace

void append_json_string(std::string& to, std::string_view bytes, JsonText style) {
  to += '"';
  while (!bytes.empty()) {
    const Utf8Character character = first_character(bytes);
    if (character.bytes == 0) {
      append_stray_byte(to, static_cast<unsigned char>(bytes[0]), style);
      bytes.remove_prefix(1);
      continue;
    }
    if (character.code == '"' || character.code == '\\') {
      to += '\\';
      to += bytes[0];
    } else if (style == JsonText::ascii) {
      append_as_ascii(to, character.code);
    } else if (!is_plain(character.code)) {
      append_code(to, character.code);
    } else {
      to += bytes.substr(0, character.bytes);
    }
    bytes.remove_prefix(character.bytes);
  }
  to += '"';
}

std::string json_string(std::string_view bytes) {
  std::string text;
  append_json_string(text, bytes, JsonText::utf8);
  return text;
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

}  // namespace haricot
