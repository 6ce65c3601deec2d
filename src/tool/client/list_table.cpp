#include "tool/client/list_table.hpp"

#include <algorithm>

#include "tool/cli/safe_text.hpp"

namespace haricot::tool {

void append_cell(std::string& line, std::string_view text, std::size_t width) {
  if (!line.empty()) line += ' ';
  line.append(width - std::min(width, text.size()), ' ');
  line += text;
}

std::string titles_of(std::span<const ListColumn> columns) {
  std::string line;
  for (const ListColumn& column : columns) append_cell(line, column.title, column.width);
  return line;
}

std::string row_of(std::span<const ListColumn> columns, const StatsText& item) {
  std::string line;
  for (const ListColumn& column : columns) {
    const std::string* value = item.find(column.key);
    append_cell(line, value == nullptr ? "-" : safe_word(*value), column.width);
  }
  return line;
}

}  // namespace haricot::tool
