// An engine with a journal, clients and a time, for tests: takes the place of a service and a
// clock.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "haricot/queue/engine.hpp"
#include "support/blob_of.hpp"
#include "support/fake_journal.hpp"

namespace haricot::test {

// Delivery to a client, with the job's id instead of its reference.
struct Got {
  const Client* client;
  Delivery::Kind kind;
  JobId job = 0;
  std::uint64_t count = 0;  // Jobs of a long task.

  bool operator==(const Got&) const = default;
};

inline void PrintTo(const Got& got, std::ostream* out) {
  const char* const kinds[] = {
      "reserved",      "reserved_in_batch", "timed_out",     "deadline_soon",
      "aborted",       "mode_fifo",         "mode_weighted", "watching",
      "out_of_memory", "touched_all",       "job_not_found", "kicked",
      "flushed",       "batch_deleted",     "job_deleted",   "job_buried",
      "failed"};
  *out << "{" << kinds[static_cast<int>(got.kind)] << " client " << got.client << " job " << got.job
       << " count " << got.count << "}";
}

// Outcome of a command that may be long. `waiting`: its answer has yet to come.
struct Ended {
  Outcome outcome;
  std::uint64_t jobs = 0;
  std::uint32_t not_found = 0;
};

inline NewBody body_of_bytes(std::string_view bytes) {
  if (bytes.size() <= JobStore::kInlineBodyBytesMax) return {.bytes = bytes, .blob = {}};
  return {.bytes = {}, .blob = blob_of(bytes)};
}

struct PutOptions {
  std::uint32_t priority = 100;
  std::uint32_t delay_s = 0;
  std::uint32_t ttr_s = 60;
  std::string_view body = "body";
  std::string_view tags = {};
};

class World {
 public:
  explicit World(Instant start = Instant::at(1'000'000'000'000))
      : now(start), engine(now, journal) {}
  ~World() {
    while (!clients_.empty()) disconnect(*clients_.back());
    EXPECT_FALSE(journal.has_open_room());
  }

  Client& connect() {
    clients_.push_back(std::make_unique<Client>(nullptr));
    EXPECT_TRUE(engine.open(*clients_.back()));
    return *clients_.back();
  }
  void disconnect(Client& client) {
    engine.close(client, now);
    std::erase_if(clients_, [&](const auto& owned) { return owned.get() == &client; });
  }

  // Puts a job, which must succeed, and returns its id.
  JobId put(Client& client, const PutOptions& options = {}) {
    const JobId id = engine.take_id();
    EXPECT_EQ(try_put(client, id, options), Outcome::done);
    return id;
  }
  Outcome try_put(Client& client, JobId id, const PutOptions& options = {}) {
    const NewJob job{.id = id,
                     .priority = options.priority,
                     .delay_s = options.delay_s,
                     .ttr_s = options.ttr_s,
                     .tags = options.tags};
    return engine.put(client, job, body_of_bytes(options.body), now);
  }

  // Restores a job in the tube "default"; a delayed one with this delay.
  void restore(JobId id, JobState state, std::string_view tags, std::uint32_t delay_s) {
    const RestoredJob job = {.id = id, .created = now, .ttr_s = 60, .state = state, .tags = tags};
    const JobRef ref = engine.restoring().restore(job, "default", body_of_bytes("body"));
    ASSERT_NE(ref, JobRef::none);
    ASSERT_TRUE(engine.restoring().place(ref, now + Duration::seconds(delay_s)));
  }

  // Reserves without waiting. Returns the job's id, or 0 if there is none.
  JobId reserve(Client& client) {
    const ReserveResult result = engine.reserve(client, now, now);
    return result.outcome == Outcome::done ? engine.jobs()[result.job].id : 0;
  }
  // Reserves a job, and expects to wait.
  void wait(Client& client, Instant until = Instant::never()) {
    EXPECT_EQ(engine.reserve(client, until, now).outcome, Outcome::waiting);
  }
  void wait_s(Client& client, std::uint32_t seconds) {
    wait(client, now + Duration::seconds(seconds));
  }

  // Commands that may be long.
  Ended kick(Client& client, std::uint32_t bound) {
    return end_of(client, [&] { return engine.kick(client, bound, now); });
  }
  Ended flush(Client& client, std::string_view tube_name, JobStates states) {
    return end_of(client, [&] { return engine.flush(client, tube_name, states); });
  }
  Ended delete_batch(Client& client, std::span<const JobId> ids) {
    return end_of(client, [&] { return engine.delete_batch(client, ids); });
  }
  Ended touch_all(Client& client) {
    return end_of(client, [&] { return engine.touch_all(client, now); });
  }
  Outcome set_weighted(Client& client, bool weighted) {
    return end_of(client, [&] { return engine.set_weighted(client, weighted); }).outcome;
  }
  Outcome watch(Client& client, std::string_view tube_name, std::uint32_t weight) {
    return end_of(client, [&] { return engine.watch(client, tube_name, weight); }).outcome;
  }

