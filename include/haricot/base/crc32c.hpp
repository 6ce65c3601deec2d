// CRC32C (Castagnoli), as in iSCSI and ext4. Uses the CPU's instruction if it has one; that is
// detected when the program starts.

#pragma once

#include <cstdint>
#include <string_view>

namespace haricot {

// Returns the CRC of A followed by `bytes`, where `before` is the CRC of A; 0 if A is empty.
std::uint32_t crc32c(std::uint32_t before, std::string_view bytes);
// Returns the CRC of A, the eight bytes of `number` in little-endian order, and `bytes`. Costs half
// as much as two calls if `bytes` is short.
std::uint32_t crc32c(std::uint32_t before, std::uint64_t number, std::string_view bytes);

// Inverse of crc32c(): returns the CRC of A, where `after` is the CRC of A followed by `bytes`.
std::uint32_t crc32c_before(std::uint32_t after, std::string_view bytes);

// Returns the CRC of A followed by B, where `before` is the CRC of A, and `after` and `bytes_after`
// are the CRC and the length of B. O(log bytes_after).
std::uint32_t crc32c_joined(std::uint32_t before, std::uint32_t after, std::uint64_t bytes_after);

// Portable version of crc32c(), for the test that compares the two.
std::uint32_t crc32c_portable(std::uint32_t before, std::string_view bytes);
std::uint32_t crc32c_portable(std::uint32_t before, std::uint64_t number, std::string_view bytes);

}  // namespace haricot
