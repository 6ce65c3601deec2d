// The next jobs of a tube, from a server that can list them or only show the first of each state.

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

// Which commands beyond those of beanstalkd the server has.
struct Abilities {
  bool lists_jobs = false;
  bool lists_clients = false;
  bool flushes = false;
};

// Nothing: server.failure() says why. A server that does not know the question has none.
std::optional<Abilities> ask_abilities(Remote& server);

// The states in which anybody can see a job, in the order in which they are shown.
inline constexpr std::array<std::string_view, 3> kSeenStates = {"ready", "delayed", "buried"};

struct NextJobs {
  std::string tube;  // Empty: nothing was asked.
  // Of each of kSeenStates, in the order of service, each with the keys of stats-job and `bytes`.
  std::array<std::vector<StatsText>, kSeenStates.size()> jobs;
  bool is_first_only = false;  // The server could only be asked for the first job of each state.
};

// At most so many jobs of each state. Requires: the tube has just been there. Leaves the connection
// with the tube `default` in use. False: server.failure() says why.
[[nodiscard]] bool ask_next_jobs(Remote& server, const Abilities& abilities,
                                 const std::string& tube, std::size_t count, NextJobs& found);

}  // namespace haricot::tool
