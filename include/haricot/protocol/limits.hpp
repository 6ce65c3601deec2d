// Sizes that the protocol fixes.

#pragma once

#include <cstddef>
#include <cstdint>

namespace haricot {

inline constexpr std::size_t kLineBytesMax = 224;  // A command line with its CR LF.
// A line of delete-batch with its CR LF.
inline constexpr std::size_t kBatchLineBytesMax = 24 * 1024;
inline constexpr std::size_t kTrailerBytes = 2;  // The CR LF after a body.
inline constexpr std::uint32_t kJobBytesMaxDefault = 65535;
inline constexpr std::uint32_t kJobBytesMaxLimit = 1U << 30;  // Maximum of -z.
inline constexpr std::uint32_t kReserveTimeoutSecondsMax = 2147483647;

}  // namespace haricot
