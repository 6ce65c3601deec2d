// Several servers as one: the sum that `haricot top` shows of them.

#pragma once

#include <span>

#include "tool/top/top_state.hpp"

namespace haricot::tool {

// Makes `sum` the sum of those servers that have a sample and no trouble; its trouble is that of
// the others. A rate that one of them does not know is not known. What is wrong with one (drain
// mode, a disk that is full) is wrong with the sum. The history of `sum` stays, and its jobs and
// memory are not known.
void add_up(std::span<const TopState> servers, TopState& sum);

}  // namespace haricot::tool
