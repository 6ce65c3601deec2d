// Lines that a correct client does not send.

#pragma once

#include <string>
#include <string_view>

#include "support/random.hpp"

namespace haricot::test {

// Turns a valid line into one that is most likely malformed: a number out of range, a bad name, a
// word too many or missing, blanks, NULs, capitals, excess length. All without CR LF.
std::string damaged(std::string_view line, Random& random);

// Whether the answer to this line (without CR LF) can be compared between servers and is known to
// be one line that comes at once. False for what servers are known to do differently, and for what
// would wait, end the connection, announce a body or start a timer of a few seconds.
bool is_comparable(std::string_view line);

}  // namespace haricot::test
