// The lines above the table of `haricot top`, about the server as a whole.

#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "tool/top/screen_line.hpp"
#include "tool/top/top_state.hpp"

namespace haricot::tool {

inline constexpr std::size_t kHeadLines = 5;

// Returns kHeadLines lines of the screen's width. A line leaves out whole phrases that do not fit;
// alarms come first, so they are left out last.
std::vector<ScreenLine> draw_head(const TopState& state, std::size_t columns);

// Returns a line of phrases with commas between them. Leaves out a phrase that does not fit, except
// the first, which is cut.
ScreenLine line_of(const std::vector<ScreenLine::Piece>& phrases, std::size_t columns);

}  // namespace haricot::tool
