// What may be the name of a tube.

#pragma once

#include <string_view>

namespace haricot {

// 1 to 200 bytes of A-Z a-z 0-9 - + / ; . $ _ ( ), not starting with a hyphen.
bool is_tube_name(std::string_view name);

// Whether all bytes are ones that a name may have. True of no bytes at all.
bool has_only_name_bytes(std::string_view text);

}  // namespace haricot
