#include "tool/cli/output.hpp"

#include <algorithm>
#include <cstddef>

#include "haricot/base/hex.hpp"
#include "haricot/base/utf8.hpp"

namespace haricot::tool {
namespace {

void append_escape(std::string& text, char c) {
  text += "\\x";
  append_hex(text, static_cast<unsigned char>(c));
}

}  // namespace

std::string safe_word(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    if (c >= ' ' && c <= '~') {
      text += c;
    } else {
      append_escape(text, c);
    }
  }
  return text;
}

std::string safe_lines(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const Utf8Character first = first_character(bytes);
    const std::string_view written = bytes.substr(0, std::max<std::size_t>(first.bytes, 1));
    const bool is_harmless = first.bytes > 0 && is_plain(first.code);
    if (written == "\n" || written == "\t" || is_harmless) {
      text += written;
    } else {
      for (const char c : written) append_escape(text, c);
    }
    bytes.remove_prefix(written.size());
  }
  return text;
}

}  // namespace haricot::tool
