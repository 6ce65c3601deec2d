// Bytes of tube names and of keys of tags.

#pragma once

#include <cstddef>
#include <string_view>

namespace haricot {

// Returns true if all bytes are of A-Z a-z 0-9 - + / ; . $ _ ( ); also for an empty text.
bool has_only_name_bytes(std::string_view text);

inline constexpr std::size_t kTubeNameBytesMax = 200;
// Returns true for 1 to kTubeNameBytesMax of these bytes, not starting with a hyphen.
bool is_tube_name(std::string_view name);

}  // namespace haricot
