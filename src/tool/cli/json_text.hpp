// Bytes as JSON.

#pragma once

#include <string>
#include <string_view>

namespace haricot::tool {

// A string in its quotes. All control characters are escaped, so that a terminal may see it too;
// bytes that are no UTF-8 become U+FFFD.
std::string json_string(std::string_view bytes);

// The bytes in base64, in quotes.
std::string json_base64(std::string_view bytes);

// Whether it can stand in JSON as a number: digits without a zero in front, and perhaps decimals.
bool is_json_number(std::string_view text);

}  // namespace haricot::tool
