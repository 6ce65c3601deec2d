// CRC32C (Castagnoli), as iSCSI, ext4 and others use it. With the CPU's instruction where there is
// one, found when the program starts.

#pragma once

#include <cstdint>
#include <string_view>

namespace haricot {

// The CRC of bytes that follow others: pass their CRC. 0 for the first ones.
std::uint32_t crc32c(std::uint32_t before, std::string_view bytes);
// The same of eight bytes, which are a number in little-endian order, and of the bytes after it. A
// sum of two short pieces costs half as much that way.
std::uint32_t crc32c(std::uint32_t before, std::uint64_t number, std::string_view bytes);

// The way back: the CRC before those bytes, where `after` is the CRC with them.
std::uint32_t crc32c_before(std::uint32_t after, std::string_view bytes);

// The CRC of bytes and of others after them, where only the CRC of each is known: of the others it
// has to be the one that begins with 0. `bytes_after` is how many these are; the time grows with
// its logarithm.
std::uint32_t crc32c_joined(std::uint32_t before, std::uint32_t after, std::uint64_t bytes_after);

// crc32c() in portable code, for the test that compares the two.
std::uint32_t crc32c_portable(std::uint32_t before, std::string_view bytes);
std::uint32_t crc32c_portable(std::uint32_t before, std::uint64_t number, std::string_view bytes);

}  // namespace haricot
