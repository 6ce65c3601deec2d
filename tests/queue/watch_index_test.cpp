// Clients that watch very many tubes: they get the same jobs as without an index, and their cost is
// counted and independent of the number of watched tubes.

#include "haricot/queue/watch_index.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/allocations.hpp"
#include "support/engine_world.hpp"
#include "support/random.hpp"

namespace haricot {
namespace {

using namespace haricot::test;

class ManyWatches : public EngineTest {
 protected:
  static std::string name(std::uint32_t number) { return "t" + std::to_string(number); }

  Client& watcher_of(std::uint32_t tubes) {
    Client& client = world.connect();
    watch(client, tubes);
    return client;
  }
  void watch(Client& client, std::uint32_t tubes) {
    for (std::uint32_t i = 0; i < tubes; ++i) {
      ASSERT_EQ(engine.watch(client, name(i)), Outcome::done);
    }
  }
  JobId put_into(Client& client, std::uint32_t tube, const PutOptions& options = {}) {
    EXPECT_EQ(engine.use(client, name(tube)), Outcome::done);
    return world.put(client, options);
  }
  // Returns the steps of a call.
  template <typename Doing>
  std::uint64_t steps_of(Doing doing) {
    engine.steps() = 0;
    doing();
    return engine.steps();
  }
};

constexpr std::uint32_t kTubes = 20'000;

TEST_F(ManyWatches, AReserveExaminesFewTubes) {
  Client& client = watcher_of(kTubes);
  Client& producer = world.connect();
  EXPECT_LT(steps_of([&] { EXPECT_EQ(world.reserve(client), 0U); }), 100U);
  const JobId late = put_into(producer, 7, {.priority = 9});
  const JobId first = put_into(producer, 19'000, {.priority = 1});
  const JobId second = put_into(producer, 19'000, {.priority = 5});
  EXPECT_LT(steps_of([&] {
              EXPECT_EQ(world.reserve(client), first);
              EXPECT_EQ(world.reserve(client), second);
              EXPECT_EQ(world.reserve(client), late);
              EXPECT_EQ(world.reserve(client), 0U);
            }),
            200U);
}

TEST_F(ManyWatches, AWaitTouchesNoTubeAtItsBeginningAndNoneAtItsEnd) {
  Client& client = watcher_of(kTubes);
  EXPECT_LT(steps_of([&] {
              world.wait_s(client, 1);
              EXPECT_EQ(engine.waiting_clients(world.tube("t5")), 1U);
              world.pass_s(1);
            }),
            QueueState::kStepsPerDelivery + 20U);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_timed_out(client)}));
  EXPECT_EQ(engine.waiting_clients(world.tube("t5")), 0U);
}

TEST_F(ManyWatches, ClientsWithManyAndFewWatchesAreServedInOrder) {
  Client& producer = world.connect();
  std::vector<Client*> workers;
  for (int i = 0; i < 3; ++i) {
    workers.push_back(&watcher_of(WatchIndex::kManyFrom));
    workers.push_back(&watcher_of(30));
  }
  Gots expected;
  for (const std::size_t i : {3U, 0U, 1U, 4U, 2U, 5U}) world.wait(*workers[i]);
  EXPECT_EQ(engine.waiting_clients(world.tube("t3")), 6U);
  EXPECT_EQ(engine.waiting_clients(world.tube("t1000")), 3U);
  for (const std::uint32_t i : {3U, 0U, 1U, 4U, 2U, 5U}) {
    expected.push_back(got_job(*workers[i], put_into(producer, i % 5)));
    engine.check_invariants();
  }
  EXPECT_EQ(world.take_deliveries(), expected);
  EXPECT_EQ(engine.waiting_clients(world.tube("t3")), 0U);
}

TEST_F(ManyWatches, ADeliveredJobNotifiesEachWatcherOnce) {
  constexpr std::uint32_t kWatchers = 5;
  Client& producer = world.connect();
  for (std::uint32_t i = 0; i < kWatchers; ++i) world.wait(watcher_of(WatchIndex::kManyFrom));
  const std::uint64_t steps = steps_of([&] { put_into(producer, 3); });
  EXPECT_LE(steps, QueueState::kStepsPerDelivery + kWatchers * (Engine::kStepsPerJob + 2U));
  EXPECT_EQ(world.take_deliveries().size(), 1U);
}

TEST_F(ManyWatches, APausedTubeOffersNothing) {
  Client& client = watcher_of(WatchIndex::kManyFrom);
  Client& producer = world.connect();
  const JobId id = put_into(producer, 3);
  ASSERT_EQ(engine.pause("t3", 10, world.now), Outcome::done);
  engine.check_invariants();
  world.wait(client);
  world.pass_s(10);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_job(client, id)}));
}

