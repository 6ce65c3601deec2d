// Random damage: a random folder with one to five damages of any kind.

#pragma once

#include <cstdint>

#include "hurt_folder.hpp"

namespace haricot::damage {

// Returns a damaged folder, which depends only on the seed.
HurtFolder hurt_at_random(std::uint64_t seed);

}  // namespace haricot::damage
