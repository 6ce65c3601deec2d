// Effects of time on both servers at once: delays, TTRs, the last second of a TTR, pauses and
// timeouts, all of one second and ending together.

#pragma once

#include <cstddef>
#include <string>

#include "twin_servers.hpp"

namespace haricot::test {

constexpr std::size_t kSceneConnections = 9;

// Plays the scene on kSceneConnections connections from `first` on, which it opens and closes, in
// tubes whose names begin with `name`. Returns false if the machine was so slow that deadlines have
// passed too early: then the two servers may differ.
bool play_timed_scene(TwinServers& servers, std::size_t first, const std::string& name);

}  // namespace haricot::test
