// SHA-256 (FIPS 180-4).

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace haricot::web {

using Digest = std::array<std::uint8_t, 32>;

Digest sha256(std::string_view bytes);

// Compares in constant time.
bool is_same_digest(const Digest& a, const Digest& b);

std::string hex(const Digest& digest);

}  // namespace haricot::web
