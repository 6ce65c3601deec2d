// Every call of the disk fails, once or for some time, in a scenario that uses calls of every kind.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "binlog_world.hpp"
#include "support/sanitized.hpp"

namespace haricot::binlog {
namespace {

// Kind of failure.
struct Trouble {
  const char* name;
  Fault fault;
  SyncPolicy policy = SyncPolicy::every_turn;
  SyncMode sync_mode = SyncMode::at_once;
  FailedSync failed_sync = FailedSync::drops;
};

constexpr Duration kLongTrouble = Duration::seconds(90);

// Plays turns in which commands may be refused. A crash must not lose any acknowledged job.
class Scenario {
 public:
  Scenario(const Trouble& trouble, std::uint64_t seed) : trouble_(trouble), chance_(seed) {
    disk_ = std::make_unique<SimDisk>();
    {
      // Jobs to replay, so that reads can fail too.
      World before(*disk_, options());
      for (int i = 0; i < 12; ++i) before.put({.body_bytes = 700});
      for (int i = 0; i < 3; ++i) EXPECT_EQ(before.bury(before.reserve()), Outcome::done);
      before.end_turn();
      EXPECT_TRUE(before.close());
    }
    disk_->set_sync_mode(trouble.sync_mode);
    disk_->set_failed_sync(trouble.failed_sync);
  }