TEST_F(ManyWatches, ACloseLeavesItsTubesInPieces) {
  Client& client = watcher_of(kTubes);
  world.wait(client);
  world.disconnect(client);
  EXPECT_EQ(engine.counts().waiting, 0U);
  EXPECT_GE(engine.tubes().size(), kTubes - Engine::kJobsPerCall);
  std::uint32_t turns = 0;
  while (engine.next_event() <= world.now) {
    const std::uint32_t before = engine.tubes().size();
    engine.advance(world.now);
    ASSERT_LE(before - engine.tubes().size(), Engine::kJobsPerCall);
    if (turns++ % 4 != 0) continue;
    engine.check_invariants();
    // Others may watch, use and fill tubes that are about to be freed.
    Client& other = watcher_of(5);
    put_into(other, 3);
    EXPECT_NE(world.reserve(other), 0U);
    world.disconnect(other);
  }
  EXPECT_GE(turns, kTubes / Engine::kJobsPerCall - 1);
  EXPECT_EQ(engine.tubes().size(), 2U);  // default, and the one with the jobs.
}

TEST_F(ManyWatches, AnEngineThatEndsBetweenThePiecesLeavesNothing) {
  NoJournal none;
  Engine other(world.now, none);
  Client client(nullptr);
  ASSERT_TRUE(other.open(client));
  for (std::uint32_t i = 0; i < kTubes; ++i) {
    ASSERT_EQ(other.watch(client, name(i)), Outcome::done);
  }
  other.close(client, world.now);
  EXPECT_GT(other.tubes().size(), 1000U);
}

// Many clients watch the same tubes: adding one more causes no work for the watches of the others.
TEST_F(ManyWatches, WatchingCostsTheSameHoweverManyWatchTheSame) {
  constexpr std::uint32_t kSame = 1500;
  const auto set_up = [&] { watcher_of(kSame); };
  const std::uint64_t first = steps_of(set_up);
  for (int i = 0; i < 20; ++i) watcher_of(kSame);
  EXPECT_LT(steps_of(set_up), first + 100);
}

TEST_F(ManyWatches, IgnoringEnoughTubesEndsTheIndex) {
  Client& client = watcher_of(WatchIndex::kManyFrom);
  Client& producer = world.connect();
  std::uint32_t tubes = WatchIndex::kManyFrom;
  const JobId id = put_into(producer, 0);
  while (client.watched_tubes() > 3) {
    ASSERT_EQ(engine.ignore(client, name(--tubes)), Outcome::done);
    if (tubes % 100 == 0) engine.check_invariants();
  }
  EXPECT_EQ(world.tube("t0").many_watchers, 0U);
  EXPECT_EQ(world.reserve(client), id);
  world.wait(client);
  EXPECT_EQ(world.tube("t1").waiting_clients, 1U);
  put_into(producer, 1);
  EXPECT_EQ(world.take_deliveries().size(), 1U);
  watch(client, WatchIndex::kManyFrom);
  EXPECT_EQ(world.tube("t0").many_watchers, 1U);
}

TEST_F(ManyWatches, WithoutMemoryForTheIndexNothingIsWatched) {
  for (const std::uint32_t threshold : {WatchIndex::kIndexedFrom, WatchIndex::kManyFrom}) {
    int failures = 0;
    for (int succeeding = 0; succeeding < 200; ++succeeding) {
      Client& client = watcher_of(threshold - 2);  // And `default`.
      Outcome outcome = Outcome::done;
      {
        const AllocationFailure failure(succeeding);
        outcome = engine.watch(client, "one-more");
      }
      failures += outcome == Outcome::out_of_memory;
      EXPECT_EQ(client.watched_tubes(), threshold - (outcome == Outcome::done ? 0 : 1));
      engine.check_invariants();
      world.disconnect(client);
      world.pass_ms(0);
      if (outcome == Outcome::done) break;
    }
    EXPECT_GE(failures, 3) << threshold;
  }
}

struct RandomCommand {
  std::uint64_t kind;
  std::string tube;
  std::uint32_t priority;
  std::uint64_t id;
};

