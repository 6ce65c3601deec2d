// Clients of the engine: opening and closing, using, watching, waiting; and the tubes that exist
// because of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/allocations.hpp"
#include "support/engine_world.hpp"

namespace haricot {
namespace {

using test::AllocationFailure;
using test::got_job;
using test::got_timed_out;
using test::Gots;

using Names = std::vector<std::string>;

class EngineClients : public test::EngineTest {
 protected:
  Names tubes() const {
    Names names;
    for (std::uint32_t i = 0; i < engine.tubes().size(); ++i) {
      names.push_back(engine.tubes().at(i).name);
    }
    return names;
  }
  static Names watched(const Client& client) {
    Names names;
    for (std::uint32_t i = 0; i < client.watched_tubes(); ++i) {
      names.push_back(client.watched(i).name);
    }
    return names;
  }
};

TEST_F(EngineClients, ANewClientUsesAndWatchesDefault) {
  int owner = 0;
  Client client(&owner);
  ASSERT_TRUE(engine.open(client));
  EXPECT_EQ(client.owner(), &owner);
  EXPECT_EQ(client.used().name, "default");
  EXPECT_EQ(watched(client), (Names{"default"}));
  EXPECT_FALSE(client.is_busy());
  EXPECT_EQ(engine.counts().clients, 1u);
  EXPECT_EQ(world.tube().using_clients, 1u);
  EXPECT_EQ(world.tube().watching_clients, 1u);
  engine.close(client, world.now);
  EXPECT_EQ(engine.counts().clients, 0u);
  EXPECT_EQ(world.tube().using_clients, 0u);
  EXPECT_EQ(world.tube().watching_clients, 0u);
  EXPECT_EQ(tubes(), (Names{"default"}));
}

TEST_F(EngineClients, UseCreatesTheTubeAndLeavesTheOldOne) {
  Client& client = world.connect();
  ASSERT_EQ(engine.use(client, "a"), Outcome::done);
  EXPECT_EQ(client.used().name, "a");
  EXPECT_EQ(tubes(), (Names{"default", "a"}));
  ASSERT_EQ(engine.use(client, "b"), Outcome::done);
  EXPECT_EQ(tubes(), (Names{"default", "b"}));
  ASSERT_EQ(engine.use(client, "b"), Outcome::done);
  EXPECT_EQ(world.tube("b").using_clients, 1u);
  ASSERT_EQ(engine.use(client, "default"), Outcome::done);
  EXPECT_EQ(tubes(), (Names{"default"}));
}

TEST_F(EngineClients, WatchingTwiceCountsOnce) {
  Client& client = world.connect();
  ASSERT_EQ(engine.watch(client, "a"), Outcome::done);
  ASSERT_EQ(engine.watch(client, "a"), Outcome::done);
  ASSERT_EQ(engine.watch(client, "default"), Outcome::done);
  EXPECT_EQ(watched(client), (Names{"default", "a"}));
  EXPECT_EQ(world.tube("a").watching_clients, 1u);
}

TEST_F(EngineClients, TheLastWatchTakesThePlaceOfTheIgnoredOne) {
  Client& client = world.connect();
  for (const char* tube : {"a", "b", "c"}) ASSERT_EQ(engine.watch(client, tube), Outcome::done);
  ASSERT_EQ(engine.ignore(client, "default"), Outcome::done);
  EXPECT_EQ(watched(client), (Names{"c", "a", "b"}));
  ASSERT_EQ(engine.ignore(client, "b"), Outcome::done);
  EXPECT_EQ(watched(client), (Names{"c", "a"}));
  EXPECT_EQ(tubes(), (Names{"default", "a", "c"}));
}

TEST_F(EngineClients, TheOnlyWatchedTubeCannotBeIgnored) {
  Client& client = world.connect();
  EXPECT_EQ(engine.ignore(client, "default"), Outcome::only_watched);
  ASSERT_EQ(engine.watch(client, "a"), Outcome::done);
  EXPECT_EQ(engine.ignore(client, "default"), Outcome::done);
  EXPECT_EQ(engine.ignore(client, "a"), Outcome::only_watched);
  EXPECT_EQ(watched(client), (Names{"a"}));
}

TEST_F(EngineClients, IgnoringAnUnwatchedTubeIsNothing) {
  Client& client = world.connect();
  Client& other = world.connect();
  ASSERT_EQ(engine.watch(other, "a"), Outcome::done);
  EXPECT_EQ(engine.ignore(client, "a"), Outcome::done);
  EXPECT_EQ(engine.ignore(client, "no-such-tube"), Outcome::done);
  EXPECT_EQ(watched(client), (Names{"default"}));
  EXPECT_EQ(tubes(), (Names{"default", "a"}));
}

TEST_F(EngineClients, EachKindOfReferenceKeepsATube) {
  Client& client = world.connect();
  Client& other = world.connect();
  ASSERT_EQ(engine.use(client, "a"), Outcome::done);
  const JobId id = world.put(client);
  ASSERT_EQ(engine.use(client, "default"), Outcome::done);
  EXPECT_EQ(tubes(), (Names{"default", "a"}));  // A ready job.
  ASSERT_EQ(engine.reserve_job(other, id, world.now).outcome, Outcome::done);
  EXPECT_EQ(tubes(), (Names{"default", "a"}));  // A reserved one.
  ASSERT_EQ(engine.bury(other, id, 1), Outcome::done);
  EXPECT_EQ(tubes(), (Names{"default", "a"}));  // A buried one.
  ASSERT_EQ(engine.reserve_job(other, id, world.now).outcome, Outcome::done);
  ASSERT_EQ(engine.release(other, id, 1, 100, world.now), Outcome::done);
  EXPECT_EQ(tubes(), (Names{"default", "a"}));  // A delayed one.
  ASSERT_EQ(engine.watch(other, "a"), Outcome::done);
  ASSERT_EQ(engine.delete_job(other, id), Outcome::done);
  EXPECT_EQ(tubes(), (Names{"default", "a"}));  // A watch.
  ASSERT_EQ(engine.ignore(other, "a"), Outcome::done);
  EXPECT_EQ(tubes(), (Names{"default"}));
}

TEST_F(EngineClients, ATubeThatGoesTakesItsPauseAndItsNumbersAlong) {
  Client& client = world.connect();
  ASSERT_EQ(engine.use(client, "a"), Outcome::done);
  world.put(client);
  ASSERT_EQ(engine.pause("a", 100, world.now), Outcome::done);
  ASSERT_EQ(engine.delete_job(client, 1), Outcome::done);
  ASSERT_EQ(engine.use(client, "default"), Outcome::done);
  EXPECT_EQ(engine.find_tube("a"), nullptr);
  ASSERT_EQ(engine.use(client, "a"), Outcome::done);
  EXPECT_FALSE(world.tube("a").paused);
  EXPECT_EQ(world.tube("a").total_jobs, 0u);
  EXPECT_EQ(world.tube("a").deletes, 0u);
  EXPECT_EQ(world.tube("a").pauses, 0u);
  world.pass_s(200);
}

TEST_F(EngineClients, ThousandsOfWatchesAreFoundFromEitherSide) {
  Client& many = world.connect();
  for (int i = 0; i < 2000; ++i) {
    ASSERT_EQ(engine.watch(many, "t" + std::to_string(i)), Outcome::done);
  }
  for (int i = 0; i < 300; ++i) ASSERT_EQ(engine.watch(world.connect(), "t7"), Outcome::done);
  EXPECT_EQ(world.tube("t7").watching_clients, 301u);
  ASSERT_EQ(engine.watch(many, "t7"), Outcome::done);
  EXPECT_EQ(world.tube("t7").watching_clients, 301u);
  ASSERT_EQ(engine.ignore(many, "t7"), Outcome::done);
  EXPECT_EQ(world.tube("t7").watching_clients, 300u);
  EXPECT_EQ(many.watched_tubes(), 2000u);
}

// Waiting -----------------------------------------------------------------------------------------

TEST_F(EngineClients, AWaitingClientIsBusyUntilAJobComes) {
  Client& worker = world.connect();
  Client& producer = world.connect();
  world.wait(worker);
  EXPECT_TRUE(worker.is_busy());
  EXPECT_TRUE(worker.is_waiting());
  EXPECT_EQ(engine.counts().waiting, 1u);
  EXPECT_EQ(world.tube().waiting_clients, 1u);
  const JobId id = world.put(producer);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_job(worker, id)}));
  EXPECT_FALSE(worker.is_busy());
  EXPECT_EQ(engine.counts().waiting, 0u);
  EXPECT_EQ(world.tube().waiting_clients, 0u);
  EXPECT_EQ(world.state(id), JobState::reserved);
}

