// In which order the held jobs of a server have to be put again, so that each is held again.

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace haricot::tool {

struct HeldJob {
  std::string group;  // The one that it is in; empty: none.
  std::string after;  // The one that it waits for.
};

// Their indices, each once: a job comes after those of the group that it waits for, and otherwise
// in the given order. Of jobs that wait for each other the first one comes first.
std::vector<std::size_t> held_order(std::span<const HeldJob> jobs);

}  // namespace haricot::tool
