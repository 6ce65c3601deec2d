// What can stand for a TCP port on a command line.

#pragma once

#include <string_view>

namespace haricot::os {

// Whether getaddrinfo() may be asked about this port: it is a number up to 65535, in digits, or
// starts with a letter, as a service's name does. getaddrinfo() itself takes 86446 for 20910, and
// blanks and signs for a part of a number.
bool is_port(std::string_view text);

}  // namespace haricot::os
