// Makes bytes from elsewhere safe for a terminal: nothing in them can control it.

#pragma once

#include <string>
#include <string_view>

namespace haricot::tool {

// For a word in a line. Escapes every byte except printable ASCII, as \xHH.
std::string safe_word(std::string_view bytes);

// For a body. Keeps line ends, tabs and UTF-8. Escapes characters that is_plain() (utf8.hpp)
// rejects, and bytes that are not UTF-8, as \xHH.
std::string safe_lines(std::string_view bytes);

}  // namespace haricot::tool
