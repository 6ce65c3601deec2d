#include "tool/cli/safe_text.hpp"

#include "tool/cli/utf8.hpp"

namespace haricot::tool {
namespace {

void append_hex(std::string& text, char c) {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  text += "\\x";
  text += kHexDigits[byte >> 4];
  text += kHexDigits[byte & 15];
}

}  // namespace

std::string safe_word(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    if (c >= ' ' && c <= '~') {
      text += c;
    } else {
      append_hex(text, c);
    }
  }
  return text;
}

std::string safe_lines(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    const std::string_view character = bytes.substr(0, length == 0 ? 1 : length);
    if (character == "\n" || character == "\t" || (length > 0 && !is_control(character))) {
      text += character;
    } else {
      for (const char c : character) append_hex(text, c);
    }
    bytes.remove_prefix(character.size());
  }
  return text;
}

}  // namespace haricot::tool
