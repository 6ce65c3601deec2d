// The screen of one tube: states, rates, next jobs, and a chart of its backlog.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tool/top/screen_line.hpp"
#include "tool/top/top_state.hpp"

namespace haricot::tool {

// Returns the number of jobs of each state to ask for.
std::size_t jobs_wanted(const ScreenSize& size);

// Returns at most as many lines as the screen has rows. Lines may have any width.
std::vector<ScreenLine> draw_tube(const TopState& state, const std::string& tube,
                                  const ScreenLine& status, const ScreenSize& size,
                                  const ScreenStyle& style);

}  // namespace haricot::tool
