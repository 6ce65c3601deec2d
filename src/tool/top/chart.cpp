#include "tool/top/chart.hpp"

#include <algorithm>
#include <array>

#include "haricot/base/check.hpp"

namespace haricot::tool {
namespace {

// Bits of the dots of a braille character from the bottom up: left column, right column.
constexpr std::array<std::array<unsigned, 4>, 2> kDots = {
    {{0x40, 0x04, 0x02, 0x01}, {0x80, 0x20, 0x10, 0x08}}};
constexpr std::uint64_t kDotSteps = 4;
constexpr std::uint64_t kPlainSteps = 2;

// Returns a character of the block U+2800, whose low byte has a bit for each dot.
std::string braille(unsigned dots) {
  return {'\xe2', static_cast<char>(0xa0 | (dots >> 6)), static_cast<char>(0x80 | (dots & 0x3f))};
}

// Returns the number of steps of a row that a bar of this height fills. `row` counts from the
// bottom.
std::uint64_t filled(std::uint64_t height, std::size_t row, std::uint64_t steps) {
  const std::uint64_t below = row * steps;
  return height <= below ? 0 : std::min(height - below, steps);
}

}  // namespace

std::size_t chart_points(std::size_t columns, bool utf8) {
  return utf8 ? 2 * columns : columns;
}

std::vector<std::string> draw_chart(std::span<const std::uint32_t> numbers, std::size_t columns,
                                    std::size_t rows, bool utf8) {
  const std::size_t points = chart_points(columns, utf8);
  const std::uint64_t steps = utf8 ? kDotSteps : kPlainSteps;
  numbers = numbers.last(std::min(numbers.size(), points));
  std::uint64_t highest = 1;
  for (const std::uint32_t number : numbers) highest = std::max<std::uint64_t>(highest, number);
  std::vector<std::uint64_t> heights(points - numbers.size(), 0);
  for (const std::uint32_t number : numbers) {
    heights.push_back((number * steps * rows + highest - 1) / highest);  // Rounded up.
  }
  CHECK(heights.size() == points);
  std::vector<std::string> lines(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t row = rows - 1 - i;
    for (std::size_t column = 0; column < columns; ++column) {
      if (!utf8) {
        const std::uint64_t fill = filled(heights[column], row, steps);
        lines[i] += fill == 0 ? ' ' : fill == 1 ? '.' : '|';
        continue;
      }
      unsigned dots = 0;
      for (std::size_t side = 0; side < 2; ++side) {
        const std::uint64_t fill = filled(heights[2 * column + side], row, steps);
        for (std::uint64_t dot = 0; dot < fill; ++dot) dots |= kDots[side][dot];
      }
      lines[i] += dots == 0 ? " " : braille(dots);
    }
  }
  return lines;
}

}  // namespace haricot::tool
