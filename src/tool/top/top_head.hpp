// The lines above the table of `haricot top`: the server as a whole.

#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "tool/top/screen_line.hpp"
#include "tool/top/top_state.hpp"

namespace haricot::tool {

inline constexpr std::size_t kHeadLines = 5;

// kHeadLines lines, each as wide as the screen. What a line has no room for leaves as a whole, the
// least important first; what is wrong leaves last.
std::vector<ScreenLine> draw_head(const TopState& state, std::size_t columns);

// A line of phrases with a comma between them; a phrase that does not fit is left out. The first
// one stays, and is cut.
ScreenLine line_of(const std::vector<ScreenLine::Piece>& phrases, std::size_t columns);

}  // namespace haricot::tool
