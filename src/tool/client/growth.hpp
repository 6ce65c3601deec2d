// Whether a backlog grows, told from how many ready jobs a tube had at the last samples.

#pragma once

#include <cstdint>
#include <span>

namespace haricot::tool {

// Whether all of the newer half of the counts is above all of the older half, which has the middle
// one of an odd number. Fewer than four say nothing. `ready`: the oldest first.
bool is_growing(std::span<const std::uint32_t> ready);

}  // namespace haricot::tool
