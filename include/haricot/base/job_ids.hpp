// Bound of job ids.

#pragma once

#include <cstdint>

namespace haricot {

// Greatest id that is accepted from a file or another process. No server takes the 2^40 ids above
// it, so ids never wrap around.
inline constexpr std::uint64_t kJobIdLast = ~std::uint64_t{0} - (std::uint64_t{1} << 40);

}  // namespace haricot
