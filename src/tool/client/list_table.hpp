// A table of the items of a list page (list_page.hpp): titles, and a line for each item.

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tool/client/stats_text.hpp"

namespace haricot::tool {

struct ListColumn {
  std::string_view title;
  std::string_view key;  // Key of the item.
  std::size_t width;     // Minimum.
};

// Appends a right-aligned cell, separated by a blank unless it is the first.
void append_cell(std::string& line, std::string_view text, std::size_t width);

// Return a line without its end. A key that the item lacks is shown as "-".
std::string titles_of(std::span<const ListColumn> columns);
std::string row_of(std::span<const ListColumn> columns, const StatsText& item);

}  // namespace haricot::tool
