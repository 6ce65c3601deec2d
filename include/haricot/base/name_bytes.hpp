// What may be the name of a tube, and of what bytes it and the key of a tag are.

#pragma once

#include <cstddef>
#include <string_view>

namespace haricot {

// Whether all bytes are of A-Z a-z 0-9 - + / ; . $ _ ( ). True of no bytes at all.
bool has_only_name_bytes(std::string_view text);

inline constexpr std::size_t kTubeNameBytesMax = 200;
// 1 to kTubeNameBytesMax of these bytes, not starting with a hyphen.
bool is_tube_name(std::string_view name);

}  // namespace haricot
