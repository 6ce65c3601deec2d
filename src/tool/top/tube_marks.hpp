// Conditions of a tube that need attention.

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

// Returns the marks in the order of kMarks. no_worker: the tube has ready jobs, none of its jobs is
// reserved, and no other client watches it. Every connection watches `default` at first, and so
// does this one.
std::vector<Mark> marks_of(const TubeStats& tube, const History& history);

// Returns the width of all words of kMarks with commas between them.
std::size_t mark_words_columns();

}  // namespace haricot::tool
