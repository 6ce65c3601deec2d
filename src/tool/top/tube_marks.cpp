#include "tool/top/tube_marks.hpp"

namespace haricot::tool {

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
