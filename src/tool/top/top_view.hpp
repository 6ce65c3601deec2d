// The choices of the user of `haricot top`, and the keys that change them.

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
  // With several servers, 0 is their sum and 1 to `servers` are the servers; otherwise 0.
  std::size_t server = 0;
  std::size_t servers = 1;

  // The selected tube; the selection follows it. Empty while the first line is selected, whatever
  // tube it shows. A key that concerns a tube sets it.
  std::string selected;
  std::size_t selected_row = 0;
  std::size_t first_row = 0;

  std::string filter;  // Only matching tubes are shown; empty to show all.
  bool types_filter = false;
  std::string tube;    // The tube whose screen is shown; empty for the table.
  ClientView clients;  // Replaces the table or the screen of a tube if shown.
  std::optional<Question> question;
  std::string message;  // Result of an act, until a key is typed.
  bool message_is_bad = false;
};

// Returns the tubes that the view shows, in its order. A filter that contains one of *?[ is a shell
// pattern for the whole name; any other filter is a part of the name.
std::vector<TubeStats> tubes_in_view(const TopState& state, const TopView& view);

// Finds the row of the selected tube, and scrolls until it is on a page of `page` rows. If the tube
// is gone, selects the tube in its row.
void settle(const std::vector<TubeStats>& tubes, std::size_t page, TopView& view);

// Requests to the program that result from a key, besides redrawing the view.
struct Wish {
  bool quits = false;
  bool asks = false;     // Ask the server now.
  bool redraws = false;  // Draw the whole screen.
  std::optional<Act> act;
};

// Applies a key to the view. `page` is the number of rows of a page.
Wish apply(const Keystroke& stroke, const TopState& state, std::size_t page, TopView& view);

}  // namespace haricot::tool
