// The table of tubes.

#include <algorithm>
#include <string>

#include "tool/cli/output.hpp"
#include "tool/top/screen_text.hpp"
#include "tool/top/screens.hpp"

namespace haricot::tool {
namespace {

constexpr TubeColumn kByImportance[] = {
    TubeColumn::ready,    TubeColumn::buried,  TubeColumn::reserved,
    TubeColumn::waiting,  TubeColumn::delayed, TubeColumn::delete_rate,
    TubeColumn::put_rate, TubeColumn::paused,  TubeColumn::urgent,
};
static_assert(std::size(kByImportance) + 1 == kTubeColumns);

constexpr std::size_t kGutterColumns = 1;
constexpr std::string_view kNameTitle = "tube";
constexpr std::string_view kMarksTitle = "mark";
static_assert(kMarksTitle.size() == kMarks.size(), "a letter for each mark");

// With the blank before it. The width does not depend on the numbers, so columns do not move.
std::size_t columns_of(TubeColumn column) {
  const std::size_t title = title_of(column).size();
  if (column == TubeColumn::paused) return 1 + title;
  return 1 + std::max(title, kGroupedColumnsMax);
}

std::size_t longest_name(const std::vector<TubeStats>& tubes) {
  std::size_t longest = kNameTitle.size();
  for (const TubeStats& tube : tubes) longest = std::max(longest, safe_word(tube.name).size());
  return longest;
}

std::string cell(const TubeStats& tube, TubeColumn column) {
  switch (column) {
    case TubeColumn::ready:
      return grouped(tube.ready);
    case TubeColumn::urgent:
      return grouped(tube.urgent);
    case TubeColumn::reserved:
      return grouped(tube.reserved);
    case TubeColumn::delayed:
      return grouped(tube.delayed);
    case TubeColumn::buried:
      return grouped(tube.buried);
    case TubeColumn::waiting:
      return grouped(tube.waiting);
    case TubeColumn::put_rate:
      return grouped_rate(tube.put_rate);
    case TubeColumn::delete_rate:
      return grouped_rate(tube.delete_rate);
    case TubeColumn::paused:
      return tube.paused_s == 0 ? "-" : format_span(tube.paused_s);
    case TubeColumn::name:
      return safe_word(tube.name);
    case TubeColumn::oldest:
    case TubeColumn::wait:
    case TubeColumn::work:
      break;  // top does not ask for times.
  }
  return {};
}

// Returns the column that a mark refers to.
TubeColumn column_of(Mark mark) {
  switch (mark) {
    case Mark::no_worker:
    case Mark::growing:
      return TubeColumn::ready;
    case Mark::buried:
      return TubeColumn::buried;
    case Mark::paused:
      return TubeColumn::paused;
  }
  return TubeColumn::name;
}

Tone tone_of(TubeColumn column, const std::vector<Mark>& marks) {
  for (const Mark mark : marks) {
    if (column_of(mark) == column) return row_of(mark).tone;
  }
  return Tone::plain;
}

std::string right_aligned(std::string_view text, std::size_t columns) {
  std::string cell(columns - std::min(columns, text.size()), ' ');
  return cell.append(text);
}

std::string left_aligned(std::string text, std::size_t columns) {
  if (text.size() < columns) text.resize(columns, ' ');
  return text;
}

void add_letters(ScreenLine& line, const std::vector<Mark>& marks) {
  line.add(" ");
  for (const MarkRow& row : kMarks) {
    const bool has_it = std::find(marks.begin(), marks.end(), row.mark) != marks.end();
    line.add(has_it ? std::string(1, row.letter) : " ", has_it ? row.tone : Tone::plain);
  }
}

void add_words(ScreenLine& line, const std::vector<Mark>& marks) {
  std::string_view gap = " ";
  for (const Mark mark : marks) {
    line.add(gap);
    line.add(row_of(mark).word, row_of(mark).tone);
    gap = ", ";
  }
}

constexpr std::size_t kMarkColumns = 1 + kMarksTitle.size();

// Returns the largest width of the names: half of the screen, or less if the numbers up to put/s
// then fit.
std::size_t name_columns_max(const std::vector<TubeColumn>& wanted, std::size_t columns) {
  constexpr std::size_t kNameColumnsMin = 20;  // A longer name may be cut to show another number.
  constexpr std::size_t kNameColumnsGood = 40;
  std::size_t others = kGutterColumns + kMarkColumns;
  for (const TubeColumn column : wanted) {
    others += columns_of(column);
    if (column == TubeColumn::put_rate) break;
  }
  const std::size_t half = std::max(kNameColumnsMin, columns / 2);
  return others + kNameColumnsGood <= columns ? std::min(half, columns - others) : half;
}

}  // namespace

TableLayout layout_of(const std::vector<TubeStats>& tubes, TubeColumn sort, std::size_t columns) {
  TableLayout layout;
  layout.columns = columns;
  std::vector<TubeColumn> wanted(std::begin(kByImportance), std::end(kByImportance));
  const auto first = std::find(wanted.begin(), wanted.end(), sort);
  if (first != wanted.end()) std::rotate(wanted.begin(), first, first + 1);
  const std::size_t longest = longest_name(tubes);
  layout.name_columns = std::min(longest, name_columns_max(wanted, columns));
  std::size_t used = kGutterColumns + layout.name_columns;
  const auto take = [&used, columns](std::size_t more) {
    if (used + more > columns) return false;
    used += more;
    return true;
  };
  layout.has_letters = take(kMarkColumns);

  for (const TubeColumn column : wanted) {
    if (!layout.has_letters || !take(columns_of(column))) break;
    layout.numbers.push_back(column);
  }
  std::sort(layout.numbers.begin(), layout.numbers.end());

  // The rest of the width goes to the name first, then to the marks in words.
  if (used >= columns) {
    layout.name_columns =
        std::min(layout.name_columns, columns - std::min(columns, used - layout.name_columns));
    return layout;
  }
  const std::size_t more = std::min(columns - used, longest - layout.name_columns);
  layout.name_columns += more;
  used += more;
  layout.has_words = layout.has_letters && layout.numbers.size() == std::size(kByImportance) &&
                     used - kMarkColumns + 1 + mark_words_columns() <= columns;
  if (layout.has_words) layout.has_letters = false;
  return layout;
}

ScreenLine table_header(const TableLayout& layout) {
  std::string text(kGutterColumns, ' ');
  text += left_aligned(std::string(kNameTitle), layout.name_columns);
  if (layout.has_letters) text += " " + std::string(kMarksTitle);
  for (const TubeColumn column : layout.numbers) {
    text += right_aligned(title_of(column), columns_of(column));
  }
  if (layout.has_words) text += " marks";
  ScreenLine line(text, Tone::title);
  line.fit(layout.columns);
  return line;
}

ScreenLine table_row(const TableLayout& layout, const TubeStats& tube,
                     const std::vector<Mark>& marks, bool is_selected) {
  const Tone tone = is_selected ? Tone::strong : Tone::plain;
  ScreenLine line(is_selected ? ">" : " ", tone);
  const std::string name = shortened(safe_word(tube.name), layout.name_columns);
  line.add(name, tone);
  line.add(std::string(layout.name_columns - std::min(layout.name_columns, name.size()), ' '));
  if (layout.has_letters) add_letters(line, marks);
  for (const TubeColumn column : layout.numbers) {
    const std::string text = cell(tube, column);
    line.add(std::string(columns_of(column) - std::min(columns_of(column), text.size()), ' '));
    line.add(text, tone_of(column, marks));
  }
  if (layout.has_words) add_words(line, marks);
  line.fit(layout.columns);
  return line;
}

std::vector<Mark> marks_of(const TubeStats& tube, const History& history) {
  const std::uint64_t own_watches = tube.name == "default" ? 1 : 0;
  std::vector<Mark> marks;
  if (tube.ready > 0 && tube.reserved == 0 && tube.watching && *tube.watching <= own_watches) {
    marks.push_back(Mark::no_worker);
  }
  if (tube.buried > 0) marks.push_back(Mark::buried);
  if (history.is_growing(tube.name)) marks.push_back(Mark::growing);
  if (tube.paused_s > 0) marks.push_back(Mark::paused);
  return marks;
}

std::size_t mark_words_columns() {
  std::size_t columns = 0;
  for (const MarkRow& row : kMarks) columns += (columns > 0 ? 2 : 0) + row.word.size();
  return columns;
}

}  // namespace haricot::tool
