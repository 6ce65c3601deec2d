// Characters in bytes that may be UTF-8, or anything.

#pragma once

#include <cstddef>
#include <string_view>

namespace haricot::tool {

// The bytes of the UTF-8 character at the begin; 0 if there is none that is well-formed: too short,
// longer than it need be, half of a surrogate pair, or beyond the last character.
// Requires: there is a byte.
std::size_t utf8_length(std::string_view bytes);

bool is_utf8(std::string_view bytes);

// Whether a character, in UTF-8, is one of those that steer a terminal: below a blank, DEL, or
// U+0080 to U+009F.
bool is_control(std::string_view character);

}  // namespace haricot::tool
