// Characters in bytes that may be UTF-8, or anything.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace haricot {

struct Utf8Character {
  std::uint32_t code = 0;  // Its number in Unicode.
  std::size_t bytes = 0;   // 1 to 4; 0: there is none.
};

// The character that the text begins with. None if the bytes there are not well-formed: cut off,
// longer than needed, half of a surrogate pair, or beyond the last character.
// Requires: the text is not empty.
Utf8Character first_character(std::string_view text);

bool is_utf8(std::string_view text);

// Whether a character is one of those that steer a terminal: below a blank, or from U+007F to
// U+009F.
constexpr bool is_control(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

// Whether a character may stand on a terminal as it is. Control characters may not, nor those that
// are not seen themselves but change how others are seen: marks of direction, characters without a
// width, separators of lines, tags (Unicode: Cc, Cf, Zl and Zp).
bool is_plain(std::uint32_t code);

}  // namespace haricot
