// Notation of bytes in conformance scripts and in messages about failures.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace haricot::conformance {

// Result of `unescape`: the bytes, or an error.
struct Unescaped {
  std::string bytes;
  std::string error;  // Empty: the text was well-formed.
};

// Converts the text of a script into bytes: \r \n \t \0 \\ and \xHH, and ${text*count}, which is
// `text` (escapes allowed, no braces) `count` times.
[[nodiscard]] Unescaped unescape(std::string_view text);

// Converts bytes into a readable text: escapes everything except printable ASCII, and truncates
// after `shown_bytes_max` bytes with a note of the total.
[[nodiscard]] std::string escape(std::string_view bytes, std::size_t shown_bytes_max = 400);

}  // namespace haricot::conformance
