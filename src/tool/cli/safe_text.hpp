// Bytes that come from elsewhere, made fit for a terminal: nothing in them can steer it.

#pragma once

#include <string>
#include <string_view>

namespace haricot::tool {

// For a place in a line: everything but printable ASCII as \xHH.
std::string safe_word(std::string_view bytes);

// For a body: lines, tabs and UTF-8 stay. What is_plain() (utf8.hpp) forbids and bytes that are no
// UTF-8 become \xHH.
std::string safe_lines(std::string_view bytes);

}  // namespace haricot::tool
