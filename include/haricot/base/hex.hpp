// Bytes as hexadecimal digits.

#pragma once

#include <string>

namespace haricot {

// Appends the two digits of a byte, in lower case.
inline void append_hex(std::string& to, unsigned char byte) {
  constexpr char kDigits[] = "0123456789abcdef";
  to += kDigits[byte >> 4];
  to += kDigits[byte & 15];
}

}  // namespace haricot
