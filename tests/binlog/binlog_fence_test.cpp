// Two servers on one volume. The first one has lost the folder without noticing. It is paused at
// any call for any time, and continues. Its check of the epoch may read a state that is a second
// old.
//
//   acknowledged by the first server        is in the folder that the second server has read
//   done by the first server afterwards     changes nothing for the second server, or for a third
//
// The real fence is in src/os. These tests use a simulated one with the same contract.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "haricot/binlog/binlog.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/read/replay.hpp"
#include "haricot/queue/engine.hpp"
#include "shared_volume.hpp"
#include "support/blob_of.hpp"
#include "support/job_history.hpp"
#include "support/log_maker.hpp"
#include "support/random.hpp"
#include "support/sim_disk.hpp"

namespace haricot::binlog {
namespace {

using test::Random;

constexpr std::int64_t kWallOfAll = 1'700'000'000'000'000'000;
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr BinlogOptions kSharedOptions{.file_bytes = 4096,
                                       .sync = SyncPolicy::every_turn,
                                       .large_body_bytes = 3000,
                                       .slice_bytes = 700};

// The jobs that a server would find in the folder now.
struct FoundByReplay {
  explicit FoundByReplay(Disk& disk)
      : journal(disk, kSharedOptions),
        engine(Instant::at(kMillisecond), journal),
        segments(engine.jobs()) {
    Replay replay(disk, engine, segments);
    EXPECT_TRUE(replay.run(Duration::nanoseconds(kWallOfAll), Instant::at(kMillisecond)))
        << replay.error();
    for (const Problem& problem : replay.report().problems) {
      if (is_damage(problem)) damage += to_sentence(problem) + "\n";
    }
    file_count = replay.report().files.size();
  }

  Binlog journal;  // Never opened.
  Engine engine;
  Segments segments;
  std::string damage;
  std::size_t file_count = 0;
};

class SharingServer {
 public:
  SharingServer(SharedVolume& volume, std::uint32_t epoch,
                const BinlogOptions& options = kSharedOptions)
      : volume_(volume),
        disk(volume, epoch),
        binlog(disk, options),
        history(binlog),
        engine(now(), history),
        epoch_(epoch) {}
  ~SharingServer() { engine.close(client, now()); }

  // Opens the folder like the real server: its epoch is already written.
  [[nodiscard]] bool open() {
    binlog.set_note(volume_.disk.folder_note());
    binlog.set_epoch(epoch_);
    EXPECT_TRUE(engine.open(client));
    if (!binlog.open(engine, Duration::nanoseconds(kWallOfAll), now(), 0x5151 + epoch_, {},
                     error)) {
      return false;
    }
    history.begin(engine, Duration::nanoseconds(kWallOfAll));
    for (const auto& change : history.changes()) ids_.push_back(change.id);
    return true;
  }

  // Does the work of a turn of the daemon. Adds acknowledged changes to `acknowledged`.
  void turn() {
    Random& random = volume_.random;
    while (!disk.is_fenced() && !disk.is_fresh()) (void)disk.check();
    if (disk.is_fenced()) return;
    engine.advance(now());
    for (std::uint64_t i = random.below(4); i > 0; --i) command();
    binlog.end_turn(now());
    for (std::uint64_t i = random.below(4); i > 0 && disk.step(); --i) binlog.end_turn(now());
    (void)binlog.may_try_again();
    while (binlog.next_notice()) {
    }
    if (!disk.is_fenced()) acknowledged = std::max(acknowledged, binlog.safe_records());
  }

  bool close() {
    const bool good = binlog.close(now());
    if (good && !disk.is_fenced()) acknowledged = binlog.safe_records();
    return good;
  }

  Instant now() const { return Instant::at((volume_.now_ms + 1) * kMillisecond); }

  // Returns 0 if the disk refused the put.
  JobId put(std::size_t bytes) {
    const JobId id = engine.take_id();
    const std::string body = body_for(id, bytes);
    NewBody content{.bytes = body, .blob = {}};
    if (bytes > JobStore::kInlineBodyBytesMax) content = {.bytes = {}, .blob = test::blob_of(body)};
    const NewJob job{id, static_cast<std::uint32_t>(volume_.random.below(100)), 0, 1000};
    Outcome outcome = Outcome::not_yet;
    for (int i = 0; i < 60 && outcome == Outcome::not_yet && !disk.is_fenced(); ++i) {
      outcome = engine.put(client, job, std::move(content), now());
      if (outcome != Outcome::not_yet) break;
      binlog.end_turn(now());
      (void)disk.step();
    }
    if (outcome != Outcome::done) return 0;
    ids_.push_back(id);
    return id;
  }