TEST_F(EngineClients, WaitingWorkersAreServedFirstComeFirstServed) {
  Client& producer = world.connect();
  std::vector<Client*> workers;
  for (int i = 0; i < 5; ++i) workers.push_back(&world.connect());
  for (const int i : {3, 1, 4, 0, 2}) world.wait(*workers[static_cast<std::size_t>(i)]);
  Gots expected;
  for (const int i : {3, 1, 4, 0, 2}) {
    expected.push_back(got_job(*workers[static_cast<std::size_t>(i)], world.put(producer)));
  }
  EXPECT_EQ(world.take_deliveries(), expected);
}

TEST_F(EngineClients, AWorkerThatWaitsOnManyTubesGetsTheFirstJobOfAny) {
  Client& producer = world.connect();
  Client& first = world.connect();
  Client& second = world.connect();
  for (const char* tube : {"a", "b"}) {
    ASSERT_EQ(engine.watch(first, tube), Outcome::done);
    ASSERT_EQ(engine.watch(second, tube), Outcome::done);
  }
  world.wait(first);
  world.wait(second);
  ASSERT_EQ(engine.use(producer, "b"), Outcome::done);
  const JobId one = world.put(producer);
  EXPECT_EQ(world.tube("a").waiting_clients, 1u);
  ASSERT_EQ(engine.use(producer, "a"), Outcome::done);
  const JobId two = world.put(producer);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_job(first, one), got_job(second, two)}));
  EXPECT_EQ(world.tube("a").waiting_clients, 0u);
}

