// The next jobs of a tube. Servers that cannot list jobs show only the first one of each state.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tool/client/remote.hpp"
#include "tool/client/stats_text.hpp"

namespace haricot::tool {

// Commands of the server that beanstalkd does not have.
struct Abilities {
  bool lists_jobs = false;
  bool lists_clients = false;
  bool flushes = false;
};

// Returns the abilities of the server, none if it does not know the command `capabilities`. Returns
// nothing if the server failed; server.failure() has the reason.
std::optional<Abilities> ask_abilities(Remote& server);

// States that every client can see, in the order on screen.
inline constexpr std::array<std::string_view, 3> kSeenStates = {"ready", "delayed", "buried"};

struct NextJobs {
  std::string tube;  // Empty if nothing was asked.
  // Jobs of each of kSeenStates in the order of service, with the keys of stats-job and `bytes`.
  std::array<std::vector<StatsText>, kSeenStates.size()> jobs;
  bool is_first_only = false;  // The server showed only the first job of each state.
};

// Asks for at most `count` jobs of each state. Leaves the connection using the tube `default`.
// Returns false if the server failed; server.failure() has the reason. Requires: the tube existed
// just before.
[[nodiscard]] bool ask_next_jobs(Remote& server, const Abilities& abilities,
                                 const std::string& tube, std::size_t count, NextJobs& found);

}  // namespace haricot::tool
