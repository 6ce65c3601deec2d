// The lines of the screen of `haricot top`.

#pragma once

#include <cstddef>
#include <vector>

#include "tool/top/screen_line.hpp"
#include "tool/top/top_state.hpp"
#include "tool/top/top_view.hpp"

namespace haricot::tool {

// Returns the number of tubes on a screen.
std::size_t page_of(const ScreenSize& size);

// Returns exactly as many lines as the screen has rows, each of the screen's width.
std::vector<ScreenLine> draw_top(const TopState& state, const TopView& view, const ScreenSize& size,
                                 const ScreenStyle& style);

}  // namespace haricot::tool
