// Random times and commands for the pair.

#include "queue/engine_pair.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/engine_state.hpp"

namespace haricot::test {
void EnginePair::step() {
  const std::uint64_t kind = random_.below(100);
  if (clients_.empty() || (kind < 4 && clients_.size() < 8)) {
    open();
  } else if (kind < 7) {
    close();
  } else if (kind < 29) {
    pass();
  } else if (kind < 30) {
    hand_over();
  } else {
    command();
  }
  if (::testing::Test::HasFatalFailure()) return;
  compare_all();
}

std::string EnginePair::some_tube() {
  static const std::array<const char*, 5> kNames{"default", "a", "b", "c", "d"};
  return kNames[random_.below(kNames.size())];
}

JobId EnginePair::some_id() {
  if (model_.jobs.empty() || random_.one_in(20)) return random_.below(200);
  auto chosen = model_.jobs.begin();
  std::advance(chosen, random_.below(model_.jobs.size()));
  return chosen->first;
}

// Usually a job that the client holds.
JobId EnginePair::some_held_id(int client) {
  const ModelJob* held = model_.first_ending(client);
  return held == nullptr || random_.one_in(4) ? some_id() : held->id;
}

std::uint32_t EnginePair::some_priority() {
  static const std::array<std::uint32_t, 5> kPriorities{0, 5, 1023, 1024, 4294967295};
  return kPriorities[random_.below(kPriorities.size())];
}

std::uint32_t EnginePair::some_seconds() {
  return static_cast<std::uint32_t>(random_.one_in(30) ? 4294967295 : random_.below(12));
}

// In rounds with lanes most jobs are in one of few lanes, so most of them are blocked.
std::string_view EnginePair::some_tags() {
  if (!has_lanes_ || random_.one_in(4)) return {};
  static const std::array<const char*, 6> kTags{"con:x",   "con:z",   "con:y",
                                                "con:y:2", "con:y:3", "con:x:2"};
  return kTags[random_.below(kTags.size())];
}

void EnginePair::open() {
  const int number = next_client_++;
  clients_[number] = &world_->connect();
  model_.open(number);
}

void EnginePair::close() {
  auto chosen = clients_.begin();
  std::advance(chosen, random_.below(clients_.size()));
  world_->disconnect(*chosen->second);
  model_.close(chosen->first, now());
  clients_.erase(chosen);
  compare_deliveries();
}

void EnginePair::hand_over() {
  if (!engine().is_at_rest()) return;
  std::vector<const Client*> before;
  for (const auto& [number, client] : clients_) before.push_back(client);
  const std::string state = engine_state(engine(), before);

  auto next = std::make_unique<World>(now());
  next->journal.go_on_from(world_->journal);
  const std::vector<Client*> after = restore_engine(state, *next, before.size());
  for (std::size_t i = 0; auto& [number, client] : clients_) client = after[i++];
  const std::vector<const Client*> same(after.begin(), after.end());
  ASSERT_EQ(engine_state(next->engine, same), state) << "something is lost, or comes back as more";
  world_ = std::move(next);
}

int EnginePair::number_of(const Client* client) const {
  for (const auto& [number, pointer] : clients_) {
    if (pointer == client) return number;
  }
  return -1;
}

void EnginePair::pass() {
  const Duration step =
      random_.one_in(5) ? Duration::seconds(some_seconds() % 40)
                        : Duration::milliseconds(static_cast<std::int64_t>(random_.below(1500)));
  const Instant end = now() + step;
  while (engine().next_event() <= end) {
    advance_to(std::max(now(), engine().next_event()));
    if (::testing::Test::HasFatalFailure()) return;
  }
  advance_to(end);
}

// The owners of deadlines that are due at the same moment are handled in some order. The model
// tries all orders until one matches the engine.
void EnginePair::advance_to(Instant time) {
  world_->now = time;
  engine().advance(time);
  const std::vector<ModelGot> got = take();
  const std::vector<std::string> tubes = model_.due_tubes(time);
  const std::vector<int> clients = model_.due_clients(time);
  std::vector<std::size_t> order(tubes.size() + clients.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  ASSERT_LE(order.size(), 7u) << "too many to try: choose other numbers for this test";
  do {
    Model tried = model_;
    for (const std::size_t owner : order) {
      if (owner < tubes.size()) {
        tried.fire_tube(tubes[owner], time);
      } else {
        tried.fire_client(clients[owner - tubes.size()], time);
      }
    }
    if (tried.deliveries != got || !agrees(tried)) continue;
    tried.deliveries.clear();
    model_ = tried;
    return;
  } while (std::next_permutation(order.begin(), order.end()));
  FAIL() << "no order of " << order.size() << " owners explains the engine's deliveries";
}

// Compares only the orders that depend on time; the rest is compared later.
bool EnginePair::agrees(const Model& tried) {
  for (const auto& [id, job] : tried.jobs) {
    const std::optional<JobReport> report = engine().queries().report(id, now());
    if (!report || report->state != job.state || report->reserves != job.reserves) return false;
  }
  return true;
}

void EnginePair::command() {
  auto chosen = clients_.begin();
  std::advance(chosen, random_.below(clients_.size()));
  const int number = chosen->first;
  Client& client = *chosen->second;
  if (client.is_busy()) {
    if (random_.one_in(3)) {
      engine().stop_waiting(client, Delivery::Kind::timed_out);
      model_.stop_waiting(number);
      compare_deliveries();
    }
    return;
  }
  const bool refused = random_.one_in(15);
  if (refused) world_->journal.refuse_from(1, JournalStatus::full);
  switch (random_.below(20)) {
    case 0:
    case 1:
    case 2:
    case 3:
      put(number, client, refused);
      break;
    case 4:
    case 5:
    case 6:
      reserve(number, client);
      break;
    case 7:
      change(number, client, refused);
      break;
    case 8:
      kick(number, client, refused);
      break;
    case 9:
      tube_command(number, client);
      break;
    case 10:
      flush(client, refused);
      break;
    case 11:
      reserve_batch(number, client);
      break;
    case 12:
      delete_batch(number, client, refused);
      break;
    case 13:
      ASSERT_EQ(world_->touch_all(client).jobs, model_.touch_all(number, now()));
      break;
    default:
      held_command(number, client, refused);
      break;
  }
  world_->journal.accept();
  compare_deliveries();
}

void EnginePair::put(int number, Client& client, bool refused) {
  if (model_.jobs.size() >= jobs_max_) {
    const JobId id = some_id();
    ASSERT_EQ(engine().delete_job(client, id), model_.delete_job(number, id, refused, now()));
    return;
  }
  const NewJob job{.id = engine().take_id(),
                   .priority = some_priority(),
                   .delay_s = some_delay(),
                   .ttr_s = some_seconds(),
                   .tags = some_tags()};
  engine().mark_producer(client);
  model_.clients[number].producer = true;
  const std::string body(random_.one_in(5) ? 1025 : random_.below(50), 'x');
  const Outcome outcome = engine().put(client, job, test::body_of_bytes(body), now());
  ASSERT_EQ(outcome, model_.put(number, job, refused, now()));
}

void EnginePair::reserve(int number, Client& client) {
  const Instant wait_end =
      random_.one_in(4) ? Instant::never() : now() + Duration::seconds(some_delay());
  JobId reserved = 0;
  const Outcome expected = model_.reserve(number, wait_end, now(), reserved);
  const ReserveResult result = engine().reserve(client, wait_end, now());
  ASSERT_EQ(result.outcome, expected);
  ASSERT_EQ(world_->id_of(result.job), reserved);
}

void EnginePair::change(int number, Client& client, bool refused) {
  const JobId id = some_id();
  if (random_.one_in(2)) {
    ASSERT_EQ(engine().kick_job(id, now()), model_.kick_job(id, refused, now()));
  } else {
    const ReserveResult result = engine().reserve_job(client, id, now());
    ASSERT_EQ(result.outcome, model_.reserve_job(number, id, refused, now()));
  }
}

void EnginePair::kick(int number, Client& client, bool refused) {
  const auto bound = static_cast<std::uint32_t>(random_.below(6));
  std::uint32_t room_for = bound;
  if (refused) {
    room_for = static_cast<std::uint32_t>(random_.below(3));
    world_->journal.refuse_from(room_for + 1, JournalStatus::failed);
  }
  std::uint64_t kicked = 0;
  const Outcome expected = model_.kick(number, bound, room_for, now(), kicked);
  const test::Ended result = world_->kick(client, bound);
  ASSERT_EQ(result.outcome, expected);
  ASSERT_EQ(result.jobs, kicked);
}

JobStates EnginePair::some_states() {
  switch (random_.below(4)) {
    case 0:
      return {.ready = true};
    case 1:
      return {.delayed = true};
    case 2:
      return {.buried = true};
    default:
      return {.ready = true, .delayed = true, .buried = true};
  }
}

// If the journal refuses the first job, nothing happens; later, the others are deleted as soon as
// it accepts them.
void EnginePair::flush(Client& client, bool refused) {
  const std::string tube = some_tube();
  const JobStates states = some_states();
  const bool exists = model_.find_tube(tube) != nullptr;
  const std::vector<JobId> flushed = model_.flushed_by(tube, states);
  const std::uint64_t asked = refused ? random_.below(4) : flushed.size() + 1;
  world_->journal.refuse_from(asked + 1, JournalStatus::failed);
  const test::Ended result = world_->flush(client, tube, states);
  engine().check_invariants();
  world_->journal.accept();
  if (!exists) {
    ASSERT_EQ(result.outcome, Outcome::not_found);
    return;
  }
  if (flushed.empty() || asked > flushed.size()) {
    ASSERT_EQ(result.outcome, Outcome::done);
    ASSERT_EQ(result.jobs, flushed.size());
  } else {
    ASSERT_EQ(result.outcome, Outcome::journal_failed);
    if (asked == 0) return;
    for (const JobId id : flushed) ASSERT_FALSE(world_->exists(id)) << id;
    engine().resume_tasks(now());
  }
  model_.take_away(tube, flushed);
}

void EnginePair::reserve_batch(int number, Client& client) {
  const auto count = static_cast<std::uint32_t>(1 + random_.below(4));
  const Instant wait_end =
      random_.one_in(4) ? Instant::never() : now() + Duration::seconds(some_delay());
  std::vector<JobId> expected;
  const Outcome outcome = model_.reserve_batch(number, count, wait_end, now(), expected);
  std::vector<JobRef> taken;
  const BatchBound bound = {[](void*, std::uint32_t) { return true; }, nullptr};
  ASSERT_EQ(engine().reserve_batch(client, count, bound, wait_end, now(), taken), outcome);
  ASSERT_EQ(ids_of(taken), expected);
}

void EnginePair::delete_batch(int number, Client& client, bool refused) {
  std::vector<JobId> ids;
  for (std::uint64_t left = 1 + random_.below(4); left > 0; --left) {
    ids.push_back(some_held_id(number));
    if (random_.one_in(3)) ids.push_back(some_id());
  }
  std::uint32_t deleted = 0;
  const Outcome outcome = model_.delete_batch(number, ids, refused, now(), deleted);
  const test::Ended result = world_->delete_batch(client, ids);
  ASSERT_EQ(result.outcome, outcome);
  if (outcome != Outcome::done) return;
  ASSERT_EQ(result.jobs, deleted);
  ASSERT_EQ(result.not_found, ids.size() - deleted);
}

void EnginePair::tube_command(int number, Client& client) {
  const std::string tube = some_tube();
  switch (random_.below(4)) {
    case 0:
      ASSERT_EQ(engine().use(client, tube), Outcome::done);
      model_.use(number, tube);
      break;
    case 1:
      ASSERT_EQ(engine().watch(client, tube), Outcome::done);
      model_.watch(number, tube);
      break;
    case 2:
      ASSERT_EQ(engine().ignore(client, tube), model_.ignore(number, tube));
      break;
    default: {
      const std::uint32_t seconds = some_delay() % 1000;
      ASSERT_EQ(engine().pause(tube, seconds, now()), model_.pause(tube, seconds, now()));
      break;
    }
  }
}

void EnginePair::held_command(int number, Client& client, bool refused) {
  const JobId id = some_held_id(number);
  const std::uint32_t priority = some_priority();
  switch (random_.below(5)) {
    case 0:
    case 1: {
      const std::uint32_t delay = some_delay();
      ASSERT_EQ(engine().release(client, id, priority, delay, now()),
                model_.release(number, id, priority, delay, refused, now()));
      break;
    }
    case 2:
      ASSERT_EQ(engine().bury(client, id, priority),
                model_.bury(number, id, priority, refused, now()));
      break;
    case 3:
      ASSERT_EQ(engine().touch(client, id, now()), model_.touch(number, id, now()));
      break;
    default:
      ASSERT_EQ(engine().delete_job(client, id), model_.delete_job(number, id, refused, now()));
      break;
  }
}

}  // namespace haricot::test
