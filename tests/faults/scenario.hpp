// Steps with every command of the protocol, in every way that needs memory or the disk differently.

#pragma once

#include <vector>

#include "step.hpp"

namespace haricot::faults {

std::vector<Step> every_command();

}  // namespace haricot::faults
