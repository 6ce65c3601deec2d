// The current turn of the event loop, shared by all parts of the service.

#pragma once

#include <cstdint>

#include "haricot/base/time.hpp"

namespace haricot {

struct Turn {
  std::uint32_t number = 0;  // Compared with the number that a session remembers. Wraps around.
  Instant began;

  void begin(Instant now) {
    ++number;
    began = now;
  }
};

}  // namespace haricot
