// What of a tube wants an eye.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tool/client/tube_stats.hpp"
#include "tool/top/history.hpp"
#include "tool/top/screen_line.hpp"

namespace haricot::tool {

// In the order of kMarks.
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

// In the order of kMarks. `no_worker`: it has ready jobs, no worker holds one of its jobs, and no
// client but this one watches it. Every connection watches `default` from its beginning.
std::vector<Mark> marks_of(const TubeStats& tube, const History& history);

// All words of kMarks with a comma between them.
std::size_t mark_words_columns();

}  // namespace haricot::tool
