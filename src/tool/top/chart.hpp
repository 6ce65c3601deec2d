// A chart of numbers over time, as lines of characters.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace haricot::tool {

// Returns how many numbers a chart shows in `columns` columns.
std::size_t chart_points(std::size_t columns, bool utf8);

// Draws the last numbers as bars, the newest on the right. The largest number shown reaches the
// top, and each number above zero is visible. With UTF-8 a braille character shows two numbers in
// four steps a row; without it a column shows one number in two steps a row. Returns `rows` lines
// of `columns` columns.
std::vector<std::string> draw_chart(std::span<const std::uint32_t> numbers, std::size_t columns,
                                    std::size_t rows, bool utf8);

}  // namespace haricot::tool
