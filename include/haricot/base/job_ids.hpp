// Bound of job ids.

#pragma once

#include <cstdint>

namespace haricot {

// The last id that is accepted from a file or from another process: far enough from the end that no
// server reaches it.
inline constexpr std::uint64_t kJobIdLast = ~std::uint64_t{0} - (std::uint64_t{1} << 40);

}  // namespace haricot
