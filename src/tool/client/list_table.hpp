// A table of what a server lists page by page (list_page.hpp): a line for each item, and titles.

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tool/client/stats_text.hpp"

namespace haricot::tool {

struct ListColumn {
  std::string_view title;
  std::string_view key;  // Of the item.
  std::size_t width;     // At least.
};

// Adds a cell, aligned right, after a blank if it is not the first one.
void append_cell(std::string& line, std::string_view text, std::size_t width);

// Both without the end of the line. What the item does not have is "-".
std::string titles_of(std::span<const ListColumn> columns);
std::string row_of(std::span<const ListColumn> columns, const StatsText& item);

}  // namespace haricot::tool
