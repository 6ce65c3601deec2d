// What may stand in the head of a message (RFC 9110, 5 and 9112, 5), and lists in it.

#pragma once

#include <string>
#include <string_view>

namespace haricot::web {

// The name of a header, or of a method: one character at least.
bool is_token(std::string_view text);
// The value of a header: printing characters, blanks and tabs, and bytes beyond ASCII.
bool is_field_value(std::string_view text);
// Without the blanks and tabs at its ends.
std::string_view trim(std::string_view text);
// Whatever the case of their letters.
bool is_same_word(std::string_view a, std::string_view b);
// The text with small letters.
std::string lower(std::string_view text);

// Cuts the next element off a list with commas; it may be empty. Requires: the list is not empty.
std::string_view take_element(std::string_view& list, char separator = ',');
// Whether a list with commas has this word.
bool has_word(std::string_view list, std::string_view word);

}  // namespace haricot::web
