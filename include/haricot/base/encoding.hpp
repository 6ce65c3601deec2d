// Encodings of text: UTF-8, hexadecimal digits and JSON, for any bytes.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace haricot {

// UTF-8 ------------------------------------------------------------------------------------------

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

// Hexadecimal digits, and JSON -------------------------------------------------------------------

// Appends the two digits of a byte, in lower case.
inline void append_hex(std::string& to, unsigned char byte) {
  constexpr char kDigits[] = "0123456789abcdef";
  to += kDigits[byte >> 4];
  to += kDigits[byte & 15];
}

// Encoding of a string.
enum class JsonText : std::uint8_t {
  // Keeps characters, except those that is_plain() forbids, which are escaped (\u000a), so that a
  // terminal may show the string too. A byte that is not UTF-8 becomes U+FFFD.
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
