// How bytes are written in a conformance script, and how they are shown when one fails.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace haricot::conformance {

// What `unescape` made of a text: the bytes, or why the text means none.
struct Unescaped {
  std::string bytes;
  std::string error;  // Empty: the text was well-formed.
};

// Turns the text of a script into bytes: \r \n \t \0 \\ and \xHH, and ${text*count}, which is
// `text` (escapes allowed, no braces) `count` times.
[[nodiscard]] Unescaped unescape(std::string_view text);

// The opposite, for people: everything but printable ASCII as an escape, cut after
// `shown_bytes_max` bytes with a note of how many there were.
[[nodiscard]] std::string escape(std::string_view bytes, std::size_t shown_bytes_max = 400);

}  // namespace haricot::conformance
