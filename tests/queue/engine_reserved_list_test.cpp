// The search for the reserved jobs of a tube, and the time since their reserves.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <optional>
#include <vector>

#include "support/allocations.hpp"
#include "support/engine_world.hpp"

namespace haricot {
namespace {

using test::EngineTest;
using Ids = std::vector<JobId>;

class EngineReservedListTest : public EngineTest {
 protected:
  JobId reserve(Client& client, std::uint32_t ttr_s, std::string_view tube = "default") {
    EXPECT_EQ(engine.use(producer, tube), Outcome::done);
    const JobId id = world.put(producer, {.ttr_s = ttr_s});
    EXPECT_EQ(engine.reserve_job(client, id, world.now).outcome, Outcome::done);
    return id;
  }
  // Does one piece of the search.
  bool search(std::uint32_t count) {
    const std::uint64_t before = engine.steps();
    const bool is_done = engine.queries().search_reserved(asker, world.tube(), count);
    EXPECT_LE(engine.steps() - before, turn_limits::kStepsPerPiece + 3);
    return is_done;
  }
  Ids take() {
    std::vector<JobRef> refs;
    EXPECT_TRUE(engine.queries().take_reserved(asker, world.tube(), refs));
    Ids ids;
    for (const JobRef ref : refs) ids.push_back(world.id_of(ref));
    return ids;
  }
  Ids list(std::uint32_t count) {
    while (!search(count)) continue;
    return take();
  }
  std::uint64_t reserved_for(JobId id) {
    return engine.queries().report(id, world.now)->reserved_for_s;
  }

  Client& producer = world.connect();
  Client& worker = world.connect();
  Client& other = world.connect();
  Client& asker = world.connect();
};

TEST_F(EngineReservedListTest, JobsComeByTheEndsOfTheirTtrs) {
  EXPECT_EQ(list(10), Ids{});
  const JobId last = reserve(worker, 90);
  const JobId second = reserve(other, 20);
  const JobId first = reserve(worker, 10);
  const JobId third = reserve(other, 20);
  reserve(worker, 5, "tube");
  world.put(producer);
  EXPECT_EQ(list(10), (Ids{first, second, third, last}));
  EXPECT_EQ(list(2), (Ids{first, second}));
  EXPECT_EQ(engine.touch(worker, first, world.now + Duration::seconds(15)), Outcome::done);
  EXPECT_EQ(list(10), (Ids{second, third, first, last}));
}

TEST_F(EngineReservedListTest, ALongSearchTakesPieces) {
  Ids ids;
  for (std::uint32_t i = 0; i < 3000; ++i) {
    ids.push_back(reserve(i % 3 == 0 ? worker : other, 10'000 - i));
  }
  int pieces = 1;
  while (!search(1000)) ++pieces;
  EXPECT_GT(pieces, 3);
  std::reverse(ids.begin(), ids.end());
  ids.resize(1000);
  EXPECT_EQ(take(), ids);
}

TEST_F(EngineReservedListTest, AJobThatItsHolderHasLeftIsNotListed) {
  Ids ids;
  for (std::uint32_t i = 0; i < 1000; ++i) ids.push_back(reserve(worker, 1000 + i));
  ASSERT_FALSE(search(1000));
  EXPECT_EQ(engine.delete_job(worker, ids[990]), Outcome::done);
  EXPECT_EQ(engine.release(worker, ids[995], 1, 0, world.now), Outcome::done);
  EXPECT_EQ(engine.touch(worker, ids[999], world.now + Duration::seconds(1)), Outcome::done);
  while (!search(1000)) continue;
  const Ids found = take();
  EXPECT_EQ(std::count(found.begin(), found.end(), ids[990]), 0);
  EXPECT_EQ(std::count(found.begin(), found.end(), ids[995]), 0);
  EXPECT_EQ(found.back(), ids[999]);
  EXPECT_GE(found.size(), 997U);
  world.disconnect(worker);
  EXPECT_EQ(list(1000), Ids{});
}

TEST_F(EngineReservedListTest, ASearchEndsWithItsClient) {
  for (std::uint32_t i = 0; i < 2000; ++i) reserve(worker, 1000);
  const std::int64_t before = test::live_allocations();
  for (int i = 0; i < 100; ++i) {
    Client& going = world.connect();
    ASSERT_FALSE(engine.queries().search_reserved(going, world.tube(), 1000));
    world.disconnect(going);
  }
  EXPECT_LT(test::live_allocations(), before + 50);
  std::vector<JobRef> refs;
  EXPECT_FALSE(engine.queries().take_reserved(asker, world.tube(), refs));
}

TEST_F(EngineReservedListTest, WithoutMemoryThereIsNoSearch) {
  for (std::uint32_t i = 0; i < 5; ++i) reserve(worker, 100);
  for (std::int64_t allowed = 0;; ++allowed) {
    std::optional<bool> is_done;
    {
      const test::AllocationFailure failure(allowed);
      try {
        is_done = engine.queries().search_reserved(asker, world.tube(), 10);
      } catch (const std::bad_alloc&) {
      }
    }
    if (is_done) break;
    engine.queries().forget_search(asker);
  }
  EXPECT_EQ(take().size(), 5U);
}

TEST_F(EngineReservedListTest, ATouchLeavesTheTimeSinceTheReserve) {
  const JobId id = reserve(worker, 100);
  world.pass(Duration::seconds(30));
  EXPECT_EQ(reserved_for(id), 30U);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(engine.touch(worker, id, world.now), Outcome::done);
    world.pass(Duration::milliseconds(990));
  }
  // The time of the reserve is rounded once.
  EXPECT_GE(reserved_for(id), 129U);
  EXPECT_LE(reserved_for(id), 130U);
  EXPECT_EQ(world.touch_all(worker).jobs, 1U);
  EXPECT_LE(reserved_for(id), 130U);
  EXPECT_EQ(engine.release(worker, id, 1, 0, world.now), Outcome::done);
  EXPECT_EQ(engine.queries().report(id, world.now)->reserved_for_s, 0U);
  EXPECT_EQ(engine.reserve_job(other, id, world.now).outcome, Outcome::done);
  world.pass(Duration::seconds(2));
  EXPECT_EQ(reserved_for(id), 2U);
}

}  // namespace
}  // namespace haricot
