// What may be the name of a tube.

#pragma once

#include <string_view>

#include "haricot/base/name_bytes.hpp"

namespace haricot {

// 1 to 200 bytes of A-Z a-z 0-9 - + / ; . $ _ ( ), not starting with a hyphen.
bool is_tube_name(std::string_view name);

}  // namespace haricot
