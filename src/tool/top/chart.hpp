// A chart of numbers over time, as lines of characters.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace haricot::tool {

// How many numbers a chart of so many columns shows.
std::size_t chart_points(std::size_t columns, bool utf8);

// The last numbers, the newest on the right, as bars from the bottom. The highest of the shown ones
// reaches the top; each above zero is seen. With UTF-8 a character of braille has two numbers of
// four steps, without it a column is a number of two steps. Each line has so many columns.
std::vector<std::string> draw_chart(std::span<const std::uint32_t> numbers, std::size_t columns,
                                    std::size_t rows, bool utf8);

}  // namespace haricot::tool
