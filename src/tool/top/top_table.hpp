// The table of tubes on a screen: the columns that fit, and the text of the lines.
//
// The name comes first. As the screen gets narrower, numbers are left out, the least important
// first; the name is cut last.

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
  bool has_letters = false;  // Letters of the marks, after the name.
  bool has_words = false;    // Words of the marks, at the end of the line, instead of the letters.
  std::vector<TubeColumn> numbers;  // From left to right.
};

// Returns the layout for a screen of `columns` columns. The column that the table is sorted by is
// left out last.
TableLayout layout_of(const std::vector<TubeStats>& tubes, TubeColumn sort, std::size_t columns);

// Return lines of the screen's width.
ScreenLine table_header(const TableLayout& layout);
ScreenLine table_row(const TableLayout& layout, const TubeStats& tube,
                     const std::vector<Mark>& marks, bool is_selected);

}  // namespace haricot::tool
