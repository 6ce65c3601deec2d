// The table of tubes on a screen: which columns there is room for, and the text of its lines.
//
// The name stands first. As the screen gets narrower the numbers leave, the least important first;
// the name is cut last.

#pragma once

#include <cstddef>
#include <vector>

#include "tool/client/tube_stats.hpp"
#include "tool/top/screen_line.hpp"
#include "tool/top/tube_marks.hpp"

namespace haricot::tool {

struct TableLayout {
  std::size_t columns = 0;
  std::size_t name_columns = 0;
  bool has_letters = false;         // Of the marks, after the name.
  bool has_words = false;           // Of the marks, at the end of the line, instead of the letters.
  std::vector<TubeColumn> numbers;  // From left to right.
};

// For a screen of so many columns. The column by which the table is sorted leaves last.
TableLayout layout_of(const std::vector<TubeStats>& tubes, TubeColumn sort, std::size_t columns);

// Each is as wide as the screen.
ScreenLine table_header(const TableLayout& layout);
ScreenLine table_row(const TableLayout& layout, const TubeStats& tube,
                     const std::vector<Mark>& marks, bool is_selected);

}  // namespace haricot::tool
