// Decoding of bytes that may or may not be UTF-8.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace haricot {

struct Utf8Character {
  std::uint32_t code = 0;  // Code point in Unicode.
  std::size_t bytes = 0;   // 1 to 4; 0: there is none.
};

// Returns the character at the beginning of the text; none if the bytes there are not well-formed:
// truncated, overlong, half of a surrogate pair, or beyond U+10FFFF. Requires: the text is not
// empty.
Utf8Character first_character(std::string_view text);

bool is_utf8(std::string_view text);

// Returns true for a control character, which a terminal may obey: U+0000 to U+001F and U+007F to
// U+009F.
constexpr bool is_control(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

// Returns true if a character may be printed on a terminal. Control characters may not, nor
// invisible characters that affect others: direction marks, zero-width characters, line separators
// and tags (Unicode categories Cc, Cf, Zl and Zp).
bool is_plain(std::uint32_t code);

}  // namespace haricot
