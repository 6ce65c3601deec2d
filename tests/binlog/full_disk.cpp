#include "full_disk.hpp"

#include <gtest/gtest.h>

namespace haricot::binlog {

std::vector<JobId> fill(World& world, std::size_t body_bytes) {
  std::vector<JobId> ids;
  Outcome outcome = Outcome::done;
  while (outcome == Outcome::done && ids.size() < 10000) {
    const JobId id = world.engine.next_id();
    outcome = world.try_put({.body_bytes = body_bytes});
    if (outcome == Outcome::done) ids.push_back(id);
    world.end_turn();
  }
  EXPECT_EQ(outcome, Outcome::out_of_memory);
  EXPECT_FALSE(world.binlog.numbers().refusing);
  return ids;
}

std::size_t fill_mixed(World& world, test::Random& random, std::size_t body_bytes_max) {
  for (int refused = 0, puts = 0; refused < 20 && puts < 10000; ++puts) {
    const std::size_t body_bytes = random.below(body_bytes_max + 1);
    refused += world.try_put({.body_bytes = body_bytes}) != Outcome::done;
    if (random.one_in(4)) world.end_turn();
  }
  world.end_turn();
  return world.engine.jobs().size();
}

}  // namespace haricot::binlog
