// Bytes of tube names and of keys of tags.

#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace haricot {

// Indexed by a byte: true for A-Z a-z 0-9 - + / ; . $ _ ( ).
inline constexpr auto kNameBytes = [] {
  std::array<bool, 256> allowed{};
  for (const char c : std::string_view(
           "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-+/;.$_()")) {
    allowed[static_cast<unsigned char>(c)] = true;
  }
  return allowed;
}();

// Returns true if all bytes are in kNameBytes; also for an empty text. Checking all bytes is faster
// than stopping at the first wrong one, because few are wrong. The loop is unrolled, because most
// texts have more than a few bytes.
inline bool has_only_name_bytes(std::string_view text) {
  bool are_allowed = true;
#pragma GCC unroll 8
  for (const char c : text) are_allowed &= kNameBytes[static_cast<unsigned char>(c)];
  return are_allowed;
}

inline constexpr std::size_t kTubeNameBytesMax = 200;
// Returns true for 1 to kTubeNameBytesMax of these bytes, not starting with a hyphen.
inline bool is_tube_name(std::string_view name) {
  if (name.empty() || name.size() > kTubeNameBytesMax || name.front() == '-') return false;
  return has_only_name_bytes(name);
}

}  // namespace haricot
