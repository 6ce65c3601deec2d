// The statistics of several servers, added up.

#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tool/client/sample.hpp"
#include "tool/client/stats_text.hpp"
#include "tool/client/tube_stats.hpp"

namespace haricot::tool {

// Whether the sum of such values of several servers means something: numbers of jobs, of commands,
// of connections.
bool is_summable(std::string_view key);

// The summable keys of all of them, in the order in which they first come. A key that only some
// servers have is the sum of those.
StatsText sum_of(std::span<const StatsText> servers);

// Each tube that one of the servers has, once. Its rates are known if they are at all servers that
// have the tube; it is paused as long as the longest of their pauses, and its times are
// the longest.
std::vector<TubeStats> sum_of_tubes(std::span<const Sample> servers);

}  // namespace haricot::tool
