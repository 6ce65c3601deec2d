// Reads the numbers of tubes from answers of servers: stats-tube, and pages of stats-tubes.
//
// Unlike StatsText it stores no text, and reads only the keys of TubeField.

#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "web/observe/tube_rows.hpp"

namespace haricot::web {

// Reads `key: value` lines into the row, except its name. Returns false if the text is no such
// answer.
[[nodiscard]] bool read_tube(std::string_view answer, TubeRow& row);

// Passes the tubes of a page to `take`; a row is valid during the call. Sets `next` to the first
// name of the next page, or to an empty text after the last page. Returns false if the text is no
// page.
[[nodiscard]] bool read_tubes_page(std::string_view answer, std::string& next,
                                   const std::function<void(TubeRow& row)>& take);

}  // namespace haricot::web
