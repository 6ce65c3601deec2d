// How far the ids of jobs go.

#pragma once

#include <cstdint>

namespace haricot {

// The last id that is taken from a file or from another process: far enough from the end that no
// server gets there.
inline constexpr std::uint64_t kJobIdLast = ~std::uint64_t{0} - (std::uint64_t{1} << 40);

}  // namespace haricot
