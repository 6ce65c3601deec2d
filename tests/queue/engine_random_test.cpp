// Random commands and random times, given to the engine and to a naive model of it at once. After
// every step both have to agree on everything, and the engine has to agree with itself.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "queue/engine_model.hpp"
#include "support/engine_world.hpp"
#include "support/random.hpp"

namespace haricot {
namespace {

using test::FakeJournal;
using test::Got;
using test::got_flush_failed;
using test::Gots;
using test::Model;
using test::ModelClient;
using test::ModelGot;
using test::ModelJob;
using test::ModelTube;
using test::Random;
using test::World;

class Pair {
 public:
  Pair(Random& random, std::size_t jobs_max) : random_(random), jobs_max_(jobs_max) {}

  void step() {
    const std::uint64_t kind = random_.below(100);
    if (clients_.empty() || (kind < 4 && clients_.size() < 8)) {
      open();
    } else if (kind < 7) {
      close();
    } else if (kind < 30) {
      pass();
    } else {
      command();
    }
    if (::testing::Test::HasFatalFailure()) return;
    compare_all();
  }

 private:
  Engine& engine() { return world_.engine; }
  Instant now() const { return world_.now; }

  // Choosing --------------------------------------------------------------------------------------

  std::string some_tube() {
    static const std::array<const char*, 5> kNames{"default", "a", "b", "c", "d"};
    return kNames[random_.below(kNames.size())];
  }
  JobId some_id() {
    if (model_.jobs.empty() || random_.one_in(20)) return random_.below(200);
    auto chosen = model_.jobs.begin();
    std::advance(chosen, random_.below(model_.jobs.size()));
    return chosen->first;
  }
  // Mostly one that the client holds.
  JobId some_held_id(int client) {
    const ModelJob* held = model_.first_ending(client);
    return held == nullptr || random_.one_in(4) ? some_id() : held->id;
  }
  std::uint32_t some_priority() {
    static const std::array<std::uint32_t, 5> kPriorities{0, 5, 1023, 1024, 4294967295};
    return kPriorities[random_.below(kPriorities.size())];
  }
  std::uint32_t some_seconds() {
    return static_cast<std::uint32_t>(random_.one_in(30) ? 4294967295 : random_.below(12));
  }
  std::uint32_t some_delay() { return random_.one_in(2) ? 0 : some_seconds(); }

  // Clients ---------------------------------------------------------------------------------------

  void open() {
    const int number = next_client_++;
    clients_[number] = &world_.connect();
    model_.open(number);
  }
  void close() {
    auto chosen = clients_.begin();
    std::advance(chosen, random_.below(clients_.size()));
    world_.disconnect(*chosen->second);
    model_.close(chosen->first, now());
    clients_.erase(chosen);
    compare_deliveries();
  }
  int number_of(const Client* client) const {
    for (const auto& [number, pointer] : clients_) {
      if (pointer == client) return number;
    }
    return -1;
  }

  // Time ------------------------------------------------------------------------------------------

