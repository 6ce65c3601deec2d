#include "web/observe/tube_reader.hpp"

#include "haricot/base/number.hpp"
#include "tool/client/stats_text.hpp"

namespace haricot::web {
namespace {

using tool::can_be_asked_for;
using tool::take_line;
using tool::without_quotes;

struct Line {
  std::string_view key;
  std::string_view value;
};

bool split(std::string_view line, Line& to) {
  const std::size_t colon = line.find(": ");
  if (colon == std::string_view::npos || colon == 0) return false;
  to = {line.substr(0, colon), line.substr(colon + 2)};
  return true;
}

// Stores the number in its field if it is a known key. `hint` is the expected field, because all
// tubes have their lines in the same order.
void read_number_line(const Line& line, TubeRow& row, std::size_t& hint) {
  for (std::size_t i = 0; i < kTubeFields; ++i) {
    const std::size_t field = (hint + i) % kTubeFields;
    if (key_of(static_cast<TubeField>(field)) != line.key) continue;
    row.numbers[field] = read_number(line.value).value_or(0);
    hint = field + 1;
    return;
  }
}

}  // namespace

bool read_tube(std::string_view answer, TubeRow& row) {
  if (!answer.starts_with(tool::kYamlBegin)) return false;
  answer.remove_prefix(tool::kYamlBegin.size());
  std::size_t hint = 0;
  Line line;
  while (!answer.empty()) {
    if (!split(take_line(answer), line)) return false;
    read_number_line(line, row, hint);
  }
  return true;
}

bool read_tubes_page(std::string_view answer, std::string& next,
                     const std::function<void(TubeRow& row)>& take) {
  if (!answer.starts_with(tool::kYamlBegin)) return false;
  answer.remove_prefix(tool::kYamlBegin.size());
  bool has_next = false;
  bool is_among_tubes = false;
  std::size_t hint = 0;
  TubeRow row;
  const auto finish = [&] {
    if (can_be_asked_for(row.name)) take(row);
    row = TubeRow{};
  };
  while (!answer.empty()) {
    std::string_view text = take_line(answer);
    const bool is_first = text.starts_with("- ");
    Line line;
    if (is_first || text.starts_with("  ")) {
      if (is_first) finish();
      text.remove_prefix(2);
      // Skips unknown lines of a newer server, such as lists.
      if (!is_among_tubes || !split(text, line)) continue;
      if (line.key == "name") {
        row.name = without_quotes(line.value);
      } else {
        read_number_line(line, row, hint);
      }
      continue;
    }
    is_among_tubes = text == "tubes:";
    if (is_among_tubes || !split(text, line)) continue;
    if (line.key == "next") {
      has_next = true;
      next = without_quotes(line.value);
      if (next == "*") next.clear();
    }
  }
  finish();
  return has_next && (next.empty() || can_be_asked_for(next));
}

}  // namespace haricot::web
