// Fuzz target for libFuzzer: any bytes as the state that a server has left to the next one.
//
//   scripts/fuzz state 30

#include <cstddef>
#include <cstdint>

#include "state_play.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  haricot::fuzz::check_state({reinterpret_cast<const char*>(data), size});
  return 0;
}
