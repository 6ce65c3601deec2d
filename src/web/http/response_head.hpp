// Writes the head of a response.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace haricot::web {

// Appends the status line.
void append_status(std::string& to, std::uint16_t status);
// Appends a header. Replaces bytes that a header must not contain, such as line ends, by '?',
// because values may come from anywhere.
void append_header(std::string& to, std::string_view name, std::string_view value);
// Returns true if the header If-None-Match contains this entity tag. An empty tag matches nothing.
bool names_tag(std::string_view if_none_match, std::string_view tag);

}  // namespace haricot::web
