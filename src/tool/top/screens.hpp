// The lines of the screens of `haricot top`. Each screen has a source of its own: the table of
// tubes, one tube, and the connections. top_screen.cpp chooses among them and draws the lines that
// they share; top_batch.cpp makes the output without a terminal.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tool/client/tube_stats.hpp"
#include "tool/top/screen_text.hpp"
#include "tool/top/terminal.hpp"
#include "tool/top/top_state.hpp"
#include "tool/top/top_view.hpp"

namespace haricot::tool {

// Returns the number of tubes on a screen.
std::size_t page_of(const ScreenSize& size);

// Returns exactly as many lines as the screen has rows, each of the screen's width.
std::vector<ScreenLine> draw_top(const TopState& state, const TopView& view, const ScreenSize& size,
                                 const ScreenStyle& style);

// Number of lines about the server as a whole, above the table.
inline constexpr std::size_t kHeadLines = 5;

// Returns kHeadLines lines of the screen's width. A line leaves out whole phrases that do not fit;
// alarms come first, so they are left out last.
std::vector<ScreenLine> draw_head(const TopState& state, std::size_t columns);

// Returns a line of phrases with commas between them. Leaves out a phrase that does not fit, except
// the first, which is cut.
ScreenLine line_of(const std::vector<ScreenLine::Piece>& phrases, std::size_t columns);

// table_screen.cpp: the table of tubes.

// Conditions of a tube that need attention, in the order of kMarks.
enum class Mark : std::uint8_t { no_worker, buried, growing, paused };

struct MarkRow {
  Mark mark;
  char letter;
  std::string_view word;
  Tone tone;
};

inline constexpr std::array<MarkRow, 4> kMarks = {{
    {Mark::no_worker, 'N', "no worker", Tone::alarm},
    {Mark::buried, 'B', "buried", Tone::alarm},
    {Mark::growing, 'G', "growing", Tone::warning},
    {Mark::paused, 'P', "paused", Tone::warning},
}};

constexpr const MarkRow& row_of(Mark mark) {
  return kMarks[static_cast<std::size_t>(mark)];
}

// Returns the marks in the order of kMarks. no_worker: the tube has ready jobs, none of its jobs is
// reserved, and no other client watches it. Every connection watches `default` at first, and so
// does this one.
std::vector<Mark> marks_of(const TubeStats& tube, const History& history);

// Returns the width of all words of kMarks with commas between them.
std::size_t mark_words_columns();

// The columns of the table that fit. The name comes first. As the screen gets narrower, numbers are
// left out, the least important first; the name is cut last.
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

// tube_screen.cpp: states, rates and next jobs of one tube, and a chart of its backlog.

// Returns the number of jobs of each state to ask for.
std::size_t jobs_wanted(const ScreenSize& size);

// Returns at most as many lines as the screen has rows. Lines may have any width.
std::vector<ScreenLine> draw_tube(const TopState& state, const std::string& tube,
                                  const ScreenLine& status, const ScreenSize& size,
                                  const ScreenStyle& style);

// Returns how many numbers a chart shows in `columns` columns.
std::size_t chart_points(std::size_t columns, bool utf8);

// Draws the last numbers as bars, the newest on the right. The largest number shown reaches the
// top, and each number above zero is visible. With UTF-8 a braille character shows two numbers in
// four steps a row; without it a column shows one number in two steps a row. Returns `rows` lines
// of `columns` columns.
std::vector<std::string> draw_chart(std::span<const std::uint32_t> numbers, std::size_t columns,
                                    std::size_t rows, bool utf8);

// client_screen.cpp: the connections of a server.

// Applies a key that sorts or scrolls. `clients` is the number of connections, `page` the number of
// rows of a page.
void apply(Key key, std::size_t clients, std::size_t page, ClientView& view);

// Returns the number of connections and their order, for the status line.
ScreenLine::Piece order_of(const SeenClients& seen, const ClientView& view);

// Returns a line of titles and at most `rows` lines below it. Sorts numbers from the largest down,
// words from A to Z, ids from the smallest up, and equal ones by id. On a narrow screen omits the
// columns on the right. Costs one visit of each connection, and a sort down to the last row.
std::vector<ScreenLine> draw_clients(const SeenClients& seen, const ClientView& view,
                                     std::size_t rows, std::size_t columns);

// top_batch.cpp: output without a terminal. Scripts read it, so its form must not change.

// Returns the lines above the table.
std::vector<std::string> batch_summary(const TopState& state);

std::string batch_text(const TopState& state, const TopView& view);
// Returns the text for several servers. The first state is their sum. Leaves out servers with
// trouble.
std::string batch_text_of_several(std::span<const TopState> states, const TopView& view);
// Returns {"sum":{"rates":…,"server":…,"tubes":…},"servers":[{"address":…,…},…]} and a line end,
// also for one server. Leaves out servers with trouble.
std::string batch_json(std::span<const TopState> servers, const TopView& view);

}  // namespace haricot::tool
