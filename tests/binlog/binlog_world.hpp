// A server without sessions for the tests of the binlog: a simulated disk, a binlog on it, an
// engine, a client, a clock, and the history of all records.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "haricot/binlog/binlog.hpp"
#include "haricot/queue/engine.hpp"
#include "support/blob_of.hpp"
#include "support/job_history.hpp"
#include "support/random.hpp"
#include "support/sim_disk.hpp"

namespace haricot::binlog {

inline constexpr std::int64_t kSecondNs = 1'000'000'000;
inline constexpr std::int64_t kWallBegin = 1'700'000'000'000'000'000;
inline constexpr BinlogOptions kSmallFiles{.file_bytes = 4096, .sync = SyncPolicy::every_turn};

// Values for tests of each policy, and their names.
inline const auto kEachSyncPolicy =
    ::testing::Values(SyncPolicy::every_turn, SyncPolicy::interval, SyncPolicy::never);
std::string name_of_policy(const ::testing::TestParamInfo<SyncPolicy>& policy);

struct PutOptions {
  std::size_t body_bytes = 20;
  std::uint32_t priority = 100;
  std::uint32_t delay_s = 0;
  std::uint32_t ttr_s = 60;
  std::string_view tags = {};  // Outlives the put.
};

// End of a command that may take several turns.
struct Ended {
  Outcome outcome;
  std::uint64_t jobs = 0;
  std::uint32_t not_found = 0;
};

class World {
 public:
  // Opens the binlog of that folder. A failure fails the test unless it `may_fail`. `after_read`:
  // fault injected after the jobs are read, when no other server has them. `epoch`: 0: none.
  World(SimDisk& disk, const BinlogOptions& options, std::int64_t wall = kWallBegin,
        bool may_fail = false, const Fault* after_read = nullptr, std::uint32_t epoch = 0);
  ~World() {
    disk.forbid_waiting(false);
    engine.close(client, now);
  }

  std::int64_t wall() const { return (now + wall_offset).count(); }
  bool is_open() const { return error.empty(); }

  // A put whose body has arrived. Later attempts use the same body, because the binlog identifies
  // it.
  struct PendingPut {
    PendingPut(JobId id, const PutOptions& options);
    PendingPut(const PendingPut&) = delete;
    PendingPut& operator=(const PendingPut&) = delete;

    NewJob job;
    std::string bytes;
    NewBody body;
  };

  // Commands. They do not end the turn, unless they have to wait for the disk: then they run again
  // when the binlog allows it.
  Outcome try_put(const PutOptions& options = {});
  JobId put(const PutOptions& options = {});  // Fails the test if it is refused.
  Outcome try_once(PendingPut& put);
  // Like try_put(), but does not wait.
  Outcome put_at_once(const PutOptions& options = {});
  bool use(std::string_view tube) { return engine.use(client, tube) == Outcome::done; }
  JobId reserve();
  Outcome reserve(JobId id) {
    return until_done([&] { return engine.reserve_job(client, id, now).outcome; });
  }
  Outcome delete_job(JobId id) {
    return until_done([&] { return engine.delete_job(client, id); });
  }
  Outcome release(JobId id, std::uint32_t priority = 100, std::uint32_t delay_s = 0) {
    return until_done([&] { return engine.release(client, id, priority, delay_s, now); });
  }
  Outcome bury(JobId id, std::uint32_t priority = 100) {
    return until_done([&] { return engine.bury(client, id, priority); });
  }
  Outcome kick_job(JobId id) {
    return until_done([&] { return engine.kick_job(id, now); });
  }
  Outcome set_note(JobId id, std::string_view note) {
    return until_done([&] { return engine.set_note(client, id, note); });
  }
  std::string_view note_of(JobId id) const { return engine.jobs().note(engine.peek(id)); }
  Ended kick(std::uint32_t bound);
  // Runs to its end. Returns true if the journal accepted all deletions.
  bool flush(std::string_view tube, JobStates states);
  Ended delete_batch(const std::vector<JobId>& ids);
  // Ends turns, and a sync in each, until waiting commands may try again.
  void wait_for_disk();
  // Runs a random command of a worker or producer. Returns false if the disk refused it.
  bool random_command(test::Random& random, std::size_t body_bytes_max);

  // Ends the turn, checks the invariants, and takes the notices for the log.
  void end_turn();
  // Begins a turn at a later time.
  void pass(Duration duration);
  // Runs turns while the binlog requests them, for that time. Fails if there is no end to them.
  void idle(Duration duration = Duration::seconds(10));
  bool close() {
    disk.forbid_waiting(false);  // The end of a server may wait.
    const bool good = binlog.close(now);
    take_notices();
    return good;
  }

  // Returns a description of the differences that another server would find in the folder; empty if
  // there are none.
  std::string compare(const World& restored, std::uint64_t safe, bool exactly = false) const {
    return history.compare(restored.engine, restored.wall_offset, restored.wall(), safe, exactly);
  }
  // Returns the report of the replay, for messages of failures.
  std::string replay_text() const;
  std::size_t files() const;
  std::uint64_t file_bytes() const { return disk.used_bytes(); }

  SimDisk& disk;
  Instant now;
  Duration wall_offset;
  Binlog binlog;
  JobHistory history;
  Engine engine;
  Client client{nullptr};
  std::string error;
  std::vector<std::string> notices;
  std::vector<std::int64_t> notice_times;

 private:
  template <typename Command>
  Outcome until_done(Command command) {
    Outcome outcome = command();
    for (int tries = 1; outcome == Outcome::not_yet; ++tries) {
      expect_end(tries);
      if (::testing::Test::HasFatalFailure()) break;
      wait_for_disk();
      outcome = command();
    }
    return outcome;
  }
  // Checks the number of attempts of one command.
  static void expect_end(int tries) {
    constexpr int kTriesMax = 5000;
    ASSERT_LT(tries, kTriesMax) << "a command gets `later` without end";
  }
  // Runs turns like a server until the client's task has ended. Time passes unless the disk has
  // work: a task that the journal has refused is retried after a pause.
  Ended end_of(Outcome outcome);
  void finish_task();
  void run_turns(Instant end);
  void take_notices();

  std::vector<JobId> known_ids_;  // Ids of jobs that were put; some may be deleted.
};

}  // namespace haricot::binlog
