// TCP ports on a command line.

#pragma once

#include <string_view>

namespace haricot::os {

// Returns true if a text may be passed to getaddrinfo(): it is a number up to 65535, in digits, or
// begins with a letter, as the name of a service does. getaddrinfo() itself takes 86446 for 20910,
// and accepts blanks and signs in a number.
bool is_port(std::string_view text);

}  // namespace haricot::os
