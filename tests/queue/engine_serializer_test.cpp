#include "haricot/queue/engine_serializer.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "haricot/base/little_endian.hpp"
#include "haricot/queue/job.hpp"
#include "support/engine_state.hpp"

namespace haricot {
namespace {

using test::engine_state;
using test::EngineTest;
using test::Gots;
using test::restore_engine;
using test::World;

class EngineSerializerTest : public EngineTest {
 protected:
  // Continues in another engine with the whole state. Its first clients are those of this one.
  void move_to_next() {
    const std::vector<const Client*> before(clients_.begin(), clients_.end());
    ASSERT_TRUE(engine.is_at_rest());
    const std::string state = engine_state(engine, before);
    next_.journal.go_on_from(world.journal);
    next_.now = world.now;
    clients_ = restore_engine(state, next_, before.size());
    const std::vector<const Client*> same(clients_.begin(), clients_.end());
    ASSERT_EQ(engine_state(next_.engine, same), state);
  }
  Client& connect() {
    clients_.push_back(&world.connect());
    return *clients_.back();
  }
  Client& after(std::size_t index) { return *clients_[index]; }

  World next_;
  std::vector<Client*> clients_;
};

TEST_F(EngineSerializerTest, AnEmptyEngineIsRestored) {
  move_to_next();
  EXPECT_EQ(next_.engine.jobs().size(), 0U);
  EXPECT_EQ(next_.put(next_.connect()), 1U);
}

TEST_F(EngineSerializerTest, JobsKeepTheirPlacesTimesAndBodies) {
  Client& client = connect();
  const std::string large(5000, 'l');
  const JobId ready = world.put(client, {.body = large});
  const JobId delayed = world.put(client, {.delay_s = 10});
  const JobId held = world.put(client, {.priority = 1, .ttr_s = 20});
  ASSERT_EQ(world.reserve(client), held);
  world.pass_s(3);
  move_to_next();

  EXPECT_EQ(next_.engine.jobs().body(next_.engine.peek(ready)), large);
  EXPECT_EQ(next_.report(delayed).time_left_s, 7U);
  EXPECT_EQ(next_.report(held).time_left_s, 17U);
  EXPECT_EQ(next_.report(held).age_s, 3U);
  EXPECT_EQ(next_.report(held).reserves, 1U);
  next_.pass_ms(6'999);
  EXPECT_EQ(next_.state(delayed), JobState::delayed);
  next_.pass_ms(1);
  EXPECT_EQ(next_.state(delayed), JobState::ready);
  next_.pass_s(10);
  EXPECT_EQ(next_.state(held), JobState::ready);
  EXPECT_EQ(next_.report(held).timeouts, 1U);
}

TEST_F(EngineSerializerTest, JobsKeepTheirNotes) {
  Client& client = connect();
  const JobId with = world.put(client);
  const JobId without = world.put(client);
  const std::string note("a\0\r\nnote", 8);
  ASSERT_EQ(engine.set_note(client, with, note), Outcome::done);
  move_to_next();
  EXPECT_EQ(next_.report(with).note, note);
  EXPECT_EQ(next_.report(without).note, "");
}

TEST_F(EngineSerializerTest, BuriedJobsKeepTheirOrderAndAges) {
  Client& client = connect();
  std::vector<JobId> ids = hold(client, 3, 1000);
  constexpr std::size_t kOrder[] = {1, 2, 0};
  for (const std::size_t i : kOrder) {
    ASSERT_EQ(engine.bury(client, ids[i], 5), Outcome::done);
    world.pass_s(60);
  }
  move_to_next();
  EXPECT_EQ(next_.engine.queries().detail(next_.tube(), next_.now).oldest_buried_s, 180U);
  for (const std::size_t i : kOrder) {
    EXPECT_EQ(next_.report(ids[i]).burial_cause, BurialCause::client);
    EXPECT_EQ(next_.id_of(next_.engine.queries().peek_buried(after(0))), ids[i]);
    EXPECT_EQ(next_.engine.kick_job(ids[i], next_.now), Outcome::done);
  }
}

TEST_F(EngineSerializerTest, TheLongestWaitIsServedFirst) {
  Client& producer = connect();
  Client& second = connect();
  Client& first = connect();
  world.wait(first);
  world.wait_s(second, 5);
  move_to_next();
  const JobId id = next_.put(after(0));
  EXPECT_EQ(next_.take_deliveries(), (Gots{test::got_job(after(2), id)}));
  next_.pass_s(5);
  EXPECT_EQ(next_.take_deliveries(), (Gots{test::got_timed_out(after(1))}));
  (void)producer;
}

TEST_F(EngineSerializerTest, AWaitKeepsItsKindOfAnswer) {
  Client& batch = connect();
  Client& abortable = connect();
  std::vector<JobRef> none;
  const BatchBound bound = {[](void*, std::uint32_t) { return true; }, nullptr};
  ASSERT_EQ(
      engine.reserve_batch(batch, 3, bound, world.now + Duration::seconds(2), world.now, none),
      Outcome::waiting);
  ASSERT_EQ(engine.reserve(abortable, Instant::never(), world.now, WaitFor::job_or_input).outcome,
            Outcome::waiting);
  EXPECT_FALSE(batch.is_waiting_for_input());
  move_to_next();
  EXPECT_TRUE(after(1).is_waiting_for_input());
  next_.pass_s(2);
  EXPECT_EQ(next_.take_deliveries(), (Gots{{&after(0), Delivery::Kind::reserved_in_batch}}));
}

TEST_F(EngineSerializerTest, JobWaitsContinue) {
  Client& client = connect();
  const JobId id = world.put(client);
  Client& waiting = connect();
  Client& short_of_time = connect();
  ASSERT_EQ(engine.wait_job(waiting, id, world.now + Duration::seconds(60), world.now),
            Outcome::waiting);
  ASSERT_EQ(engine.wait_job(short_of_time, id, world.now + Duration::seconds(5), world.now),
            Outcome::waiting);
  move_to_next();
  EXPECT_TRUE(after(1).is_busy());
  next_.pass_ms(4'999);
  EXPECT_EQ(next_.take_deliveries(), Gots{});
  next_.pass_ms(1);
  EXPECT_EQ(next_.take_deliveries(), (Gots{test::got_timed_out(after(2))}));
  ASSERT_EQ(next_.engine.delete_job(after(0), id), Outcome::done);
  next_.pass_ms(1);
  EXPECT_EQ(next_.take_deliveries(), (Gots{{&after(1), Delivery::Kind::job_deleted}}));
  next_.engine.check_invariants();
}

TEST_F(EngineSerializerTest, WatchesKeepTheirOrderAndWeights) {
  Client& client = connect();
  for (const char* tube : {"b", "a"}) ASSERT_EQ(engine.watch(client, tube), Outcome::done);
  ASSERT_EQ(engine.ignore(client, "default"), Outcome::done);
  ASSERT_EQ(engine.watch(client, "default", 7), Outcome::waiting);
  world.pass_ms(1);
  ASSERT_EQ(engine.set_weighted(client, true), Outcome::waiting);
  world.pass_ms(1);
  world.take_deliveries();
  ASSERT_EQ(engine.use(client, "c"), Outcome::done);
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < client.watched_tubes(); ++i)
    names.push_back(client.watched(i).name);
  move_to_next();
  EXPECT_EQ(after(0).used().name, "c");
  ASSERT_EQ(after(0).watched_tubes(), names.size());
  for (std::uint32_t i = 0; i < names.size(); ++i) EXPECT_EQ(after(0).watched(i).name, names[i]);
}

TEST_F(EngineSerializerTest, AClientWithManyWatchesIsServedFromAll) {
  Client& worker = connect();
  for (int i = 0; i < 1500; ++i) {
    ASSERT_EQ(engine.watch(worker, "tube-" + std::to_string(i)), Outcome::done);
  }
  Client& producer = connect();
  ASSERT_EQ(engine.use(producer, "tube-700"), Outcome::done);
  const JobId id = world.put(producer);
  move_to_next();
  EXPECT_EQ(next_.reserve(after(0)), id);
  next_.wait(after(0));
  const JobId another = next_.put(after(1));
  EXPECT_EQ(next_.take_deliveries(), (Gots{test::got_job(after(0), another)}));
}

TEST_F(EngineSerializerTest, TagsPausesAndKeysAreRestored) {
  Client& client = connect();
  const JobId one = world.put(client, {.tags = "con:lane"});
  const JobId two = world.put(client, {.tags = "con:lane"});
  ASSERT_EQ(world.reserve(client), one);
  const JobId gone = world.put(client, {.tags = "idp:key:60"});
  ASSERT_EQ(engine.delete_job(client, gone), Outcome::done);
  const JobId tried = world.put(client, {.priority = 0, .ttr_s = 1, .tags = "try:1"});
  ASSERT_EQ(world.reserve(client), tried);
  ASSERT_EQ(engine.use(client, "paused"), Outcome::done);
  ASSERT_EQ(engine.pause("paused", 30, world.now), Outcome::done);
  world.pass_ms(500);
  move_to_next();
  EXPECT_EQ(next_.reserve(after(0)), 0U) << "the lane has one at work";
  ASSERT_EQ(next_.engine.use(after(0), "default"), Outcome::done);
  EXPECT_EQ(next_.try_put(after(0), next_.engine.take_id(), {.tags = "idp:key:60"}),
            Outcome::duplicate);
  EXPECT_EQ(next_.engine.delete_job(after(0), one), Outcome::done);
  EXPECT_EQ(next_.reserve(after(0)), two);
  next_.pass_ms(600);
  EXPECT_EQ(next_.state(tried), JobState::buried);
}

TEST_F(EngineSerializerTest, ABackoffContinues) {
  Client& client = connect();
  const JobId id = world.put(client, {.tags = "back:10"});
  const auto fail = [](test::World& in, Client& worker, JobId job) {
    ASSERT_EQ(in.engine.reserve_job(worker, job, in.now).outcome, Outcome::done);
    ASSERT_EQ(in.engine.release(worker, job, 1, 0, in.now), Outcome::done);
  };
  fail(world, client, id);
  ASSERT_EQ(engine.kick_job(id, world.now), Outcome::done);
  fail(world, client, id);
  const JobId held = world.put(client, {.ttr_s = 1, .tags = "back:30"});
  ASSERT_EQ(world.reserve(client), held);
  move_to_next();
  EXPECT_EQ(next_.report(id).time_left_s, 10U);
  fail(next_, after(0), id);
  EXPECT_EQ(next_.report(id).delay_s, 20U) << "the second try since the kick";
  next_.pass_ms(1000);
  EXPECT_EQ(next_.report(held).delay_s, 30U);
}

TEST_F(EngineSerializerTest, GroupsAndTheirJobsAreRestored) {
  Client& client = connect();
  // The held job has a smaller id than the last job of its group.
  const JobId first = world.put(client, {.tags = "grp:g"});
  const JobId held = world.put(client, {.delay_s = 7, .tags = "grp:then aft:g"});
  const JobId kicked = world.put(client, {.delay_s = 7, .tags = "aft:g"});
  ASSERT_EQ(engine.kick_job(kicked, world.now), Outcome::done);
  const JobId member = world.put(client, {.tags = "grp:g"});
  ASSERT_EQ(engine.delete_job(client, first), Outcome::done);
  move_to_next();

  EXPECT_TRUE(next_.report(held).is_held);
  EXPECT_FALSE(next_.report(kicked).is_held);
  ASSERT_NE(next_.engine.find_group("g"), nullptr);
  EXPECT_EQ(next_.engine.find_group("g")->held, 1U);
  EXPECT_EQ(next_.engine.find_group("then")->jobs_in(JobState::delayed), 1U);
  ASSERT_EQ(next_.engine.delete_job(after(0), member), Outcome::done);
  EXPECT_FALSE(next_.report(held).is_held);
  EXPECT_EQ(next_.report(held).time_left_s, 7U);
}

// The body of a job may come after that of a later one.
TEST_F(EngineSerializerTest, HeldJobsKeepTheirTurn) {
  Client& client = connect();
  world.put(client, {.tags = "grp:g"});
  const JobId late = engine.take_id();
  const JobId early = world.put(client, {.tags = "aft:g"});
  ASSERT_EQ(world.try_put(client, late, {.tags = "aft:g"}), Outcome::done);
  move_to_next();
  const Group* const group = next_.engine.find_group("g");
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(next_.engine.jobs()[group->first_held].id, early);
  EXPECT_EQ(next_.engine.jobs()[group->last_held].id, late);
}

TEST_F(EngineSerializerTest, AJobOfALostHolderIsGivenToAWaitingClient) {
  Client& holder = connect();
  const JobId id = hold(holder, 1)[0];
  Client& waiting = connect();
  world.wait(waiting);
  const std::string state = engine_state(engine, {&holder, &waiting});
  next_.now = world.now;
  StateReader reader(state);
  ASSERT_EQ(next_.engine.serializer().read(reader, Bodies::in_state), EngineSerializer::Read::good);
  Client& lost = next_.connect();
  ASSERT_TRUE(next_.engine.serializer().read_client(reader, lost));
  Client& after = next_.connect();
  ASSERT_TRUE(next_.engine.serializer().read_client(reader, after));
  next_.disconnect(lost);
  const std::vector<Client*> clients{nullptr, &after};
  ASSERT_TRUE(next_.engine.serializer().read_waits(reader, clients));
  EXPECT_EQ(next_.take_deliveries(), (Gots{test::got_job(after, id)}));
  next_.engine.check_invariants();
}

// A server that began with these numbers would overflow them.
TEST_F(EngineSerializerTest, ImpossibleNumbersAreRefused) {
  const std::string state = engine_state(engine, {});
  constexpr std::size_t kNextId = 4;  // After the word of the entry.
  constexpr std::size_t kArrivals = 12;
  const auto reads = [&](std::size_t at, std::uint64_t number) {
    std::string changed = state;
    store_little_endian(changed.data() + at, number);
    World other(world.now);
    StateReader reader(changed);
    return other.engine.serializer().read(reader, Bodies::in_state) == EngineSerializer::Read::good;
  };
  EXPECT_TRUE(reads(kNextId, kJobIdLast));
  EXPECT_FALSE(reads(kNextId, kJobIdLast + 1));
  EXPECT_TRUE(reads(kArrivals, std::uint64_t{1} << 63));
  EXPECT_FALSE(reads(kArrivals, ~std::uint64_t{0}));
}

// Arbitrary bytes leave the engine intact: it can be walked over and destroyed.
TEST_F(EngineSerializerTest, BytesThatCannotBeAreRefused) {
  Client& client = connect();
  hold(client, 2);
  world.put(client, {.delay_s = 5, .tags = "idp:k:60"});
  const std::string state = engine_state(engine, {&client});
  std::size_t refused = 0;
  for (std::size_t at = 0; at < state.size() - 4; ++at) {
    std::string changed = state;
    changed[at] = static_cast<char>(changed[at] ^ 0x81);
    World other(world.now);
    StateReader reader(changed);
    if (other.engine.serializer().read(reader, Bodies::in_state) != EngineSerializer::Read::good) {
      ++refused;
      continue;
    }
    Client& read = other.connect();
    if (!other.engine.serializer().read_client(reader, read)) ++refused;
  }
  EXPECT_GT(refused, 20U);
}

}  // namespace
}  // namespace haricot
