// CRC32C (Castagnoli), as iSCSI, ext4 and others use it. With the CPU's instruction where there is
// one, found when the program starts.

#pragma once

#include <cstdint>
#include <string_view>

namespace haricot {

// The CRC of bytes that follow others: pass their CRC. 0 for the first ones.
std::uint32_t crc32c(std::uint32_t before, std::string_view bytes);

// The same in portable code, for the test that compares the two.
std::uint32_t crc32c_portable(std::uint32_t before, std::string_view bytes);

}  // namespace haricot