 private:
  JobId random_id() { return ids_.empty() ? 1 : ids_[volume_.random.below(ids_.size())]; }

  void random_put() {
    Random& random = volume_.random;
    put(random.below(20) == 0 ? 3000 + random.below(3000) : random.below(300));
  }

  void command() {
    const JobId id = random_id();
    switch (volume_.random.below(10)) {
      case 0:
      case 1:
        (void)engine.delete_job(client, id);
        break;
      case 2:
      case 3:
        if (engine.reserve_job(client, id, now()).outcome == Outcome::done) {
          (void)engine.bury(client, id, 7);
        }
        break;
      case 4:
        (void)engine.kick_job(id, now());
        break;
      default:
        random_put();
        break;
    }
  }

  SharedVolume& volume_;

 public:
  SharedDisk disk;
  Binlog binlog;
  JobHistory history;
  Engine engine;
  Client client{nullptr};
  std::string error;
  std::uint64_t acknowledged = 0;

 private:
  const std::uint32_t epoch_;
  std::vector<JobId> ids_;
};

constexpr int kTurnsTogether = 60;

// Two servers on one volume, and the checks at the end. The seed determines all random choices.
class TwoServers {
 public:
  explicit TwoServers(std::uint64_t seed) : volume_(seed) {}
  void pause_at_any_call();
  void run_together();
  void pause_while_stopping();
  void lose_power();

 private:
  std::string lost_of(const SharingServer& server, const FoundByReplay& found, std::uint64_t safe) {
    return server.history.compare(found.engine, Duration::nanoseconds(kWallOfAll),
                                  kWallOfAll + volume_.now_ms * kMillisecond, safe);
  }
  void run(SharingServer& server, int turns) {
    for (int i = 0; i < turns; ++i) server.turn();
  }
  // Writes the epoch and waits. The folder that is read afterwards may be a second old as well, so
  // the wait here is shorter by that second.
  void settle(const std::function<void()>& meanwhile) {
    volume_.write_epoch(2, false);
    const std::int64_t until =
        volume_.now_ms + kLagMs + 1 + static_cast<std::int64_t>(volume_.random.below(kLagMs));
    while (volume_.now_ms < until) {
      meanwhile();
      volume_.now_ms += 10;
    }
  }
  // Gives the folder to the second server.
  void take_over(const std::function<void()>& meanwhile) {
    settle(meanwhile);
    found_ = std::make_unique<FoundByReplay>(volume_.disk);
    second_ = std::make_unique<SharingServer>(volume_, 2);
    ASSERT_TRUE(second_->open()) << second_->error;
    run(*second_, static_cast<int>(volume_.random.below(kTurnsTogether)));
  }
  // Checks all promises after both servers have stopped writing.
  void expect_promises(const SharingServer& first) {
    ASSERT_NE(second_, nullptr);
    EXPECT_EQ(lost_of(first, *found_, first.acknowledged), "");
    EXPECT_FALSE(second_->disk.is_fenced());
    const bool is_stopped = volume_.random.below(2) == 0;
    if (is_stopped) {
      EXPECT_TRUE(second_->close());
    }
    volume_.write_epoch(3);
    const FoundByReplay found(volume_.disk);
    EXPECT_EQ(lost_of(*second_, found, second_->acknowledged), "");
    EXPECT_EQ(found.damage, "");
    SharingServer third(volume_, 3);
    ASSERT_TRUE(third.open()) << third.error;
    EXPECT_EQ(
        second_->history.compare(third.engine, Duration::nanoseconds(kWallOfAll),
                                 kWallOfAll + volume_.now_ms * kMillisecond, second_->acknowledged),
        "");
    run(third, 20);
    EXPECT_TRUE(third.close());
  }

