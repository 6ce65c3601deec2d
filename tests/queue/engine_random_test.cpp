#include <gtest/gtest.h>

#include <array>
#include <string>

#include "queue/engine_pair.hpp"
#include "support/random.hpp"

namespace haricot {
namespace {

using test::EnginePair;
using test::Random;

TEST(Engine, MatchesTheModel) {
  Random random;
  for (int round = 0; round < 12; ++round) {
    // With few jobs clients wait for them; with many there is always one.
    static constexpr std::array<std::size_t, 3> kJobsMax{4, 12, 40};
    EnginePair pair(random, kJobsMax[random.below(kJobsMax.size())], round % 2 == 0);
    for (int step = 0; step < 2000; ++step) {
      SCOPED_TRACE("round " + std::to_string(round) + ", step " + std::to_string(step));
      pair.step();
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace haricot