  void pass() {
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

  // All that is due at one moment is done in some order of its owners. The model tries them all
  // until one explains what the engine did.
  void advance_to(Instant time) {
    world_.now = time;
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

  // Whether the orders that only time makes are the same: the rest is compared in any case.
  bool agrees(const Model& tried) {
    for (const auto& [id, job] : tried.jobs) {
      const std::optional<JobReport> report = engine().report(id, now());
      if (!report || report->state != job.state || report->reserves != job.reserves) return false;
    }
    return true;
  }

  // Commands --------------------------------------------------------------------------------------

  void command() {
    auto chosen = clients_.begin();
    std::advance(chosen, random_.below(clients_.size()));
    const int number = chosen->first;
    Client& client = *chosen->second;
    if (client.is_busy()) {
      if (random_.one_in(3)) {
        engine().stop_waiting(client);
        model_.stop_waiting(number);
        compare_deliveries();
      }
      return;
    }
    const bool refused = random_.one_in(15);
    if (refused) world_.journal.refuse_from(1, JournalStatus::full);
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
      default:
        held_command(number, client, refused);
        break;
    }
    world_.journal.accept();
    compare_deliveries();
  }

  void put(int number, Client& client, bool refused) {
    if (model_.jobs.size() >= jobs_max_) {
      const JobId id = some_id();
      ASSERT_EQ(engine().delete_job(client, id), model_.delete_job(number, id, refused));
      return;
    }
    const NewJob job{.id = engine().take_id(),
                     .priority = some_priority(),
                     .delay_s = some_delay(),
                     .ttr_s = some_seconds()};
    engine().mark_producer(client);
    model_.clients[number].producer = true;
    const std::string body(random_.one_in(5) ? 1025 : random_.below(50), 'x');
    const Outcome outcome = engine().put(client, job, test::body_of_bytes(body), now());
    ASSERT_EQ(outcome, model_.put(number, job, refused, now()));
  }

  void reserve(int number, Client& client) {
    const Instant wait_end =
        random_.one_in(4) ? Instant::never() : now() + Duration::seconds(some_delay());
    JobId reserved = 0;
    const Outcome expected = model_.reserve(number, wait_end, now(), reserved);
    const ReserveResult result = engine().reserve(client, wait_end, now());
    ASSERT_EQ(result.outcome, expected);
    ASSERT_EQ(world_.id_of(result.job), reserved);
  }

  void change(int number, Client& client, bool refused) {
    const JobId id = some_id();
    if (random_.one_in(2)) {
      ASSERT_EQ(engine().kick_job(id, now()), model_.kick_job(id, refused, now()));
    } else {
      const ReserveResult result = engine().reserve_job(client, id, now());
      ASSERT_EQ(result.outcome, model_.reserve_job(number, id, refused, now()));
    }
  }

  void kick(int number, Client& client, bool refused) {
    const auto bound = static_cast<std::uint32_t>(random_.below(6));
    std::uint32_t room_for = bound;
    if (refused) {
      room_for = static_cast<std::uint32_t>(random_.below(3));
      world_.journal.refuse_from(room_for + 1, JournalStatus::failed);
    }
    std::uint64_t kicked = 0;
    const Outcome expected = model_.kick(number, bound, room_for, now(), kicked);
    const ManyResult result = engine().kick(client, bound, now());
    ASSERT_EQ(result.outcome, expected);
    ASSERT_EQ(result.jobs, kicked);
  }

  JobStates some_states() {
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

  // If the journal refuses, which of the jobs have gone is not promised, only how many; and that
  // the others are where they were.
  void flush(Client& client, bool refused) {
    const std::string tube = some_tube();
    const JobStates states = some_states();
    const bool exists = model_.find_tube(tube) != nullptr;
    const std::vector<JobId> flushed = model_.flushed_by(tube, states);
    std::uint64_t room_for = flushed.size();
    if (refused) {
      room_for = std::min<std::uint64_t>(room_for, random_.below(4));
      world_.journal.refuse_from(room_for + 1, JournalStatus::failed);
    }
    const ManyResult result = engine().flush(client, tube, states);
    if (!exists) {
      ASSERT_EQ(result.outcome, Outcome::not_found);
      return;
    }
    if (room_for == flushed.size()) {
      ASSERT_EQ(result.outcome, Outcome::done);
      ASSERT_EQ(result.jobs, flushed.size());
      model_.take_away(tube, flushed);
      return;
    }
    ASSERT_EQ(result.outcome, Outcome::waiting);
    engine().check_invariants();
    for (const JobId id : flushed) ASSERT_FALSE(world_.exists(id)) << id;
    engine().advance(now());
    ASSERT_EQ(world_.take_deliveries(), (Gots{got_flush_failed(client, room_for)}));
    std::vector<JobId> gone;
    for (const JobId id : flushed) {
      if (!world_.exists(id)) gone.push_back(id);
    }
    ASSERT_EQ(gone.size(), room_for);
    model_.take_away(tube, gone);
    if (states.delayed) follow_ties(tube);
  }

  // In which order jobs of one deadline are put back is not promised.
  void follow_ties(const std::string& tube) {
    const Tube* found = engine().find_tube(tube);
    if (found == nullptr) return;
    std::vector<JobRef> delayed;
    engine().list(*found, JobState::delayed, 1000, delayed);
    for (const JobRef ref : delayed) {
      model_.jobs.at(world_.id_of(ref)).arrival = ++model_.deadlines_set;
    }
  }

  void reserve_batch(int number, Client& client) {
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

  void delete_batch(int number, Client& client, bool refused) {
    std::vector<JobId> ids;
    for (std::uint64_t left = 1 + random_.below(4); left > 0; --left) {
      ids.push_back(some_held_id(number));
      if (random_.one_in(3)) ids.push_back(some_id());
    }
    std::uint32_t deleted = 0;
    const Outcome outcome = model_.delete_batch(number, ids, refused, deleted);
    const DeleteResult result = engine().delete_batch(client, ids);
    ASSERT_EQ(result.outcome, outcome);
    if (outcome != Outcome::done) return;
    ASSERT_EQ(result.deleted, deleted);
    ASSERT_EQ(result.not_found, ids.size() - deleted);
  }

  void tube_command(int number, Client& client) {
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

  void held_command(int number, Client& client, bool refused) {
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
        ASSERT_EQ(engine().bury(client, id, priority), model_.bury(number, id, priority, refused));
        break;
      case 3:
        ASSERT_EQ(engine().touch(client, id, now()), model_.touch(number, id, now()));
        break;
      default:
        ASSERT_EQ(engine().delete_job(client, id), model_.delete_job(number, id, refused));
        break;
    }
  }

  // Comparing -------------------------------------------------------------------------------------

  std::vector<ModelGot> take() {
    std::vector<ModelGot> got;
    for (const Got& one : world_.take_deliveries()) {
      got.push_back({number_of(one.client), one.kind, one.job});
    }
    return got;
  }

  void compare_deliveries() {
    ASSERT_EQ(take(), model_.deliveries);
    model_.deliveries.clear();
  }

  void compare_all() {
    engine().check_invariants();
    compare_counts();
    compare_jobs();
    compare_looks();
    compare_tubes();
    compare_clients();
    compare_journal();
  }

  void compare_counts() {
    const EngineCounts& counts = engine().counts();
    std::map<JobState, std::uint64_t> states;
    std::uint64_t urgent = 0;
    for (const auto& [id, job] : model_.jobs) {
      ++states[job.state];
      if (job.state == JobState::ready && job.priority < 1024) ++urgent;
    }
    ASSERT_EQ(counts.urgent, urgent);
    ASSERT_EQ(counts.ready, states[JobState::ready]);
    ASSERT_EQ(counts.reserved, states[JobState::reserved]);
    ASSERT_EQ(counts.delayed, states[JobState::delayed]);
    ASSERT_EQ(counts.buried, states[JobState::buried]);
    ASSERT_EQ(counts.timeouts, model_.timeouts);
    ASSERT_EQ(counts.total_jobs, model_.total_jobs);
    std::uint32_t producers = 0;
    std::uint32_t workers = 0;
    std::uint32_t waiting = 0;
    for (const auto& [number, client] : model_.clients) {
      producers += client.producer ? 1 : 0;
      workers += client.worker ? 1 : 0;
      waiting += client.waiting ? 1 : 0;
    }
    ASSERT_EQ(counts.clients, model_.clients.size());
    ASSERT_EQ(counts.producers, producers);
    ASSERT_EQ(counts.workers, workers);
    ASSERT_EQ(counts.waiting, waiting);
  }

  void compare_jobs() {
    ASSERT_EQ(engine().jobs().size(), model_.jobs.size());
    for (const auto& [id, job] : model_.jobs) {
      const std::optional<JobReport> report = engine().report(id, now());
      ASSERT_TRUE(report.has_value());
      ASSERT_EQ(report->tube->name, job.tube);
      ASSERT_EQ(report->state, job.state) << id;
      ASSERT_EQ(report->priority, job.priority);
      ASSERT_EQ(report->delay_s, job.delay_s);
      ASSERT_EQ(report->ttr_s, job.ttr_s);
      ASSERT_EQ(report->age_s, (now() - job.created).whole_seconds());
      const bool runs = job.state == JobState::delayed || job.state == JobState::reserved;
      ASSERT_EQ(report->time_left_s, runs ? (job.deadline - now()).whole_seconds() : 0);
      ASSERT_EQ(report->reserves, job.reserves);
      ASSERT_EQ(report->timeouts, job.timeouts);
      ASSERT_EQ(report->releases, job.releases);
      ASSERT_EQ(report->buries, job.buries);
      ASSERT_EQ(report->kicks, job.kicks);
    }
  }

  // A random look of each kind.
  void compare_looks() {
    const std::string tube = some_tube();
    const Tube* found = engine().find_tube(tube);
    if (found == nullptr) return;
    const JobId from = random_.below(300);
    const auto count = static_cast<std::uint32_t>(1 + random_.below(6));
    const JobState state = std::array{JobState::ready, JobState::reserved, JobState::delayed,
                                      JobState::buried}[random_.below(4)];
    const bool of_tube = random_.one_in(2);
    const bool of_state = random_.one_in(2);
    std::vector<JobRef> seen;
    const ScanResult result = engine().scan(from, count, of_tube ? found : nullptr,
                                            of_state ? std::optional(state) : std::nullopt, seen);
    std::vector<JobId> expected;
    auto at = model_.jobs.lower_bound(from);
    for (; at != model_.jobs.end() && expected.size() < count; ++at) {
      if (of_tube && at->second.tube != tube) continue;
      if (of_state && at->second.state != state) continue;
      expected.push_back(at->first);
    }
    ASSERT_EQ(ids_of(seen), expected);
    ASSERT_EQ(result.next, at == model_.jobs.end() ? 0 : at->first);

    if (state == JobState::reserved) return;
    seen.clear();
    engine().list(*found, state, count, seen);
    Model left = model_;
    expected.clear();
    while (expected.size() < count) {
      const ModelJob* job = state == JobState::ready     ? left.first_ready(tube)
                            : state == JobState::delayed ? left.first_delayed(tube)
                                                         : left.first_buried(tube);
      if (job == nullptr) break;
      expected.push_back(job->id);
      left.jobs.erase(expected.back());
    }
    ASSERT_EQ(ids_of(seen), expected);
  }

  std::vector<JobId> ids_of(const std::vector<JobRef>& refs) const {
    std::vector<JobId> ids;
    for (const JobRef ref : refs) ids.push_back(world_.id_of(ref));
    return ids;
  }

  void compare_tubes() {
    ASSERT_EQ(engine().tubes().size(), model_.tubes.size());
    for (std::uint32_t i = 0; i < engine().tubes().size(); ++i) {
      const Tube& tube = engine().tubes().at(i);
      const ModelTube& expected = model_.tubes[i];
      ASSERT_EQ(tube.name, expected.name);
      ASSERT_EQ(tube.ready.size(), model_.count(tube.name, JobState::ready));
      ASSERT_EQ(tube.delayed.size(), model_.count(tube.name, JobState::delayed));
      ASSERT_EQ(tube.buried, model_.count(tube.name, JobState::buried));
      ASSERT_EQ(tube.reserved, model_.count(tube.name, JobState::reserved));
      ASSERT_EQ(tube.total_jobs, expected.total_jobs);
      ASSERT_EQ(tube.deletes, expected.deletes);
      ASSERT_EQ(tube.pauses, expected.pauses);
      ASSERT_EQ(tube.paused, expected.paused);
      ASSERT_EQ(tube.pause_s, expected.pause_s);
      if (tube.paused) {
        ASSERT_EQ(tube.pause_end, expected.pause_end);
      }
    }
  }

  void compare_clients() {
    for (const auto& [number, client] : clients_) {
      const ModelClient& expected = model_.clients.at(number);
      ASSERT_EQ(client->used().name, expected.used);
      ASSERT_EQ(client->is_waiting(), expected.waiting);
      ASSERT_EQ(client->watched_tubes(), expected.watched.size());
      for (std::uint32_t i = 0; i < client->watched_tubes(); ++i) {
        ASSERT_EQ(client->watched(i).name, expected.watched[i]);
      }
      const int holder = number;
      ASSERT_EQ(client->held_jobs(),
                std::count_if(model_.jobs.begin(), model_.jobs.end(), [&](const auto& entry) {
                  return entry.second.state == JobState::reserved && entry.second.holder == holder;
                }));
      const auto id_or_0 = [](const ModelJob* job) { return job == nullptr ? JobId{0} : job->id; };
      ASSERT_EQ(world_.id_of(engine().peek_ready(*client)),
                id_or_0(model_.first_ready(expected.used)));
      ASSERT_EQ(world_.id_of(engine().peek_delayed(*client)),
                id_or_0(model_.first_delayed(expected.used)));
      ASSERT_EQ(world_.id_of(engine().peek_buried(*client)),
                id_or_0(model_.first_buried(expected.used)));
    }
  }

  // What a restart would make of the records so far has the same jobs, with the same fields.
  void compare_journal() {
    for (; read_ < world_.journal.written.size(); ++read_) {
      const FakeJournal::Record& record = world_.journal.written[read_];
      const bool is_known = recorded_.count(record.id) != 0;
      ASSERT_EQ(is_known, record.kind != FakeJournal::Kind::put) << record.id;
      if (record.kind == FakeJournal::Kind::deletion) {
        recorded_.erase(record.id);
      } else {
        recorded_.insert_or_assign(record.id, record);
      }
    }
    ASSERT_EQ(recorded_.size(), model_.jobs.size());
    for (const auto& [id, job] : model_.jobs) {
      const FakeJournal::Record& record = recorded_.at(id);
      ASSERT_EQ(record.tube, job.tube);
      ASSERT_EQ(record.priority, job.priority);
      ASSERT_EQ(record.delay_s, job.delay_s);
      ASSERT_EQ(record.ttr_s, job.ttr_s);
      if (job.state == JobState::buried) {
        ASSERT_EQ(record.state, JobState::buried);
      }
      if (job.state == JobState::delayed) {
        ASSERT_EQ(record.state, JobState::delayed);
        ASSERT_EQ(record.deadline, job.deadline);
      }
    }
    ASSERT_FALSE(world_.journal.has_open_room());
  }

  Random& random_;
  std::size_t jobs_max_;
  World world_;
  Model model_;
  std::map<int, Client*> clients_;
  int next_client_ = 0;
  std::size_t read_ = 0;
  std::map<JobId, FakeJournal::Record> recorded_;
};

TEST(Engine, DoesWhatTheModelDoes) {
  Random random;
  for (int round = 0; round < 12; ++round) {
    // With few jobs clients wait for them, with many there is always one.
    static constexpr std::array<std::size_t, 3> kJobsMax{4, 12, 40};
    Pair pair(random, kJobsMax[random.below(kJobsMax.size())]);
    for (int step = 0; step < 2000; ++step) {
      SCOPED_TRACE("round " + std::to_string(round) + ", step " + std::to_string(step));
      pair.step();
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace haricot