TEST_F(EngineClients, EverythingThatMakesAJobReadyWakesAWorker) {
  Client& holder = world.connect();
  Client& worker = world.connect();
  ASSERT_EQ(engine.use(holder, "a"), Outcome::done);
  ASSERT_EQ(engine.watch(worker, "a"), Outcome::done);
  const JobId id = world.put(holder, {.ttr_s = 5});
  const auto hold = [&] {
    ASSERT_EQ(engine.reserve_job(holder, id, world.now).outcome, Outcome::done);
    world.wait(worker);
  };
  const auto expect_woken = [&](const char* what) {
    EXPECT_EQ(world.take_deliveries(), (Gots{got_job(worker, id)})) << what;
    ASSERT_EQ(engine.release(worker, id, 1, 0, world.now), Outcome::done);
    engine.check_invariants();
  };
  hold();
  ASSERT_EQ(engine.release(holder, id, 1, 0, world.now), Outcome::done);
  expect_woken("release");
  hold();
  world.pass_s(5);
  expect_woken("the end of a TTR");
  hold();
  ASSERT_EQ(engine.release(holder, id, 1, 7, world.now), Outcome::done);
  world.pass_s(7);
  expect_woken("the end of a delay");
  hold();
  ASSERT_EQ(engine.release(holder, id, 1, 7, world.now), Outcome::done);
  ASSERT_EQ(engine.kick_job(id, world.now), Outcome::done);
  expect_woken("kick-job");
  hold();
  ASSERT_EQ(engine.bury(holder, id, 1), Outcome::done);
  EXPECT_EQ(world.kick(holder, 1).jobs, 1u);
  expect_woken("kick");
  ASSERT_EQ(engine.pause("a", 100, world.now), Outcome::done);
  world.wait(worker);
  ASSERT_EQ(engine.pause("a", 0, world.now), Outcome::done);
  expect_woken("a pause that is ended");
  ASSERT_EQ(engine.pause("a", 100, world.now), Outcome::done);
  world.wait(worker);
  world.pass_s(100);
  expect_woken("a pause that ends");
  hold();
  world.disconnect(holder);
  expect_woken("a close");
}

TEST_F(EngineClients, AWaitEndsAtItsTimeout) {
  Client& worker = world.connect();
  world.wait_s(worker, 10);
  world.pass_ms(9999);
  EXPECT_TRUE(world.take_deliveries().empty());
  world.pass_ms(1);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_timed_out(worker)}));
  EXPECT_FALSE(worker.is_busy());
  world.pass_s(100'000);
  EXPECT_TRUE(world.take_deliveries().empty());
}

TEST_F(EngineClients, AWaitWithoutTimeoutNeverEndsByItself) {
  Client& worker = world.connect();
  world.wait(worker);
  EXPECT_EQ(engine.next_event(), Instant::never());
  world.pass_s(4294967295);
  EXPECT_TRUE(world.take_deliveries().empty());
  EXPECT_TRUE(worker.is_waiting());
}

TEST_F(EngineClients, StopWaitingTimesOutOnlyWaitingClients) {
  Client& worker = world.connect();
  engine.stop_waiting(worker, Delivery::Kind::timed_out);
  EXPECT_TRUE(world.take_deliveries().empty());
  world.wait(worker);
  engine.stop_waiting(worker, Delivery::Kind::timed_out);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_timed_out(worker)}));
  EXPECT_FALSE(worker.is_busy());
  EXPECT_EQ(engine.counts().waiting, 0u);
}

TEST_F(EngineClients, AClosedClientWaitsNoLonger) {
  Client& worker = world.connect();
  Client& producer = world.connect();
  world.wait_s(worker, 10);
  world.disconnect(worker);
  EXPECT_EQ(engine.counts().waiting, 0u);
  const JobId id = world.put(producer);
  world.pass_s(20);
  EXPECT_TRUE(world.take_deliveries().empty());
  EXPECT_EQ(world.state(id), JobState::ready);
}

