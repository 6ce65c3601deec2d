#include "haricot/base/encoding.hpp"

namespace haricot {

Utf8Character first_character(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
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

bool is_plain(std::uint32_t code) {
  struct Range {
    std::uint32_t first;
    std::uint32_t last;
  };
  // Some ranges have a few unassigned characters.
  static constexpr Range kUnseen[] = {
      {0xad, 0xad},       {0x600, 0x605},     {0x61c, 0x61c},     {0x6dd, 0x6dd},
      {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},     {0x180e, 0x180e},
      {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},   {0xfeff, 0xfeff},
      {0xfff9, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f},
      {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe007f}};
  if (is_control(code)) return false;
  for (const Range& range : kUnseen) {
    if (code < range.first) return true;
    if (code <= range.last) return false;
  }
  return true;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    if (character.bytes == 0) return false;
    text.remove_prefix(character.bytes);
  }
  return true;
}

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
