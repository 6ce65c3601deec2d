// The screen of one tube: its states and rates, its next jobs, and a chart of its backlog.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tool/top/screen_line.hpp"
#include "tool/top/top_state.hpp"

namespace haricot::tool {

// How many jobs of each state are worth asking for.
std::size_t jobs_wanted(const ScreenSize& size);

// At most as many lines as the screen has rows, in any width.
std::vector<ScreenLine> draw_tube(const TopState& state, const std::string& tube,
                                  const ScreenLine& status, const ScreenSize& size,
                                  const ScreenStyle& style);

}  // namespace haricot::tool
