// Little-endian integers at any address, whatever the machine's own order. Compilers make one
// instruction of these loops where it is the same.

#pragma once

#include <cstddef>
#include <cstdint>

namespace haricot {

template <typename Integer>
void store_little_endian(char* to, Integer value) {
  for (std::size_t i = 0; i < sizeof value; ++i) {
    to[i] = static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
  }
}

template <typename Integer>
Integer load_little_endian(const char* from) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(from[i])} << (8 * i);
  }
  return static_cast<Integer>(value);
}

}  // namespace haricot
