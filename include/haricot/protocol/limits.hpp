// The sizes that the protocol fixes.

#pragma once

#include <cstddef>
#include <cstdint>

namespace haricot {

inline constexpr std::size_t kLineBytesMax = 224;             // A command line, its CR LF included.
inline constexpr std::size_t kBatchLineBytesMax = 24 * 1024;  // The same, of delete-batch alone.
inline constexpr std::size_t kTrailerBytes = 2;               // The CR LF after a body.
inline constexpr std::uint32_t kJobBytesMaxDefault = 65535;
inline constexpr std::uint32_t kJobBytesMaxLimit = 1U << 30;  // What -z can be set to.
inline constexpr std::uint32_t kReserveTimeoutSecondsMax = 2147483647;

}  // namespace haricot
