// Sums of the statistics of several servers.

#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tool/client/sample.hpp"
#include "tool/client/stats_text.hpp"
#include "tool/client/tube_stats.hpp"

namespace haricot::tool {

// Returns true if values of this key can be added: numbers of jobs, commands or connections.
bool is_summable(std::string_view key);

// Adds up the summable keys, in the order of their first occurrence. A key that some servers lack
// is the sum over the others.
StatsText sum_of(std::span<const StatsText> servers);

// Returns each tube that at least one server has. A rate is known if it is known at all servers
// that have the tube. Pause and times are the longest ones.
std::vector<TubeStats> sum_of_tubes(std::span<const Sample> servers);

}  // namespace haricot::tool
