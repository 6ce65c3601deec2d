// The steps of a day in which every command of the protocol is used, in every way that asks for
// memory or the disk in its own stream.

#pragma once

#include <vector>

#include "step.hpp"

namespace haricot::faults {

std::vector<Step> every_command();

}  // namespace haricot::faults