  SharedVolume volume_;
  std::unique_ptr<FoundByReplay> found_;
  std::unique_ptr<SharingServer> second_;
};

void TwoServers::pause_at_any_call() {
  volume_.write_epoch(1);
  SharingServer first(volume_, 1);
  ASSERT_TRUE(first.open()) << first.error;
  run(first, static_cast<int>(volume_.random.below(kTurnsTogether)));
  first.disk.pause_at(1 + volume_.random.below(200), [this] { take_over([] {}); });
  for (int i = 0; i < 1000 && !first.disk.has_paused(); ++i) first.turn();
  ASSERT_NE(second_, nullptr);
  for (int i = 0; i < kTurnsTogether; ++i) {
    first.turn();
    if (volume_.random.below(2) == 0) second_->turn();
  }
  EXPECT_TRUE(first.disk.is_fenced());
  expect_promises(first);
}

void TwoServers::run_together() {
  volume_.write_epoch(1);
  SharingServer first(volume_, 1);
  ASSERT_TRUE(first.open()) << first.error;
  run(first, static_cast<int>(volume_.random.below(kTurnsTogether)));
  take_over([&first] { first.turn(); });
  for (int i = 0; i < kTurnsTogether; ++i) {
    if (volume_.random.below(2) == 0) first.turn();
    second_->turn();
  }
  EXPECT_TRUE(first.disk.is_fenced());
  expect_promises(first);
}

// Pauses the first server while it stops, after it has lost the folder.
void TwoServers::pause_while_stopping() {
  volume_.write_epoch(1);
  SharingServer first(volume_, 1);
  ASSERT_TRUE(first.open()) << first.error;
  run(first, static_cast<int>(volume_.random.below(kTurnsTogether)));
  first.disk.pause_at(1 + volume_.random.below(6), [this] { take_over([] {}); });
  bool is_stopped = false;
  try {
    is_stopped = first.close();
  } catch (const FencedServerEnds&) {
    EXPECT_TRUE(first.disk.is_fenced());
  }
  // It ended before the pause, successfully or not.
  if (second_ == nullptr) take_over([] {});
  if (is_stopped) {
    EXPECT_EQ(lost_of(first, *found_, first.acknowledged), "");
  }
  for (int i = 0; i < 20; ++i) second_->turn();
  expect_promises(first);
}

// The first server is paused at any call. Later the volume loses its power at any call of the
// second one, also of its start, or after a late call of the first one.
void TwoServers::lose_power() {
  volume_.write_epoch(1);
  SharingServer first(volume_, 1);
  ASSERT_TRUE(first.open()) << first.error;
  run(first, static_cast<int>(volume_.random.below(kTurnsTogether)));
  std::unique_ptr<SimDisk> image;
  const SharingServer* owner = &first;
  const SharingServer* last = nullptr;  // The owner when the power was lost.
  std::uint64_t safe = 0;
  const auto cut = [&] {
    if (image != nullptr) return;
    image = volume_.disk.crash(volume_.random);
    last = owner;
    safe = owner->acknowledged;
  };
  first.disk.pause_at(1 + volume_.random.below(200), [&] {
    settle([] {});
    second_ = std::make_unique<SharingServer>(volume_, 2);
    second_->disk.pause_at(1 + volume_.random.below(400), cut);
    ASSERT_TRUE(second_->open()) << second_->error;
    owner = second_.get();
    run(*second_, static_cast<int>(volume_.random.below(kTurnsTogether)));
  });
  for (int i = 0; i < 1000 && !first.disk.has_paused(); ++i) first.turn();
  ASSERT_NE(second_, nullptr);
  for (std::uint64_t turns = volume_.random.below(kTurnsTogether); turns > 0; --turns) {
    first.turn();
    if (volume_.random.below(2) == 0) second_->turn();
  }
  cut();
  SharedVolume left(volume_.random.bits(), std::move(image));
  left.now_ms = volume_.now_ms;
  for (std::uint32_t epoch = 3; epoch < 6; ++epoch) {
    left.write_epoch(epoch);
    SharingServer next(left, epoch);
    ASSERT_TRUE(next.open()) << next.error;
    EXPECT_TRUE(next.binlog.replayed().is_sound());
    EXPECT_EQ(last->history.compare(next.engine, Duration::nanoseconds(kWallOfAll),
                                    kWallOfAll + left.now_ms * kMillisecond, safe),
              "");
  }
}

// Number of seeds of each test, or of images.
std::uint64_t seeds_of_each() {
  constexpr std::uint64_t kSeeds = 300;
  const char* given = std::getenv("HARICOT_IMAGES");
  return given == nullptr ? kSeeds : std::strtoull(given, nullptr, 10);
}

void run_each_seed(void (TwoServers::*run)()) {
  const std::uint64_t first = test::given_seed().value_or(1);
  const std::uint64_t end = first + seeds_of_each();
  for (std::uint64_t seed = first; seed < end && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TwoServers servers(seed);
    (servers.*run)();
  }
}

TEST(BinlogFence, APausedServerChangesNothingAfterItContinues) {
  run_each_seed(&TwoServers::pause_at_any_call);
}

TEST(BinlogFence, AServerBesideItsSuccessorLosesNoAcknowledgedJob) {
  run_each_seed(&TwoServers::run_together);
}

TEST(BinlogFence, AServerPausedWhileItStopsChangesNothing) {
  run_each_seed(&TwoServers::pause_while_stopping);
}

TEST(BinlogFence, AVolumeThatLosesItsPowerKeepsAcknowledgedJobs) {
  run_each_seed(&TwoServers::lose_power);
}

// Starts that fail -----------------------------------------------------------------------------

// The failed start has an epoch and wrote no note.
TEST(BinlogFenceStart, TheNoteIsUsedAfterAFailedStart) {
  SharedVolume volume(1);
  volume.write_epoch(1);
  SharingServer first(volume, 1);
  ASSERT_TRUE(first.open());
  while (volume.disk.folder_note().newest < 3) first.turn();
  // A loss of power as it begins the next file.
  volume.disk.put(binlog_file_name(first.binlog.numbers().current_index + 1), "");
  volume.disk.inject({.call = DiskCall::sync_folder});
  volume.write_epoch(2);
  SharingServer second(volume, 2);
  ASSERT_FALSE(second.open());
  volume.write_epoch(3);
  SharingServer third(volume, 3);
  ASSERT_TRUE(third.open());
  EXPECT_TRUE(third.binlog.replayed().is_sound()) << "the note states that it had no record";
}

// Late servers ---------------------------------------------------------------------------------

constexpr JobId kJobOfFirst = 7;

// Returns the bytes of a file of its own folder: with the job, or only with the deletion of another
// one.
std::string file_of(std::uint32_t number, std::uint32_t epoch, std::uint32_t oldest_needed,
                    std::uint32_t file_of_job = 1) {
  constexpr std::uint64_t kStore = 99;
  LogMaker file({.salt = salt_of(kStore, number),
                 .next_id = kJobOfFirst + 1,
                 .file_number = number,
                 .store_id = kStore,
                 .run = run_of_epoch(epoch),
                 .epoch = epoch,
                 .oldest_needed = oldest_needed});
  const std::string body = body_for(kJobOfFirst, 10) + "\r\n";
  if (number == file_of_job) {
    file.add(full_record(kJobOfFirst, "default", body));
  } else {
    file.add(change_record(kJobOfFirst + 100, RecordState::deleted));
  }
  return file.bytes();
}

// A loss of power may restore a removed file and lose the records about its jobs. The next server
// has found these jobs, so its own statement of needed files holds from then on.
TEST(BinlogFenceFiles, ARestoredFileIsNeededIfALaterServerStatesIt) {
  for (const std::uint32_t oldest : {1U, 3U}) {
    SimDisk disk;
    disk.put("binlog.1", file_of(1, 1, 1));
    disk.put("binlog.2", file_of(2, 1, 2));
    disk.put("binlog.3", file_of(3, 2, oldest));
    const FoundByReplay found(disk);
    EXPECT_EQ(found.engine.peek(kJobOfFirst) != JobRef::none, oldest == 1) << oldest;
  }
}

// A server of epoch 3 skips the file with the job and begins a file of its own. The server after it
// also skips that file.
void expect_passed_over(SharedVolume& volume, const char* with_job, const char* begun) {
  volume.write_epoch(3);
  SharingServer server(volume, 3);
  ASSERT_TRUE(server.open()) << server.error;
  EXPECT_EQ(server.engine.peek(kJobOfFirst), JobRef::none);
  ASSERT_TRUE(volume.disk.has(with_job) && volume.disk.has(begun));
  EXPECT_EQ(FoundByReplay(volume.disk).engine.peek(kJobOfFirst), JobRef::none);
}

// The file stays until compaction removes it, so the next server may find it too.
TEST(BinlogFenceFiles, ASkippedFileIsNotNeededByItsServer) {
  SharedVolume volume(1);
  volume.disk.put("binlog.1", file_of(1, 1, 1));
  volume.disk.put("binlog.2", file_of(2, 2, 2));
  expect_passed_over(volume, "binlog.1", "binlog.3");
}

// A file in front of it has lost its head, so its server is unknown. If it were needed, all files
// after it would be too.
TEST(BinlogFenceFiles, AFileWithoutAHeadIsSkippedWithTheOthers) {
  SharedVolume volume(1);
  constexpr std::uint32_t kOfJob = 2;
  std::string headless = file_of(1, 1, 1, kOfJob);
  std::fill_n(headless.begin(), kFirstRecordOffset, '\0');
  volume.disk.put("binlog.1", headless);
  volume.disk.put("binlog.2", file_of(2, 1, 1, kOfJob));
  volume.disk.put("binlog.3", std::string());
  volume.disk.put("binlog.4", file_of(4, 2, 4));
  expect_passed_over(volume, "binlog.2", "binlog.5");
}

// The call has failed, and the name exists all the same: the volume has lost the answer, or it has
// created the second name and kept the first.
TEST(BinlogFenceFiles, AFailedFileDoesNotOutlastTheDeletionOfItsJob) {
  constexpr std::size_t kBytes = 20'000;
  for (const bool is_there : {true, false}) {
    SharedVolume volume(1);
    volume.write_epoch(1);
    SharingServer server(volume, 1);
    ASSERT_TRUE(server.open());
    volume.disk.inject({.call = DiskCall::rename, .takes_effect = is_there});
    const std::string in_vain = binlog_file_name(server.binlog.numbers().current_index + 1);
    const JobId id = server.put(kBytes);
    ASSERT_NE(id, 0U);
    ASSERT_EQ(volume.disk.faults_hit(), 1U);
    ASSERT_EQ(volume.disk.has(in_vain), is_there);
    for (int i = 0; i < 100; ++i) {
      server.binlog.end_turn(server.now());
      (void)server.disk.step();
      // A server that took over the folder would have read the file.
      ASSERT_TRUE(!volume.disk.has(in_vain) || volume.disk.bytes_of(in_vain).size() > kBytes);
    }
    ASSERT_FALSE(server.binlog.numbers().refusing);
    EXPECT_EQ(FoundByReplay(volume.disk).damage, "");
    ASSERT_EQ(server.engine.delete_job(server.client, id), Outcome::done);
    const std::uint64_t with_deletion = server.binlog.numbers().current_index;
    for (int i = 0; i < 1000 && server.binlog.numbers().oldest_index <= with_deletion; ++i) {
      const JobId small = server.put(200);
      (void)server.engine.delete_job(server.client, small);
      server.binlog.end_turn(server.now());
      while (server.disk.step()) server.binlog.end_turn(server.now());
    }
    ASSERT_GT(server.binlog.numbers().oldest_index, with_deletion);
    EXPECT_FALSE(volume.disk.has(in_vain));
    const FoundByReplay found(volume.disk);
    EXPECT_EQ(found.engine.peek(id), JobRef::none);
    EXPECT_EQ(found.damage, "");
  }
}

// Returns the file whose epoch is lower than that of an earlier file; empty: there is none.
std::string late_file_in(SimDisk& disk) {
  FolderFacts facts;
  std::string error;
  EXPECT_TRUE(gather_facts(disk, disk.folder_note(), 0, facts, error)) << error;
  FolderPlan plan = begin_plan(facts);
  set_late_aside(plan);
  return plan.problems.empty() ? "" : plan.problems.front().file;
}

// The volume fails when the first server begins a file, so this server skips a number. It is paused
// when it begins the next file, until another server has begun the one with that number. A server
// with --strict starts all the same: nothing that was acknowledged is lost.
TEST(BinlogFenceFiles, AFileOfAServerThatHadLostTheFolderIsLeftAside) {
  constexpr std::uint64_t kCalls = 300;
  BinlogOptions strict = kSharedOptions;
  strict.strict = true;
  std::uint64_t found = 0;
  for (std::uint64_t call = 1; call <= kCalls && !HasFailure(); ++call) {
    SCOPED_TRACE("paused at call " + std::to_string(call));
    SharedVolume volume(1);
    volume.write_epoch(1);
    SharingServer first(volume, 1);
    ASSERT_TRUE(first.open()) << first.error;
    volume.disk.inject({.call = DiskCall::rename});
    std::unique_ptr<SharingServer> second;
    first.disk.pause_at(call, [&] {
      volume.disk.clear_faults();
      volume.write_epoch(2);
      second = std::make_unique<SharingServer>(volume, 2);
      ASSERT_TRUE(second->open()) << second->error;
      for (int i = 0; i < 3; ++i) second->turn();
    });
    while (!first.disk.is_fenced()) first.turn();
    ASSERT_NE(second, nullptr);
    const std::string late = late_file_in(volume.disk);
    if (late.empty()) continue;
    ++found;
    volume.write_epoch(3);
    SharingServer third(volume, 3, strict);
    ASSERT_TRUE(third.open()) << third.error;
    EXPECT_EQ(
        second->history.compare(third.engine, Duration::nanoseconds(kWallOfAll),
                                kWallOfAll + volume.now_ms * kMillisecond, second->acknowledged),
        "");
    EXPECT_FALSE(volume.disk.has(late));
    EXPECT_TRUE(volume.disk.has(late + ".aside.1"));
    EXPECT_EQ(late_file_in(volume.disk), "");
  }
  EXPECT_GT(found, 0U);
}

}  // namespace
}  // namespace haricot::binlog
