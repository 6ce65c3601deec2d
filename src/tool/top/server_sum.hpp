// The sum of several servers, for `haricot top`.

#pragma once

#include <span>

#include "tool/top/top_state.hpp"

namespace haricot::tool {

// Adds up the servers without trouble. The trouble of `sum` is that of the others. A rate is
// unknown if one of the servers does not know it. An alarm of one server (drain mode, full disk) is
// an alarm of the sum. Keeps the history of `sum`; its jobs and memory remain unknown.
void add_up(std::span<const TopState> servers, TopState& sum);

}  // namespace haricot::tool
