// What the person in front of `haricot top` has chosen, and what keys do to it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tool/client/tube_stats.hpp"
#include "tool/top/acts.hpp"
#include "tool/top/client_screen.hpp"
#include "tool/top/key_reader.hpp"
#include "tool/top/top_state.hpp"

namespace haricot::tool {

struct TopView {
  static constexpr std::uint64_t kIntervalMsMin = 100;
  static constexpr std::uint64_t kIntervalMsMax = 3'600'000;

  TubeColumn sort = TubeColumn::ready;
  bool reversed = false;
  bool hides_idle = false;
  bool shows_help = false;
  bool allows_changes = false;
  std::uint64_t interval_ms = 1000;
  // Of several servers: 0 is their sum, and 1 to `servers` is one of them. Of one server: 0.
  std::size_t server = 0;
  std::size_t servers = 1;

  // The line of the table that is selected belongs to this tube, wherever the tube goes. Empty: it
  // is the first line, whatever tube stands there, until a key is about this tube.
  std::string selected;
  std::size_t selected_row = 0;
  std::size_t first_row = 0;

  std::string filter;  // Tubes that match it are shown; empty: all.
  bool types_filter = false;
  std::string tube;    // Its screen is shown; empty: the table.
  ClientView clients;  // If it is shown, then in the place of the table or of a tube.
  std::optional<Question> question;
  std::string message;  // What came of an act, until a key is typed.
  bool message_is_bad = false;
};

// The tubes that the view shows, in its order. A filter with one of *?[ is a shell pattern for the
// whole name, another one a part of the name.
std::vector<TubeStats> tubes_in_view(const TopState& state, const TopView& view);

// Finds the selected tube again, and scrolls until its line is on a page of so many rows. If the
// tube has gone, the tube in its place is selected.
void settle(const std::vector<TubeStats>& tubes, std::size_t page, TopView& view);

// What the program is to do, because of a key, beyond showing the view.
struct Wish {
  bool quits = false;
  bool asks = false;     // The server, now.
  bool redraws = false;  // All of the screen.
  std::optional<Act> act;
};

// Changes the view. A page has so many rows.
Wish apply(const Keystroke& stroke, const TopState& state, std::size_t page, TopView& view);

}  // namespace haricot::tool
