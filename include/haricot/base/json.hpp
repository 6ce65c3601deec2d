// Bytes as JSON, for any input.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace haricot {

// Encoding of a string.
enum class JsonText : std::uint8_t {
  // Keeps characters, except those that is_plain() (utf8.hpp) forbids, which are escaped (\u000a),
  // so that a terminal may show the string too. A byte that is not UTF-8 becomes U+FFFD.
  utf8,
  // Only printable ASCII: other characters are escaped, as \n, \r, \t or \u. A byte that is not
  // UTF-8 becomes a text of four characters, such as \xff.
  ascii,
};

// Appends a string in quotes.
void append_json_string(std::string& to, std::string_view bytes, JsonText style);

// Returns a string in quotes, in JsonText::utf8.
std::string json_string(std::string_view bytes);

// Returns the bytes in base64, in quotes.
std::string json_base64(std::string_view bytes);

// Returns true if the text is an unsigned number of JSON without an exponent: digits without a
// leading zero, and optional decimals.
bool is_json_number(std::string_view text);

}  // namespace haricot
