// Little-endian integers at any address, on any machine.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace haricot {

// A copy of a known size is one instruction. Only big-endian machines take the loops, which
// compilers do not always recognize.

template <typename Integer>
void store_little_endian(char* to, Integer value) {
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(to, &value, sizeof value);
  } else {
    for (std::size_t i = 0; i < sizeof value; ++i) {
      to[i] = static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
    }
  }
}

template <typename Integer>
Integer load_little_endian(const char* from) {
  if constexpr (std::endian::native == std::endian::little) {
    Integer value;
    std::memcpy(&value, from, sizeof value);
    return value;
  } else {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Integer); ++i) {
      value |= std::uint64_t{static_cast<unsigned char>(from[i])} << (8 * i);
    }
    return static_cast<Integer>(value);
  }
}

}  // namespace haricot
