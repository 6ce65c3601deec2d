// Detects a growing backlog from the ready jobs of a tube at the last samples.

#pragma once

#include <cstdint>
#include <span>

namespace haricot::tool {

// Returns true if every count of the newer half exceeds every count of the older half, which
// includes the middle of an odd number. Returns false for fewer than four counts. `ready` is
// ordered from oldest to newest.
bool is_growing(std::span<const std::uint32_t> ready);

}  // namespace haricot::tool
