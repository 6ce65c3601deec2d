// What the person in front of `haricot top` has chosen, and the keys that change it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tool/client/tube_stats.hpp"

namespace haricot::tool {

enum class Key : std::uint8_t {
  quit,
  help,
  refresh,
  redraw,
  next_column,
  previous_column,
  by_name,
  reverse,
  idle,
  faster,
  slower,
  up,
  down,
  page_up,
  page_down,
  first,
  last
};

// Makes keys of the bytes of a terminal. An escape sequence may come in pieces; what means nothing
// is dropped, and never taken for the keys that its bytes would be.
class KeyReader {
 public:
  std::vector<Key> read(std::string_view bytes);

 private:
  enum class State : std::uint8_t { plain, escape, sequence };

  State state_ = State::plain;
  std::string sequence_;
};

struct TopView {
  static constexpr std::uint64_t kIntervalMsMin = 100;
  static constexpr std::uint64_t kIntervalMsMax = 3'600'000;

  TubeColumn sort = TubeColumn::ready;
  bool reversed = false;
  bool hides_idle = false;
  bool shows_help = false;
  std::size_t first_row = 0;
  std::uint64_t interval_ms = 1000;
};

// Changes the view. `rows` tubes there are, of which a page shows `page`. Keys that are not about
// the view (quit, refresh, redraw) do nothing here, but that any key closes the help.
void apply(Key key, std::size_t rows, std::size_t page, TopView& view);

}  // namespace haricot::tool
