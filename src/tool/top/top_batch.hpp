// What `haricot top` writes without a terminal. Scripts read it, so it stays as it is.

#pragma once

#include <span>
#include <string>
#include <vector>

#include "tool/top/top_state.hpp"
#include "tool/top/top_view.hpp"

namespace haricot::tool {

// The lines above the table.
std::vector<std::string> batch_summary(const TopState& state);

std::string batch_text(const TopState& state, const TopView& view);
// The same for several servers: the first state is their sum. A server with trouble is left out.
std::string batch_text_of_several(std::span<const TopState> states, const TopView& view);
// {"sum":{"rates":…,"server":…,"tubes":…},"servers":[{"address":…,…},…]} and a newline, also for
// one server. One with trouble is left out.
std::string batch_json(std::span<const TopState> servers, const TopView& view);

}  // namespace haricot::tool
