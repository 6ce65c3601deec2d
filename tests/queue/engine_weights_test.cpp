// Reserves by weight in an engine. The distribution is tested with WatchWeights.

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "haricot/queue/engine.hpp"
#include "support/allocations.hpp"
#include "support/engine_world.hpp"
#include "support/random.hpp"

namespace haricot {
namespace {

using test::got_job;
using test::Gots;

class EngineWeightsTest : public test::EngineTest {
 protected:
  EngineWeightsTest() {
    EXPECT_EQ(world.watch(worker, "a", 4), Outcome::done);
    EXPECT_EQ(world.watch(worker, "b", 2), Outcome::done);
    EXPECT_EQ(world.watch(worker, "c", 1), Outcome::done);
    EXPECT_EQ(engine.ignore(worker, "default"), Outcome::done);
    EXPECT_EQ(world.set_weighted(worker, true), Outcome::done);
  }

  void fill(std::string_view tube, int jobs, test::PutOptions options = {}) {
    EXPECT_EQ(engine.use(producer, tube), Outcome::done);
    for (int i = 0; i < jobs; ++i) world.put(producer, options);
  }
  // Reserves and deletes jobs, and counts them by tube.
  std::map<std::string, int> work(int jobs) {
    std::map<std::string, int> from;
    for (int i = 0; i < jobs; ++i) {
      const JobId id = world.reserve(worker);
      EXPECT_NE(id, 0U);
      ++from[world.report(id).tube->name];
      EXPECT_EQ(engine.delete_job(worker, id), Outcome::done);
    }
    return from;
  }