TEST_F(EngineClients, ADeliveryToAClosedClientIsDroppedAndItsJobGivenBack) {
  Client& first = world.connect();
  Client& second = world.connect();
  Client& producer = world.connect();
  world.wait(first);
  world.wait(second);
  const JobId one = world.put(producer);
  const JobId two = world.put(producer);
  world.disconnect(first);  // Before its delivery was handed out.
  EXPECT_EQ(world.take_deliveries(), (Gots{got_job(second, two)}));
  EXPECT_EQ(world.state(one), JobState::ready);
  EXPECT_EQ(world.report(one).releases, 0u);
  EXPECT_EQ(world.report(one).timeouts, 0u);
}

// Memory ------------------------------------------------------------------------------------------

// Each allocation of each call fails once: the call reports it, or has its full effect.
TEST_F(EngineClients, WithoutMemoryACommandFailsAndChangesNothing) {
  Client& client = world.connect();
  const std::string name = "a-name-that-is-too-long-to-stand-in-a-string";
  int failures = 0;
  for (int succeeding = 0; succeeding < 30; ++succeeding) {
    Outcome outcome = Outcome::done;
    {
      const AllocationFailure failure(succeeding);
      outcome = engine.use(client, name);
    }
    failures += outcome == Outcome::out_of_memory;
    ASSERT_EQ(client.used().name, outcome == Outcome::done ? name : "default");
    ASSERT_EQ(tubes().size(), outcome == Outcome::done ? 2u : 1u);
    engine.check_invariants();
    ASSERT_EQ(engine.use(client, "default"), Outcome::done);
    {
      const AllocationFailure failure(succeeding);
      outcome = engine.watch(client, name);
    }
    failures += outcome == Outcome::out_of_memory;
    ASSERT_EQ(client.watched_tubes(), outcome == Outcome::done ? 2u : 1u);
    ASSERT_EQ(tubes().size(), outcome == Outcome::done ? 2u : 1u);
    engine.check_invariants();
    if (outcome == Outcome::done) {
      ASSERT_EQ(engine.ignore(client, name), Outcome::done);
    }
  }
  EXPECT_GE(failures, 4);
}

TEST_F(EngineClients, WithoutMemoryAClientIsNotTakenIn) {
  int failures = 0;
  for (int i = 0; i < 50; ++i) {
    for (int succeeding = 0;; ++succeeding) {
      Client client(nullptr);
      bool opened = false;
      {
        const AllocationFailure failure(succeeding);
        opened = engine.open(client);
      }
      ASSERT_EQ(engine.counts().clients, opened ? 1u : 0u);
      engine.check_invariants();
      if (opened) {
        engine.close(client, world.now);
        break;
      }
      ++failures;
    }
  }
  EXPECT_GT(failures, 50);
}

TEST_F(EngineClients, WithoutMemoryToHoldAJobItStaysWhereItIs) {
  Client& client = world.connect();
  const JobId id = world.put(client);
  ReserveResult result{Outcome::done};
  {
    const AllocationFailure failure;
    result = engine.reserve(client, world.now, world.now);
  }
  EXPECT_EQ(result.outcome, Outcome::out_of_memory);
  EXPECT_EQ(world.state(id), JobState::ready);
  {
    const AllocationFailure failure;
    result = engine.reserve_job(client, id, world.now);
  }
  EXPECT_EQ(result.outcome, Outcome::out_of_memory);
  EXPECT_EQ(world.state(id), JobState::ready);
  EXPECT_EQ(world.report(id).reserves, 0u);
}

// The memory for the delivery was allocated when the client began to wait.
TEST_F(EngineClients, AWaitingWorkerGetsItsJobEvenWithoutMemory) {
  Client& producer = world.connect();
  Client& worker = world.connect();
  const JobId id = world.put(producer);
  ASSERT_EQ(world.reserve(producer), id);
  world.wait(worker);
  {
    const AllocationFailure failure;
    engine.stop_waiting(worker, Delivery::Kind::timed_out);
  }
  EXPECT_EQ(world.take_deliveries(), (Gots{got_timed_out(worker)}));
  world.wait(worker);
  journal.written.reserve(100);
  Outcome outcome = Outcome::not_found;
  {
    const AllocationFailure failure;
    outcome = engine.release(producer, id, 1, 0, world.now);
  }
  ASSERT_EQ(outcome, Outcome::done);
  EXPECT_EQ(world.take_deliveries(), (Gots{got_job(worker, id)}));
}

}  // namespace
}  // namespace haricot
