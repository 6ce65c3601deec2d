// Puts with tags, for tests.

#pragma once

#include <cstdint>
#include <string_view>

#include "support/engine_world.hpp"

namespace haricot::test {

class EngineTags : public EngineTest {
 protected:
  JobId put(std::string_view tags, std::uint32_t delay_s = 0) {
    const JobId id = world.put(producer, {.delay_s = delay_s, .tags = tags});
    engine.check_invariants();
    return id;
  }

  Client& producer = world.connect();
};

}  // namespace haricot::test
