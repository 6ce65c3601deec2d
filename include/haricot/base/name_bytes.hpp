// Of what bytes the name of a tube may be, and the key of a tag.

#pragma once

#include <string_view>

namespace haricot {

// Whether all bytes are of A-Z a-z 0-9 - + / ; . $ _ ( ). True of no bytes at all.
bool has_only_name_bytes(std::string_view text);

}  // namespace haricot
