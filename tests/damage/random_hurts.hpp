// Damage by chance: one folder, and one to five hurts of any kind.

#pragma once

#include <cstdint>

#include "hurt_folder.hpp"

namespace haricot::damage {

// The same for the same seed.
HurtFolder hurt_at_random(std::uint64_t seed);

}  // namespace haricot::damage
