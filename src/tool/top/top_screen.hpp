// The screen of `haricot top` as text: what stands in each line, and the bytes that bring a
// terminal from one screen to the next.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tool/client/sample.hpp"
#include "tool/top/top_view.hpp"

namespace haricot::tool {

struct ScreenSize {
  std::size_t rows = 24;
  std::size_t columns = 80;

  friend bool operator==(const ScreenSize&, const ScreenSize&) = default;
};

struct TopState {
  std::string address;
  Sample sample;  // With rates.
  ServerRates rates;
  std::string trouble;  // Why there is nothing newer; empty: all is well.
};

// The lines above the table.
std::vector<std::string> top_summary(const TopState& state);

// The tubes that the view shows, in its order.
std::vector<TubeStats> tubes_in_view(const TopState& state, const TopView& view);

// How many tubes a screen has room for.
std::size_t page_of(const ScreenSize& size);

struct ScreenLine {
  std::string text;  // Printable ASCII; filled up with blanks to the width of the screen.
  bool is_inverse = false;

  friend bool operator==(const ScreenLine&, const ScreenLine&) = default;
};

// As many lines as the screen has rows.
std::vector<ScreenLine> draw_top(const TopState& state, const TopView& view,
                                 const ScreenSize& size);

// All of it without a terminal: for --batch.
std::string batch_text(const TopState& state, const TopView& view);
// {"address":…,"rates":{…},"server":{…},"tubes":[…]} and a newline.
std::string batch_json(const TopState& state, const TopView& view);

// The bytes that turn one screen into the other: only lines that differ are written, so nothing
// flickers and a slow line has little to carry. With an empty `before` the screen is cleared first.
std::string repaint(const std::vector<ScreenLine>& before, const std::vector<ScreenLine>& now);

// 75 as "1:15", 90061 as "1d 1:01:01".
std::string format_uptime(std::uint64_t seconds);

}  // namespace haricot::tool
