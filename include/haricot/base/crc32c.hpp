// CRC32C (Castagnoli), as in iSCSI and ext4. Uses the CPU's instruction if there is one, which is
// detected when the program starts.

#pragma once

#include <cstdint>
#include <string_view>

namespace haricot {

// Returns the CRC of bytes that follow others, whose CRC is passed; 0 for the first bytes.
std::uint32_t crc32c(std::uint32_t before, std::string_view bytes);
// Returns the CRC of eight bytes, which are a number in little-endian order, and of the bytes after
// them: half the cost for a sum of two short pieces.
std::uint32_t crc32c(std::uint32_t before, std::uint64_t number, std::string_view bytes);

// Inverse: returns the CRC before those bytes, given the CRC `after` them.
std::uint32_t crc32c_before(std::uint32_t after, std::string_view bytes);

// Returns the CRC of bytes and of other bytes after them, given both CRCs; that of the other bytes
// begins with 0. `bytes_after` is the number of the other bytes; the time grows with its logarithm.
std::uint32_t crc32c_joined(std::uint32_t before, std::uint32_t after, std::uint64_t bytes_after);

// Portable crc32c(), for the test that compares the two.
std::uint32_t crc32c_portable(std::uint32_t before, std::string_view bytes);
std::uint32_t crc32c_portable(std::uint32_t before, std::uint64_t number, std::string_view bytes);

}  // namespace haricot
