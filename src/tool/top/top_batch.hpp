// Output of `haricot top` without a terminal. Scripts read it, so its form must not change.

#pragma once

#include <span>
#include <string>
#include <vector>

#include "tool/top/top_state.hpp"
#include "tool/top/top_view.hpp"

namespace haricot::tool {

// Returns the lines above the table.
std::vector<std::string> batch_summary(const TopState& state);

std::string batch_text(const TopState& state, const TopView& view);
// Returns the text for several servers. The first state is their sum. Leaves out servers with
// trouble.
std::string batch_text_of_several(std::span<const TopState> states, const TopView& view);
// Returns {"sum":{"rates":…,"server":…,"tubes":…},"servers":[{"address":…,…},…]} and a line end,
// also for one server. Leaves out servers with trouble.
std::string batch_json(std::span<const TopState> servers, const TopView& view);

}  // namespace haricot::tool