  // Advances the time like a daemon: with a call at each event.
  void pass(Duration duration) {
    const Instant end = now + duration;
    while (engine.next_event() <= end) {
      now = std::max(now, engine.next_event());
      engine.advance(now);
    }
    now = end;
    engine.advance(now);
  }
  void pass_s(std::uint32_t seconds) { pass(Duration::seconds(seconds)); }
  void pass_ms(std::int64_t milliseconds) { pass(Duration::milliseconds(milliseconds)); }

  // Returns the deliveries since the last call.
  std::vector<Got> take_deliveries() {
    std::vector<Got> got = std::exchange(heard_, {});
    for (const Delivery& delivery : engine.deliveries()) {
      const bool has_job = delivery.job != JobRef::none;
      got.push_back({delivery.client, delivery.kind,
                     has_job ? engine.jobs()[delivery.job].id : JobId{0}, delivery.count});
    }
    engine.clear_deliveries();
    return got;
  }

  JobReport report(JobId id) {
    const std::optional<JobReport> report = engine.queries().report(id, now);
    EXPECT_TRUE(report.has_value()) << "no job " << id;
    return report.value_or(JobReport{});
  }
  JobState state(JobId id) { return report(id).state; }
  bool exists(JobId id) const { return engine.peek(id) != JobRef::none; }
  const Tube& tube(std::string_view name = "default") const { return *engine.find_tube(name); }
  JobId id_of(JobRef ref) const { return ref == JobRef::none ? 0 : engine.jobs()[ref].id; }

  Instant now;
  FakeJournal journal;
  Engine engine;

 private:
  // Runs the command. An answer that is there at once is not a delivery of take_deliveries().
  template <typename Command>
  Ended end_of(const Client& client, Command command) {
    heard_ = take_deliveries();
    Ended ended{command()};
    if (client.is_busy() || engine.deliveries().empty()) return ended;
    const Delivery answer = engine.deliveries().back();
    EXPECT_TRUE(answer.client == &client && answer.is_at_once);
    const bool is_failed = answer.kind == Delivery::Kind::failed;
    const bool has_no_memory = answer.kind == Delivery::Kind::out_of_memory;
    ended = {is_failed       ? Outcome::journal_failed
             : has_no_memory ? Outcome::out_of_memory
                             : Outcome::done,
             answer.count, answer.not_found};
    heard_ = take_deliveries();
    heard_.pop_back();
    return ended;
  }

  std::vector<Got> heard_;
  std::vector<std::unique_ptr<Client>> clients_;
};

inline Got got_job(const Client& client, JobId id) {
  return {&client, Delivery::Kind::reserved, id, 0};
}
inline Got got_timed_out(const Client& client) {
  return {&client, Delivery::Kind::timed_out};
}
inline Got got_deadline_soon(const Client& client) {
  return {&client, Delivery::Kind::deadline_soon};
}
inline Got got_kicked(const Client& client, std::uint64_t kicked) {
  return {&client, Delivery::Kind::kicked, 0, kicked};
}
inline Got got_flushed(const Client& client, std::uint64_t flushed) {
  return {&client, Delivery::Kind::flushed, 0, flushed};
}
inline Got got_flush_failed(const Client& client, std::uint64_t flushed) {
  return {&client, Delivery::Kind::failed, 0, flushed};
}
inline Got got_job_in_batch(const Client& client, JobId id) {
  return {&client, Delivery::Kind::reserved_in_batch, id, 0};
}

using Gots = std::vector<Got>;

// Test of an engine. Checks all invariants at its end.
class EngineTest : public ::testing::Test {
 protected:
  void TearDown() override { engine.check_invariants(); }

  // Puts that many jobs, and reserves all of them for one client.
  std::vector<JobId> hold(Client& client, std::uint32_t jobs, std::uint32_t ttr_s = 60) {
    std::vector<JobId> ids;
    for (std::uint32_t i = 0; i < jobs; ++i) {
      ids.push_back(world.put(client, {.ttr_s = ttr_s}));
      EXPECT_EQ(world.reserve(client), ids.back());
    }
    return ids;
  }

  World world;
  Engine& engine = world.engine;
  FakeJournal& journal = world.journal;
};

}  // namespace haricot::test
