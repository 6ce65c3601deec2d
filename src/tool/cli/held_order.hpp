// The order in which held jobs (`--after`) have to be put again, so that each is held again.

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace haricot::tool {

struct HeldJob {
  std::string group;  // Group of the job; empty if it has none.
  std::string after;  // Group that the job waits for.
};

// Returns the indices of the jobs, each once. A job comes after the members of the group that it
// waits for; otherwise the given order is kept. If jobs wait for each other, the first of them in
// the given order comes first.
std::vector<std::size_t> held_order(std::span<const HeldJob> jobs);

}  // namespace haricot::tool
