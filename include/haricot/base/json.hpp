// Bytes as JSON, whatever they are.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace haricot {

// How a string is written.
enum class JsonText : std::uint8_t {
  // Characters stay as they are but for those that is_plain() (utf8.hpp) forbids, which are escaped
  // (\u000a), so that a terminal may see the string too. A byte that is no UTF-8 becomes U+FFFD.
  utf8,
  // Only printable ASCII, with \n, \r and \t for these three, and \u for all other characters. A
  // byte that is no UTF-8 becomes a text of four characters, such as \xff.
  ascii,
};

// Appends a string in its quotes.
void append_json_string(std::string& to, std::string_view bytes, JsonText style);

// A string in its quotes, in JsonText::utf8.
std::string json_string(std::string_view bytes);

// The bytes in base64, in quotes.
std::string json_base64(std::string_view bytes);

// Whether the text can stand in JSON as a number: digits without a zero in front, and perhaps
// decimals. Numbers with a sign or an exponent are none here.
bool is_json_number(std::string_view text);

}  // namespace haricot
