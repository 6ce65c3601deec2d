// The head of a response as bytes.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace haricot::web {

// Appends the line of the status.
void append_status(std::string& to, std::uint16_t status);
// Appends a header. Bytes that may not stand in one, such as ends of lines, become '?': a value may
// come from anywhere.
void append_header(std::string& to, std::string_view name, std::string_view value);
// Whether a header If-None-Match names this entity tag. An empty one names none.
bool names_tag(std::string_view if_none_match, std::string_view tag);

}  // namespace haricot::web