  Client& producer = world.connect();
  Client& worker = world.connect();
};

TEST_F(EngineWeightsTest, TubesAreServedInProportionToTheirWeights) {
  for (const char* tube : {"a", "b", "c"}) fill(tube, 1500);
  const std::map<std::string, int> first = work(1000);
  EXPECT_NEAR(first.at("a"), 571, 5);
  EXPECT_NEAR(first.at("b"), 286, 5);
  EXPECT_NEAR(first.at("c"), 143, 5);
}

TEST_F(EngineWeightsTest, PriorityCountsWithinATubeOnly) {
  fill("a", 10, {.priority = 9000});
  fill("c", 1, {.priority = 5});
  const JobId urgent = world.put(producer, {.priority = 1});
  fill("a", 10, {.priority = 9000});
  std::map<std::string, int> from;
  for (int i = 0; i < 10; ++i) {
    const JobId id = world.reserve(worker);
    const std::string tube = world.report(id).tube->name;
    if (tube == "c" && from[tube] == 0) {
      EXPECT_EQ(id, urgent);
    }
    ++from[tube];
  }
  EXPECT_EQ(from["c"], 2);
}

TEST_F(EngineWeightsTest, FifoIgnoresTheWeights) {
  EXPECT_EQ(world.set_weighted(worker, false), Outcome::done);
  fill("a", 50);
  fill("c", 50, {.priority = 1});
  EXPECT_EQ(work(50).at("c"), 50);
  EXPECT_EQ(work(50).at("a"), 50);
}

TEST_F(EngineWeightsTest, APausedTubeSavesNothingUp) {
  for (const char* tube : {"a", "c"}) fill(tube, 2000);
  EXPECT_EQ(engine.pause("a", 3600, world.now), Outcome::done);
  EXPECT_EQ(work(1000).at("c"), 1000);
  EXPECT_EQ(engine.pause("a", 0, world.now), Outcome::done);
  EXPECT_NEAR(work(500).at("a"), 400, 2);
}

TEST_F(EngineWeightsTest, AJobThatIsHandedToAWaitingWorkerCounts) {
  // The worker waits thirty times and gets a job of `a`. Then it is the turn of the others.
  for (int i = 0; i < 30; ++i) {
    world.wait(worker);
    EXPECT_EQ(engine.use(producer, "a"), Outcome::done);
    const JobId id = world.put(producer);
    EXPECT_EQ(world.take_deliveries(), (Gots{got_job(worker, id)}));
    EXPECT_EQ(engine.delete_job(worker, id), Outcome::done);
  }
  fill("a", 1);
  fill("c", 1);
  EXPECT_EQ(world.report(world.reserve(worker)).tube->name, "c");
}

TEST_F(EngineWeightsTest, AWatchWithoutAWeightLeavesItAsItIs) {
  EXPECT_EQ(engine.watch(worker, "a"), Outcome::done);
  for (const char* tube : {"a", "b", "c"}) fill(tube, 700);
  EXPECT_NEAR(work(700).at("a"), 400, 2);
  EXPECT_EQ(world.watch(worker, "a", 1), Outcome::done);
  EXPECT_NEAR(work(400).at("b"), 200, 2);
}

TEST_F(EngineWeightsTest, ABatchGoesByWeightToo) {
  for (const char* tube : {"a", "b", "c"}) fill(tube, 700);
  std::vector<JobRef> taken;
  const BatchBound all{[](void*, std::uint32_t) { return true; }, nullptr};
  EXPECT_EQ(engine.reserve_batch(worker, 700, all, world.now, world.now, taken), Outcome::done);
  std::map<std::string, int> from;
  for (const JobRef job : taken) ++from[engine.tubes()[engine.jobs()[job].tube].name];
  EXPECT_EQ(taken.size(), 700U);
  EXPECT_NEAR(from["a"], 400, 2);
  EXPECT_NEAR(from["b"], 200, 2);
}

// Clients with few watches scan them, clients with many have a heap: both have to serve the same
// tubes.
TEST_F(EngineWeightsTest, AreTheSameForManyWatchesAsForFew) {
  constexpr std::uint32_t kTubes = 20;
  test::World few_world;
  test::World many_world;
  Client& few = few_world.connect();
  Client& many = many_world.connect();
  test::World* const worlds[] = {&few_world, &many_world};
  Client* const clients[] = {&few, &many};
  test::Random random(11);
  std::vector<std::uint32_t> weights;
  for (std::uint32_t i = 0; i < kTubes; ++i) weights.push_back(1 + random.below32(9));
  for (int w = 0; w < 2; ++w) {
    ASSERT_EQ(worlds[w]->set_weighted(*clients[w], true), Outcome::done);
    for (std::uint32_t i = 0; i < kTubes; ++i) {
      ASSERT_EQ(worlds[w]->watch(*clients[w], "t" + std::to_string(i), weights[i]), Outcome::done);
    }
  }
  for (std::uint32_t i = 0; i < WatchIndex::kManyFrom; ++i) {
    ASSERT_EQ(many_world.engine.watch(many, "empty" + std::to_string(i)), Outcome::done);
  }
  std::map<std::string, int> from[2];
  for (int step = 0; step < 20'000; ++step) {
    const std::string tube = "t" + std::to_string(random.below(kTubes));
    const std::uint64_t what = random.below(100);
    const auto seconds = static_cast<std::uint32_t>(random.below(2));
    const std::uint32_t weight = 1 + random.below32(9);
    for (int w = 0; w < 2; ++w) {
      test::World& world = *worlds[w];
      if (what == 0) {
        ASSERT_EQ(world.watch(*clients[w], tube, weight), Outcome::done);
      } else if (what < 50) {
        ASSERT_EQ(world.engine.use(*clients[w], tube), Outcome::done);
        world.put(*clients[w]);
      } else if (what < 90) {
        const JobId id = world.reserve(*clients[w]);
        if (id == 0) continue;
        ++from[w][world.report(id).tube->name];
        ASSERT_EQ(world.engine.delete_job(*clients[w], id), Outcome::done);
      } else if (world.engine.find_tube(tube) != nullptr) {
        ASSERT_EQ(world.engine.pause(tube, seconds, world.now), Outcome::done);
      }
    }
    if (what == 0) many_world.engine.check_invariants();
  }
  // Among equals another one may come first, but not more often.
  for (const auto& [tube, jobs] : from[0]) EXPECT_NEAR(from[1][tube], jobs, 25) << tube;
  EXPECT_EQ(many_world.engine.ignore(many, "t0"), Outcome::done);
  many_world.engine.advance(many_world.now);
  EXPECT_EQ(many_world.set_weighted(many, false), Outcome::done);
  many_world.engine.check_invariants();
  many_world.engine.advance(many_world.now);
  EXPECT_EQ(many_world.set_weighted(many, true), Outcome::done);
  many_world.engine.check_invariants();
}

// A client that watches very many tubes, half of which have a job.
class EngineModeChange : public EngineWeightsTest {
 protected:
  static constexpr std::uint32_t kTubes = 20'000;
  // Maximum of all commands of a turn, and of advance().
  static constexpr std::uint64_t kStepsMax =
      turn_limits::kStepsOfCalls + QueueState::kStepsPerDelivery + 100;

  EngineModeChange() {
    for (std::uint32_t i = 0; i < kTubes; ++i) {
      EXPECT_EQ(engine.watch(many, name(i)), Outcome::done);
      if (i % 2 == 0) fill(name(i), 1, {.priority = kTubes - i});
    }
    engine.advance(world.now);
    engine.steps() = 0;
  }
  static std::string name(std::uint32_t i) { return "t" + std::to_string(i); }

