// Fuzz target for libFuzzer: any bytes as a folder of binlog files.
//
//   scripts/fuzz replay 30

#include <cstddef>
#include <cstdint>

#include "replay_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using haricot::binlog::check_replay;
  using haricot::binlog::input_from;
  check_replay(input_from({reinterpret_cast<const char*>(data), size}));
  return 0;
}
