// Lines that a correct client does not send.

#pragma once

#include <string>
#include <string_view>

#include "support/random.hpp"

namespace haricot::test {

// Turns a valid line into a probably malformed one: a number out of range, a bad name, a word too
// many or missing, blanks, NULs, capitals, excess length. All without CR LF.
std::string damaged(std::string_view line, Random& random);

// Returns true if the answer to this line (without CR LF) is comparable between servers: one line
// that comes at once. False if servers are known to differ, or if the line would wait, end the
// connection, announce a body or start a timer of a few seconds.
bool is_comparable(std::string_view line);

}  // namespace haricot::test
