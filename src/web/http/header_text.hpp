// Syntax of headers (RFC 9110, section 5, and RFC 9112, section 5), and comma-separated lists in
// them.

#pragma once

#include <string>
#include <string_view>

namespace haricot::web {

// Returns true for a name of a header or a method, which is not empty.
bool is_token(std::string_view text);
// Returns true for a value of a header: printable characters, blanks, tabs, and bytes above ASCII.
bool is_field_value(std::string_view text);
// Removes blanks and tabs at both ends.
std::string_view trim(std::string_view text);
// Compares without regard to case.
bool is_same_word(std::string_view a, std::string_view b);
// Returns the text in lower case.
std::string lower(std::string_view text);

// Removes the next element, which may be empty, from a list and returns it. Requires: the list is
// not empty.
std::string_view take_element(std::string_view& list, char separator = ',');
// Returns true if a comma-separated list contains this word.
bool has_word(std::string_view list, std::string_view word);

}  // namespace haricot::web