// Runs the command for the client. Returns its result as text.
std::string play(World& one, Client& client, const RandomCommand& command) {
  if (command.kind == 0) one.pass_ms(700);
  if (command.kind == 1) {
    return std::to_string(static_cast<int>(
        one.engine.pause(command.tube, static_cast<std::uint32_t>(command.id % 3), one.now)));
  }
  if (client.is_busy()) return "busy";
  switch (command.kind) {
    case 2:
    case 3:
      return std::to_string(one.reserve(client));
    case 4: {
      const ReserveResult result =
          one.engine.reserve(client, one.now + Duration::seconds(2), one.now);
      return std::to_string(static_cast<int>(result.outcome)) + " " +
             std::to_string(one.id_of(result.job));
    }
    case 5:
      return std::to_string(static_cast<int>(one.engine.delete_job(client, command.id)));
    case 6:
      return std::to_string(static_cast<int>(
          one.engine.release(client, command.id, command.priority, command.id % 2, one.now)));
    case 7:
      return std::to_string(
          static_cast<int>(one.engine.bury(client, command.id, command.priority)));
    case 8:
      return std::to_string(one.kick(client, 3).jobs);
    case 9:
      return std::to_string(
          static_cast<int>(one.engine.reserve_job(client, command.id, one.now).outcome));
    default:
      EXPECT_EQ(one.engine.use(client, command.tube), Outcome::done);
      return std::to_string(one.put(client, {.priority = command.priority, .ttr_s = 3}));
  }
}

// Runs the same commands on two engines: in one the worker watches the tubes with jobs, in the
// other also enough others to have many watches. Their results are equal.
TEST_F(ManyWatches, RandomCommandsHaveTheSameResultsWithAndWithoutAnIndex) {
  Random random;
  World few;
  World many;
  constexpr std::uint32_t kUsed = 6;
  constexpr std::size_t kClients = 4;
  std::vector<Client*> clients_of_few;
  std::vector<Client*> clients_of_many;
  for (std::size_t i = 0; i < kClients; ++i) {
    clients_of_few.push_back(&few.connect());
    clients_of_many.push_back(&many.connect());
    for (std::uint32_t j = 0; j < kUsed; ++j) {
      ASSERT_EQ(few.engine.watch(*clients_of_few[i], name(j)), Outcome::done);
      ASSERT_EQ(many.engine.watch(*clients_of_many[i], name(j)), Outcome::done);
    }
    // One of them has few watches in both.
    for (std::uint32_t j = 0; i > 0 && j < WatchIndex::kManyFrom; ++j) {
      ASSERT_EQ(many.engine.watch(*clients_of_many[i], "more" + std::to_string(j)), Outcome::done);
    }
  }
  std::map<const Client*, std::size_t> numbers;
  for (std::size_t i = 0; i < kClients; ++i) {
    numbers[clients_of_few[i]] = numbers[clients_of_many[i]] = i;
  }
  const auto got_of = [&](World& one) {
    std::string text;
    for (const Got& got : one.take_deliveries()) {
      text += std::to_string(numbers[got.client]) + ":" +
              std::to_string(static_cast<int>(got.kind)) + ":" + std::to_string(got.job) + " ";
    }
    return text;
  };
  for (int step = 0; step < 4000; ++step) {
    const std::size_t which = random.below(kClients);
    const RandomCommand command{.kind = random.below(12),
                                .tube = name(static_cast<std::uint32_t>(random.below(kUsed))),
                                .priority = static_cast<std::uint32_t>(random.below(5)),
                                .id = 1 + random.below(600)};
    ASSERT_EQ(play(few, *clients_of_few[which], command),
              play(many, *clients_of_many[which], command))
        << step;
    ASSERT_EQ(got_of(few), got_of(many)) << step;
    if (step % 20 == 0) many.engine.check_invariants();
  }
}

class WatchWeightsTest : public ::testing::Test {
 protected:
  void add(std::uint32_t weight) {
    ASSERT_TRUE(weights_.allocate_one());
    weights_.add();
    weights_.set_weight(weights_.size() - 1, weight);
    offers_.push_back(true);
  }
  // Serves the next of the watches that offer a job.
  std::uint32_t serve() {
    std::uint32_t best = weights_.size();
    for (std::uint32_t i = 0; i < weights_.size(); ++i) {
      if (!offers_[i]) continue;
      if (best == weights_.size() || weights_.pass(i) < weights_.pass(best)) best = i;
    }
    weights_.charge(best);
    return best;
  }
  std::vector<std::uint32_t> serve(std::uint32_t jobs) {
    std::vector<std::uint32_t> served(weights_.size());
    for (std::uint32_t i = 0; i < jobs; ++i) ++served[serve()];
    return served;
  }

  WatchWeights weights_;
  std::vector<bool> offers_;
};

