// The screen of `haricot top`: what stands in each line.

#pragma once

#include <cstddef>
#include <vector>

#include "tool/top/screen_line.hpp"
#include "tool/top/top_state.hpp"
#include "tool/top/top_view.hpp"

namespace haricot::tool {

// How many tubes a screen has room for.
std::size_t page_of(const ScreenSize& size);

// As many lines as the screen has rows, each as wide as the screen.
std::vector<ScreenLine> draw_top(const TopState& state, const TopView& view, const ScreenSize& size,
                                 const ScreenStyle& style);

}  // namespace haricot::tool