  // Changes the mode, and calls `between` after each piece. Returns the client's last deliveries.
  template <typename Between>
  Gots change(bool weighted, Between between) {
    engine.steps() = 0;
    EXPECT_EQ(world.set_weighted(many, weighted), Outcome::waiting);
    for (int turns = 0; engine.deliveries().empty() && turns < 100; ++turns) {
      EXPECT_TRUE(many.is_busy());
      EXPECT_LE(engine.steps(), kStepsMax);
      EXPECT_LE(engine.next_event(), world.now);
      between(turns);
      engine.steps() = 0;
      engine.advance(world.now);
    }
    EXPECT_LE(engine.steps(), kStepsMax);
    EXPECT_FALSE(many.is_busy());
    return world.take_deliveries();
  }

  Client& many = world.connect();
};

constexpr auto kModeFifo = Delivery::Kind::mode_fifo;
constexpr auto kModeWeighted = Delivery::Kind::mode_weighted;

TEST_F(EngineModeChange, DoesABoundedPartInATurn) {
  const auto nothing = [](int) {};
  EXPECT_EQ(change(true, nothing), (Gots{{&many, kModeWeighted}}));
  engine.check_invariants();
  EXPECT_EQ(world.report(world.reserve(many)).tube->name, name(0)) << "the first of equals";
  EXPECT_EQ(change(false, nothing), (Gots{{&many, kModeFifo}}));
  engine.check_invariants();
  EXPECT_EQ(world.report(world.reserve(many)).tube->name, name(kTubes - 2)) << "the best of all";
}

TEST_F(EngineModeChange, ToTheModeThatItHasCostsNothing) {
  change(true, [](int) {});
  engine.steps() = 0;
  EXPECT_EQ(world.set_weighted(many, true), Outcome::done);
  EXPECT_LT(engine.steps(), kTubes / 10);
}

TEST_F(EngineModeChange, KnowsTheOffersOfTheTubesAtItsEnd) {
  for (const bool weighted : {true, false, true}) {
    int turns = 0;
    change(weighted, [&](int turn) {
      turns = turn + 1;
      for (std::uint32_t part = 0; part < 5; ++part) {
        const std::string tube = name(part * kTubes / 5 + static_cast<std::uint32_t>(turn) % 2);
        fill(tube, 1);
        EXPECT_EQ(engine.pause(tube, turn % 3 == 0 ? 100 : 0, world.now), Outcome::done);
        const JobRef first = engine.queries().peek_ready(producer);
        EXPECT_EQ(engine.delete_job(producer, world.id_of(first)), Outcome::done);
      }
      engine.check_invariants();
    });
    EXPECT_GT(turns, 4);
    engine.check_invariants();
  }
}

TEST_F(EngineModeChange, EndsWithItsClient) {
  ASSERT_EQ(world.set_weighted(many, true), Outcome::waiting);
  engine.advance(world.now);
  engine.check_invariants();
  world.disconnect(many);
  world.pass_s(1);
  EXPECT_TRUE(world.take_deliveries().empty());
  EXPECT_EQ(engine.find_tube(name(1)), nullptr);
}

TEST_F(EngineModeChange, IsRefusedWholeWithoutMemory) {
  for (std::int64_t succeed = 0; succeed < 20; ++succeed) {
    Outcome outcome = Outcome::done;
    {
      const test::AllocationFailure failure(succeed);
      try {
        outcome = world.set_weighted(many, true);
      } catch (const std::bad_alloc&) {
        outcome = Outcome::out_of_memory;
      }
    }
    EXPECT_EQ(outcome, Outcome::out_of_memory);
    engine.advance(world.now);
    engine.check_invariants();
  }
  // Making this many weights takes more than a turn.
  ASSERT_EQ(world.set_weighted(many, true), Outcome::waiting);
  {
    const test::AllocationFailure failure;
    engine.advance(world.now);
  }
  EXPECT_EQ(world.take_deliveries(), (Gots{{&many, Delivery::Kind::out_of_memory}}));
  EXPECT_FALSE(many.is_busy());
  engine.check_invariants();
  EXPECT_EQ(world.report(world.reserve(many)).tube->name, name(kTubes - 2)) << "as before";
  EXPECT_EQ(change(true, [](int) {}), (Gots{{&many, kModeWeighted}}));
}

TEST_F(EngineWeightsTest, AreGivenBackWithTheWatches) {
  for (std::uint32_t i = 0; i < WatchIndex::kManyFrom + 5; ++i) {
    ASSERT_EQ(world.watch(worker, "t" + std::to_string(i), 1 + i % 100), Outcome::done);
  }
  engine.check_invariants();
  fill("t3", 3);
  engine.check_invariants();
  for (std::uint32_t i = 0; i < WatchIndex::kManyFrom; ++i) {
    ASSERT_EQ(engine.ignore(worker, "t" + std::to_string(i)), Outcome::done);
  }
  engine.check_invariants();
}

}  // namespace
}  // namespace haricot
