// Seeds of the fuzzer of sessions: together they have every command, every answer and every way in
// which a connection ends.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "session_input.hpp"

namespace haricot::fuzz {

std::vector<std::pair<std::string, SessionInput>> session_seeds();

}  // namespace haricot::fuzz