TEST_F(WatchWeightsTest, ShareAnyThousandJobsOutToOneInAHundred) {
  add(4);
  add(2);
  add(1);
  std::vector<std::uint32_t> order;
  for (int i = 0; i < 20'000; ++i) order.push_back(serve());
  for (std::size_t begin = 0; begin + 1000 <= order.size(); begin += 7) {
    std::vector<double> served(3);
    for (std::size_t i = begin; i < begin + 1000; ++i) served[order[i]] += 1;
    EXPECT_NEAR(served[0], 4000.0 / 7, 10);
    EXPECT_NEAR(served[1], 2000.0 / 7, 10);
    EXPECT_NEAR(served[2], 1000.0 / 7, 10);
  }
}

TEST_F(WatchWeightsTest, NoWatchIsEverAheadOrBehindByMoreThanAJobOrTwo) {
  test::Random random(7);
  for (int round = 0; round < 200; ++round) {
    weights_.~WatchWeights();
    new (&weights_) WatchWeights;
    offers_.clear();
    std::uint64_t sum = 0;
    const std::uint64_t watches = 1 + random.below(12);
    for (std::uint64_t i = 0; i < watches; ++i) {
      const auto weight = static_cast<std::uint32_t>(
          1 + random.below(random.one_in(3) ? WatchWeights::kWeightMax : 20));
      add(weight);
      sum += weight;
    }
    std::vector<std::uint64_t> served(watches);
    for (std::uint64_t jobs = 1; jobs <= 3000; ++jobs) {
      ++served[serve()];
      for (std::uint32_t i = 0; i < watches; ++i) {
        const double due =
            static_cast<double>(jobs) * weights_.weight(i) / static_cast<double>(sum);
        ASSERT_NEAR(static_cast<double>(served[i]), due, static_cast<double>(watches))
            << "watch " << i << " of " << watches << " after " << jobs;
      }
    }
  }
}

TEST_F(WatchWeightsTest, AWatchWithoutJobsSavesNothingUp) {
  add(1);
  add(1);
  offers_[1] = false;
  serve(5000);
  offers_[1] = true;
  const std::vector<std::uint32_t> served = serve(100);
  EXPECT_NEAR(served[0], 50, 1);
  EXPECT_NEAR(served[1], 50, 1);
}

TEST_F(WatchWeightsTest, ANewWatchBeginsWithTheOthers) {
  add(1);
  serve(5000);
  add(3);
  const std::vector<std::uint32_t> served = serve(100);
  EXPECT_NEAR(served[0], 25, 1);
  EXPECT_NEAR(served[1], 75, 1);
}

TEST_F(WatchWeightsTest, TheLastWatchTakesThePlaceOfOneThatGoes) {
  add(1);
  add(2);
  add(5);
  weights_.remove(0);
  offers_.pop_back();
  ASSERT_EQ(weights_.size(), 2U);
  EXPECT_EQ(weights_.weight(0), 5U);
  EXPECT_EQ(weights_.weight(1), 2U);
  const std::vector<std::uint32_t> served = serve(700);
  EXPECT_NEAR(served[0], 500, 2);
  EXPECT_NEAR(served[1], 200, 2);
}

// The stride of weight 1 equals a thousand of the others: it must not be used up first.
TEST_F(WatchWeightsTest, ARaisedWeightCountsAtOnce) {
  add(1);
  add(1000);
  serve(1500);
  weights_.set_weight(0, 1000);
  const std::vector<std::uint32_t> served = serve(200);
  EXPECT_NEAR(served[0], 100, 1);
  EXPECT_NEAR(served[1], 100, 1);
}

TEST_F(WatchWeightsTest, ALoweredWeightCountsAtOnce) {
  add(1000);
  add(1000);
  serve(1001);
  weights_.set_weight(0, 1);
  const std::vector<std::uint32_t> served = serve(4004);
  EXPECT_NEAR(served[0], 4, 1);
}

TEST_F(WatchWeightsTest, TheSameWeightAgainChangesNothing) {
  add(3);
  add(1);
  serve(7);
  const std::uint64_t first = weights_.pass(0);
  const std::uint64_t second = weights_.pass(1);
  weights_.set_weight(0, 3);
  weights_.set_weight(1, 1);
  EXPECT_EQ(weights_.pass(0), first);
  EXPECT_EQ(weights_.pass(1), second);
}

TEST_F(WatchWeightsTest, TheSmallestAndTheLargestWeight) {
  add(1);
  add(WatchWeights::kWeightMax);
  const std::vector<std::uint32_t> served = serve(4 * (WatchWeights::kWeightMax + 1));
  EXPECT_NEAR(served[0], 4, 1);
}

}  // namespace

}  // namespace haricot