  // Returns true if the run ended without reaching the fault.
  bool play(std::uint64_t nth) {
    Fault fault = trouble_.fault;
    fault.nth = nth;
    disk_->inject(fault);
    auto world = std::make_unique<World>(*disk_, options(), kWallBegin + 1'000'000'000, true);
    if (!world->is_open()) {
      // The start has failed. The folder still has its jobs.
      EXPECT_GT(disk_->faults_hit(), 0U);
      world.reset();
      disk_->clear_faults();
      World again(*disk_, options(), kWallBegin + 2'000'000'000);
      EXPECT_EQ(again.engine.jobs().size(), 12U) << again.replay_text();
      return false;
    }
    EXPECT_EQ(world->engine.jobs().size(), 12U);
    for (int turn = 0; turn < 14; ++turn) play_turn(*world, turn);
    if (trouble_.fault.lasts) last_long(*world);
    const bool was_hit = disk_->faults_hit() > 0;
    // A fault that was not hit yet may hit the end.
    if (was_hit) disk_->clear_faults();
    if (was_hit) recover(*world);
    end(*world);
    return !was_hit && disk_->faults_hit() == 0;
  }

 private:
  // The largest job is written in slices.
  BinlogOptions options() const {
    return {
        .file_bytes = 4096, .sync = trouble_.policy, .large_body_bytes = 5000, .slice_bytes = 1500};
  }

  void play_turn(World& world, int turn) {
    world.pass(Duration::milliseconds(30));
    // Causes rotation, a job larger than a file, changes of all kinds, and garbage for compaction.
    (void)world.try_put({.body_bytes = turn == 5 ? 6000U : 900U});
    (void)world.try_put({.body_bytes = 50, .delay_s = 1});
    if (const JobId id = world.reserve(); id != 0) {
      if (turn % 3 == 0) (void)world.bury(id);
      if (turn % 3 == 1) (void)world.release(id, 5, turn % 2 == 0 ? 2 : 0);
      if (turn % 3 == 2) (void)world.delete_job(id);
    }
    for (JobId id = 1; id <= static_cast<JobId>(turn * 2); id += 3) {
      const Outcome outcome = world.delete_job(id);
      EXPECT_FALSE(world.binlog.numbers().refusing && outcome == Outcome::done);
    }
    if (turn == 9) (void)world.kick(2);
    end_turn(world);
    if (turn % 2 == 0) disk_->complete_syncs();
    if (turn % 4 == 1) check_crash(world);
  }

  void end_turn(World& world) {
    world.end_turn();
    const JournalNumbers numbers = world.binlog.numbers();
    if (numbers.refusing) {
      EXPECT_GT(numbers.errors, 0U);
      EXPECT_FALSE(world.notices.empty());
    }
  }

  // No crash may lose an acknowledged job.
  void check_crash(World& world) {
    const bool by_power = trouble_.policy == SyncPolicy::every_turn;
    if (by_power) {
      check(world, {Unsynced::lost, UnsyncedNames::lost}, world.binlog.safe_records());
      check(world, {}, world.binlog.safe_records());
    }
    if (!world.binlog.numbers().refusing) {
      check(world, {Unsynced::kept, UnsyncedNames::kept}, world.binlog.safe_records());
    }
  }

  void check(World& world, CrashPolicy policy, std::uint64_t safe) {
    const auto crashed = disk_->crash(chance_, policy);
    World again(*crashed, options(), world.wall() + 1'000'000);
    EXPECT_EQ(world.compare(again, safe), "") << again.replay_text();
  }

  // The disk keeps failing for longer than the pause between notices.
  void last_long(World& world) {
    const std::size_t notices = world.notices.size();
    const Instant begin = world.now;
    world.idle(kLongTrouble);
    EXPECT_EQ(world.now, begin + kLongTrouble);
    EXPECT_LE(world.notices.size() - notices, 4U);
    if (world.binlog.numbers().refusing) {
      EXPECT_EQ(world.binlog.progress().doubtful, world.binlog.records());
      EXPECT_NE(world.try_put(), Outcome::done);
      if (const JobId id = world.reserve(); id != 0) {
        EXPECT_EQ(world.delete_job(id), Outcome::journal_failed);
        EXPECT_EQ(world.bury(id), Outcome::journal_failed);
      }
      check_crash(world);
    }
  }

  // The disk works again, and the binlog must recover.
  void recover(World& world) {
    world.idle();
    EXPECT_FALSE(world.binlog.numbers().refusing);
    EXPECT_EQ(world.binlog.safe_records(), world.binlog.records());
    check_crash(world);
    world.put();
    play_turn(world, 1);
    world.idle();
    EXPECT_EQ(world.binlog.safe_records(), world.binlog.records());
    check_crash(world);
    // Compaction continues too: it removes all files without jobs.
    (void)world.kick(1000);
    for (JobId id = 1; id < world.engine.next_id(); ++id) {
      EXPECT_NE(world.delete_job(id), Outcome::journal_failed);
    }
    EXPECT_EQ(world.engine.jobs().size(), 0U);
    world.idle();
    EXPECT_EQ(world.binlog.numbers().oldest_index, world.binlog.numbers().current_index);
    std::vector<std::string> names;
    EXPECT_EQ(disk_->list(names), DiskStatus::ok);
    // After a rename that took effect but reported failure, a name is left until the next start.
    EXPECT_LE(names.size(), trouble_.fault.takes_effect ? 4U : 3U)
        << ::testing::PrintToString(names);
  }

  void end(World& world) {
    const bool good = world.close();
    EXPECT_EQ(disk_->open_files(), 0U);
    EXPECT_TRUE(good || disk_->faults_hit() > 0);
    disk_->clear_faults();
    const std::uint64_t safe = good ? world.binlog.records() : world.binlog.safe_records();
    if (trouble_.policy != SyncPolicy::never || good) {
      World again(*disk_, options(), world.wall() + 1'000'000);
      EXPECT_EQ(world.compare(again, safe, good), "") << again.replay_text();
    }
  }

  Trouble trouble_;
  std::unique_ptr<SimDisk> disk_;
  SimDisk::Random chance_;
};

void PrintTo(const Trouble& trouble, std::ostream* out) {
  *out << trouble.name;
}

class BinlogFailure : public ::testing::TestWithParam<Trouble> {};

TEST_P(BinlogFailure, LosesNoAcknowledgedJob) {
  constexpr std::uint64_t kCallsMax = 3000;
  constexpr std::uint64_t kCallsApart = test::kIsSanitized ? 5 : 1;
  std::uint64_t nth = 1;
  for (bool is_clean = false; !is_clean && nth < kCallsMax && !HasFailure(); nth += kCallsApart) {
    SCOPED_TRACE("call " + std::to_string(nth));
    Scenario scenario(GetParam(), nth);
    is_clean = scenario.play(nth);
  }
  EXPECT_GT(nth, 60U);
  EXPECT_LT(nth, kCallsMax);
}

constexpr DiskStatus kFailed = DiskStatus::failed;
constexpr DiskStatus kFull = DiskStatus::full;

INSTANTIATE_TEST_SUITE_P(
    Of, BinlogFailure,
    ::testing::Values(
        Trouble{"OneCall", {.status = kFailed}}, Trouble{"OneCallFull", {.status = kFull}},
        Trouble{"OneCallThatTookEffect", {.takes_effect = true}},
        Trouble{"AllCalls", {.lasts = true}},
        Trouble{"AllCallsFull", {.status = kFull, .lasts = true}},
        Trouble{"ShortWrites", {.lasts = true, .bytes_written = 100}},
        Trouble{"OneShortWrite", {.pieces_written = 1, .bytes_written = 7}},
        Trouble{"OneCallWithSlowSyncs", {}, SyncPolicy::every_turn, SyncMode::when_told},
        Trouble{
            "OneCallThatKeeps", {}, SyncPolicy::every_turn, SyncMode::at_once, FailedSync::keeps},
        Trouble{"OneCallByInterval", {}, SyncPolicy::interval},
        Trouble{"AllCallsByInterval", {.lasts = true}, SyncPolicy::interval, SyncMode::when_told},
        Trouble{"OneCallWithoutSyncs", {}, SyncPolicy::never},
        Trouble{"AllCallsWithoutSyncs", {.lasts = true}, SyncPolicy::never}),
    [](const auto& trouble) { return std::string(trouble.param.name); });

// If a file cannot be created, at most one put is refused. A notice about that must not suppress
// the notice that all changes are refused.
TEST(BinlogFailure, FailedWriteIsReportedSoonAfterAFailedFile) {
  SimDisk disk;
  World world(disk, {.file_bytes = 8192, .sync = SyncPolicy::every_turn});
  const auto count_notices = [&world](std::string_view text) {
    return std::count_if(
        world.notices.begin(), world.notices.end(),
        [&](const std::string& notice) { return notice.find(text) != std::string::npos; });
  };
  disk.inject({.call = DiskCall::create, .lasts = true});
  for (int i = 0; i < 60 && world.notices.empty(); ++i) {
    (void)world.try_put({.body_bytes = 700});
    world.end_turn();
  }
  ASSERT_EQ(world.notices.size(), 1U);
  ASSERT_EQ(count_notices("changes are refused"), 0);
  disk.clear_faults();
  disk.inject({.call = DiskCall::write, .lasts = true});
  world.put();
  world.end_turn();
  EXPECT_TRUE(world.binlog.numbers().refusing);
  EXPECT_EQ(count_notices("changes are refused"), 1);
  disk.clear_faults();
  world.idle(Duration::seconds(3));
  EXPECT_FALSE(world.binlog.numbers().refusing);
  EXPECT_EQ(count_notices("everything is recorded again"), 1);
}

// The end of a failed write is truncated, if necessary when the disk works again. If files followed
// a partial record or seal, a start would report damage, and `--strict` would refuse to start.
TEST(BinlogFailure, FailureOfAllCallsLeavesASoundFolder) {
  for (const SyncPolicy policy :
       {SyncPolicy::every_turn, SyncPolicy::interval, SyncPolicy::never}) {
    std::uint64_t nth = 1;
    for (bool is_clean = false; !is_clean && !HasFailure(); ++nth) {
      SCOPED_TRACE("policy " + std::to_string(static_cast<int>(policy)) + ", call " +
                   std::to_string(nth));
      SimDisk disk;
      disk.set_failed_sync(FailedSync::keeps);  // Otherwise there is real damage.
      const BinlogOptions options{.file_bytes = 8192, .sync = policy};
      World world(disk, options);
      disk.inject({.nth = nth, .lasts = true, .bytes_written = 60});
      is_clean = true;
      for (int turn = 0; turn < 40; ++turn) {
        (void)world.try_put({.body_bytes = 700});
        world.end_turn();
        if (disk.faults_hit() == 0) continue;
        is_clean = false;
        disk.clear_faults();
        world.idle(Duration::seconds(3));
      }
      disk.clear_faults();
      EXPECT_TRUE(world.close());
      World again(disk, options, world.wall() + 1'000'000);
      EXPECT_TRUE(again.binlog.replayed().is_sound()) << again.replay_text();
      EXPECT_EQ(world.compare(again, world.binlog.records(), true), "") << again.replay_text();
    }
    EXPECT_GT(nth, 60U);
  }
}

// Many collected records are written before the turn ends. Such a write must not split a batch: if
// it fails, the rest of the batch has no file.
TEST(BinlogFailure, FailedWriteDoesNotSplitABatchOfDeletes) {
  for (std::size_t jobs_before = 880; jobs_before <= 960; jobs_before += 8) {
    SCOPED_TRACE(jobs_before);
    SimDisk disk;
    World world(disk, {.sync = SyncPolicy::every_turn});
    std::vector<JobId> ids;
    for (int i = 0; i < 1000; ++i) ids.push_back(world.put());
    world.end_turn();
    for (std::size_t i = 0; i < jobs_before; ++i) world.put({.body_bytes = 1000});
    disk.inject({.call = DiskCall::write});
    const Ended result = world.delete_batch(ids);
    disk.clear_faults();
    const bool is_done = result.outcome == Outcome::done;
    EXPECT_TRUE(is_done || result.outcome == Outcome::journal_failed);
    EXPECT_EQ(world.engine.jobs().size(), jobs_before + (is_done ? 0 : 1000));
    world.idle();
    EXPECT_FALSE(world.binlog.numbers().refusing);
    EXPECT_TRUE(world.close());
    World again(disk, {.sync = SyncPolicy::every_turn});
    EXPECT_EQ(again.engine.jobs().size(), jobs_before + (is_done ? 0 : 1000));
  }
}

// The rest of a refused flush is recorded when the disk works again. Meanwhile no other command
// waits for it.
TEST(BinlogFailure, FailedFlushDelaysNoOtherCommand) {
  SimDisk disk;
  World world(disk, kSmallFiles);
  for (int i = 0; i < 200; ++i) world.put({.body_bytes = 1});
  world.end_turn();
  Fault fault{.call = DiskCall::write};
  fault.lasts = true;
  disk.inject(fault);
  EXPECT_FALSE(world.flush("default", {.ready = true}));
  EXPECT_TRUE(world.binlog.numbers().refusing);
  EXPECT_GT(world.engine.jobs().size(), 0U);
  EXPECT_EQ(world.kick(1).outcome, Outcome::done);  // There is nothing to kick.
  EXPECT_FALSE(world.flush("default", {.ready = true}));
  disk.clear_faults();
  world.idle();
  EXPECT_EQ(world.engine.jobs().size(), 0U);
  SimDisk::Random chance(1);
  const auto crashed = disk.crash(chance, {Unsynced::lost, UnsyncedNames::lost});
  const World again(*crashed, kSmallFiles, world.wall());
  EXPECT_EQ(world.compare(again, world.binlog.records(), true), "") << again.replay_text();
}

// After a server has taken the folder over, only it has the jobs.
TEST(ForcedBegin, ServesWhileTheDiskFailsAndRecordsLater) {
  for (const DiskCall call : {DiskCall::create, DiskCall::allocate, DiskCall::write,
                              DiskCall::rename, DiskCall::remove, DiskCall::sync}) {
    SimDisk disk;
    {
      World before(disk, kSmallFiles);
      for (int i = 0; i < 12; ++i) before.put({.body_bytes = 700});
      before.end_turn();
      ASSERT_TRUE(before.close());
    }
    const Fault fault{.call = call, .lasts = true};
    World world(disk, kSmallFiles, kWallBegin + kSecondNs, false, &fault);
    const std::string at = "call " + std::to_string(static_cast<int>(call));
    EXPECT_EQ(world.engine.jobs().size(), 12U) << at;
    const JobId id = world.reserve();
    EXPECT_NE(id, 0U) << at;
    world.end_turn();
    disk.clear_faults();
    world.idle();
    EXPECT_EQ(world.delete_job(id), Outcome::done) << at;
    (void)world.put();
    world.end_turn();
    EXPECT_TRUE(world.close()) << at;
    World again(disk, kSmallFiles, kWallBegin + 20 * kSecondNs);
    EXPECT_EQ(again.engine.jobs().size(), 12U) << at << again.replay_text();
    EXPECT_EQ(world.compare(again, world.binlog.records(), true), "") << at;
  }
}

TEST(ForcedBegin, DetectsAReadOnlyFolderBeforeItBegins) {
  for (const DiskCall call : {DiskCall::create, DiskCall::write, DiskCall::sync}) {
    SimDisk disk;
    Binlog binlog(disk, kSmallFiles);
    Engine engine(Instant::at(kSecondNs), binlog);
    std::string error;
    ASSERT_TRUE(binlog.read(engine, {}, Instant::at(kSecondNs), {}, error)) << error;
    disk.inject({.call = call, .lasts = true});
    EXPECT_FALSE(binlog.can_begin(error));
    EXPECT_NE(error, "");
    disk.clear_faults();
    EXPECT_TRUE(binlog.can_begin(error));
    std::vector<std::string> names;
    ASSERT_EQ(disk.list(names), DiskStatus::ok);
    EXPECT_TRUE(names.empty());
  }
}

}  // namespace
}  // namespace haricot::binlog
