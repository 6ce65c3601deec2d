// Fuzz target for libFuzzer: any bytes as input of a peer of `haricot web`.
//
//   scripts/fuzz request 30

#include <cstddef>
#include <cstdint>

#include "request_play.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)haricot::fuzz::check_requests({reinterpret_cast<const char*>(data), size});
  return 0;
}
