// Reads the numbers of tubes from what servers answer: stats-tube, and pages of stats-tubes.
//
// As StatsText, but no text is kept, and only the keys of TubeField are looked at.

#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "web/observe/tube_rows.hpp"

namespace haricot::web {

// Reads `key: value` lines into the row, all but the name. False: it is no such answer.
[[nodiscard]] bool read_tube(std::string_view answer, TubeRow& row);

// Hands the tubes of a page over; a row is valid during the call. `next` is the name that the next
// page begins with; empty: this was the last one. False: it is no page.
[[nodiscard]] bool read_tubes_page(std::string_view answer, std::string& next,
                                   const std::function<void(TubeRow& row)>& take);

}  // namespace haricot::web
