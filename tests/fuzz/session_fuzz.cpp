// Fuzz target for libFuzzer: any bytes as actions of a few clients of a server.
//
//   scripts/fuzz session 30

#include <cstddef>
#include <cstdint>

#include "session_play.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using haricot::fuzz::check_session;
  using haricot::fuzz::session_input_from;
  check_session(session_input_from({reinterpret_cast<const char*>(data), size}));
  return 0;
}
