// Files and folders that are removed from outside while the server has them open.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "binlog_world.hpp"
#include "haricot/binlog/format/file_identity.hpp"

namespace haricot::binlog {
namespace {

constexpr Duration kASecond = Duration::seconds(1);

class BinlogGone : public ::testing::TestWithParam<SyncPolicy> {
 protected:
  BinlogGone() { begin(); }

  void begin(std::uint64_t file_bytes = 8192) {
    file_bytes_ = file_bytes;
    world_.reset();
    disk_ = std::make_unique<SimDisk>();
    world_ = std::make_unique<World>(*disk_, options());
  }

  BinlogOptions options() const { return {.file_bytes = file_bytes_, .sync = GetParam()}; }

  // Adds jobs of all kinds in several files, and deletes some.
  void fill() {
    for (int i = 0; i < 30; ++i) {
      world_->put({.body_bytes = 600});
      if (i % 5 == 2) ids_.push_back(world_->put({.body_bytes = 50, .delay_s = 100}));
      world_->end_turn();
    }
    for (int i = 0; i < 3; ++i) EXPECT_EQ(world_->bury(world_->reserve()), Outcome::done);
    for (JobId id = 5; id < 12; ++id) EXPECT_EQ(world_->delete_job(id), Outcome::done);
    settle();
    ASSERT_GT(world_->binlog.numbers().current_index, world_->binlog.numbers().oldest_index + 1);
  }
  void settle() { world_->idle(Duration::seconds(2)); }

  bool refuses() {
    const Outcome outcome = world_->try_put();
    world_->end_turn();
    return outcome != Outcome::done;
  }
  bool is_refusing() { return world_->binlog.numbers().refusing; }
  std::uint64_t errors() { return world_->binlog.numbers().errors; }
  std::string newest() { return binlog_file_name(world_->binlog.numbers().current_index); }
  std::string oldest() { return binlog_file_name(world_->binlog.numbers().oldest_index); }
  std::size_t notices_with(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(
        world_->notices.begin(), world_->notices.end(),
        [&](const std::string& told) { return told.find(text) != std::string::npos; }));
  }

  // Checks that a crash now loses no job and restores no deleted job.
  void expect_all_there() {
    const auto crashed =
        disk_->crash(chance_, GetParam() == SyncPolicy::every_turn
                                  ? CrashPolicy{Unsynced::lost, UnsyncedNames::lost}
                                  : CrashPolicy{Unsynced::kept, UnsyncedNames::kept});
    World again(*crashed, options(), world_->wall() + 1'000'000);
    EXPECT_EQ(world_->compare(again, world_->binlog.records(), true), "") << again.replay_text();
    EXPECT_TRUE(again.binlog.replayed().is_sound()) << again.replay_text();
  }

  std::uint64_t file_bytes_ = 0;
  std::unique_ptr<SimDisk> disk_;
  std::unique_ptr<World> world_;
  SimDisk::Random chance_{7};
  std::vector<JobId> ids_;
};

TEST_P(BinlogGone, MissingFolderIsDetectedBeforeAPutIsSafe) {
  fill();
  world_->pass(Duration::seconds(3600));  // An idle server requests no turn for the check.
  const Instant wanted = world_->binlog.next_event();
  disk_->set_folder(FolderState::removed);
  EXPECT_EQ(world_->binlog.next_event(), wanted);
  ASSERT_EQ(world_->try_put(), Outcome::done);
  world_->end_turn();
  EXPECT_TRUE(is_refusing());
  EXPECT_EQ(world_->binlog.progress().doubtful, world_->binlog.records());
  EXPECT_EQ(errors(), 1U);
  EXPECT_EQ(world_->try_put(), Outcome::journal_failed);
  EXPECT_EQ(world_->delete_job(30), Outcome::journal_failed);
  EXPECT_EQ(notices_with("there is no such folder"), 1U);
}

TEST_P(BinlogGone, MissingFolderIsDetectedWithinASecondOfUse) {
  fill();
  disk_->set_folder(FolderState::removed);
  const Instant begin = world_->now;
  while (!refuses() && world_->now < begin + kASecond + kASecond) {
    world_->pass(Duration::milliseconds(10));
  }
  EXPECT_TRUE(is_refusing());
  EXPECT_LE(world_->now, begin + kASecond + Duration::milliseconds(20));
}

TEST_P(BinlogGone, AllJobsMoveToANewFolder) {
  fill();
  world_->pass(kASecond);
  disk_->set_folder(FolderState::removed);
  (void)world_->try_put();
  world_->idle(Duration::seconds(100));
  EXPECT_TRUE(is_refusing());
  EXPECT_EQ(world_->notices.size(), 1U) << "reported once";
  EXPECT_EQ(world_->files(), 0U) << "no folder is made";

  disk_->set_folder(FolderState::replaced);
  world_->idle(kASecond);
  EXPECT_FALSE(is_refusing());
  EXPECT_EQ(notices_with("recorded again"), 1U);
  expect_all_there();
  world_->put({.body_bytes = 900});
  EXPECT_EQ(world_->delete_job(20), Outcome::done);
  settle();
  expect_all_there();
  EXPECT_TRUE(world_->close());
  World again(*disk_, options(), world_->wall() + 1'000'000);
  EXPECT_EQ(world_->compare(again, world_->binlog.records(), true), "");
}

// As by `cp` and `mv`, or by a backup that is restored under a running server.
TEST_P(BinlogGone, ReplacedNewestFileIsRewrittenAndTheOtherKept) {
  fill();
  world_->pass(kASecond);
  const std::string name = newest();
  const std::string other = disk_->bytes_of(oldest());
  disk_->take_away(name);
  disk_->put(name, other);
  (void)world_->try_put();
  settle();
  EXPECT_FALSE(is_refusing());
  expect_all_there();
  std::vector<std::string> names;
  ASSERT_EQ(disk_->list(names), DiskStatus::ok);
  EXPECT_TRUE(std::any_of(names.begin(), names.end(), [&](const std::string& kept) {
    return kept.find(".damaged.") != std::string::npos && disk_->bytes_of(kept) == other;
  }));
}

TEST_P(BinlogGone, FolderMovedBackIsUsedAgain) {
  fill();
  world_->pass(kASecond);
  const std::uint64_t bytes = disk_->used_bytes();
  const std::string before = oldest();
  disk_->set_folder(FolderState::moved);
  EXPECT_EQ(world_->try_put(), Outcome::done);
  world_->end_turn();
  EXPECT_TRUE(is_refusing());
  disk_->set_folder(FolderState::there);
  world_->idle(kASecond);
  EXPECT_FALSE(is_refusing());
  EXPECT_EQ(oldest(), before) << "files that are there are not written anew";
  EXPECT_LT(disk_->used_bytes(), bytes + 3 * options().file_bytes);
  expect_all_there();
}

TEST_P(BinlogGone, FolderOfAnotherServerIsLeftAlone) {
  fill();
  world_->pass(kASecond);
  disk_->set_folder(FolderState::foreign);
  EXPECT_TRUE(refuses() || is_refusing());
  world_->idle(Duration::seconds(60));
  EXPECT_TRUE(is_refusing());
  EXPECT_EQ(world_->files(), 0U);
  EXPECT_EQ(notices_with("another server"), 1U);
  disk_->set_folder(FolderState::replaced);
  world_->idle(kASecond);
  EXPECT_FALSE(is_refusing());
  expect_all_there();
}

TEST_P(BinlogGone, FilesOfAnotherServerAreNotOverwritten) {
  fill();
  world_->pass(kASecond);
  const std::string theirs = binlog_file_name(world_->binlog.numbers().current_index + 1);
  disk_->take_away_all();
  disk_->put(theirs, "of another server");
  EXPECT_TRUE(refuses() || is_refusing());
  world_->idle(Duration::seconds(10));
  EXPECT_TRUE(is_refusing());
  EXPECT_EQ(notices_with(theirs), 1U);
  EXPECT_EQ(disk_->bytes_of(theirs), "of another server");
  disk_->take_away(theirs);
  world_->idle(kASecond);
  EXPECT_FALSE(is_refusing());
  expect_all_there();
}

TEST_P(BinlogGone, AllFilesAreRewrittenAtOnce) {
  fill();
  world_->pass(kASecond);
  disk_->take_away_all();
  EXPECT_EQ(world_->try_put(), Outcome::done);
  world_->end_turn();
  EXPECT_EQ(errors(), 1U);
  while (is_refusing()) world_->end_turn();
  EXPECT_EQ(world_->binlog.safe_records(), world_->binlog.records());
  EXPECT_EQ(notices_with("is gone"), 1U);
  EXPECT_EQ(notices_with("recorded again"), 1U);
  expect_all_there();
  EXPECT_EQ(world_->try_put(), Outcome::done);
  settle();
  expect_all_there();
}

TEST_P(BinlogGone, MissingNewestFileRestoresNoDeletedJob) {
  fill();
  for (JobId id = 20; id < 26; ++id) EXPECT_EQ(world_->delete_job(id), Outcome::done);
  settle();
  disk_->take_away(newest());
  world_->pass(kASecond);
  world_->end_turn();
  while (is_refusing()) world_->end_turn();
  expect_all_there();
}

TEST_P(BinlogGone, EachOlderFileIsCheckedInTurn) {
  fill();
  const std::uint64_t first = world_->binlog.numbers().oldest_index;
  const std::uint64_t last = world_->binlog.numbers().current_index;
  ASSERT_GE(last - first, 2U);
  const std::string middle = binlog_file_name(last - 1);
  disk_->take_away(middle);
  for (std::uint64_t i = 0; i <= 2 * (last - first) && errors() == 0; ++i) {
    world_->pass(kASecond);
    EXPECT_EQ(world_->try_put(), Outcome::done);
    world_->end_turn();
    EXPECT_FALSE(is_refusing());
  }
  EXPECT_EQ(errors(), 1U);
  EXPECT_EQ(notices_with(middle + " is gone"), 1U);
  world_->idle(kASecond);
  EXPECT_EQ(notices_with("recorded again"), 1U);
  EXPECT_GT(world_->binlog.numbers().oldest_index, last - 1);
  expect_all_there();
}

TEST_P(BinlogGone, BothMissingFilesAreReportedAndTheirEndOnce) {
  fill();
  const std::uint64_t last = world_->binlog.numbers().current_index;
  const std::string older = binlog_file_name(last - 1);
  disk_->take_away(older);
  disk_->set_sync_mode(SyncMode::when_told);  // No file is removed, so moving jobs does not end.
  for (std::uint64_t i = 0; i <= 2 * last && errors() == 0; ++i) {
    world_->pass(kASecond);
    EXPECT_EQ(world_->try_put(), Outcome::done);
    world_->end_turn();
  }
  ASSERT_EQ(errors(), 1U);
  ASSERT_EQ(notices_with(older + " is gone"), 1U);
  const std::string newer = newest();
  disk_->take_away(newer);
  world_->pass(kASecond);
  (void)world_->try_put();
  world_->end_turn();
  ASSERT_EQ(errors(), 2U);
  EXPECT_EQ(notices_with(newer + " is gone"), 1U) << "changes are refused since then";
  disk_->set_sync_mode(SyncMode::at_once);
  disk_->complete_syncs();
  settle();
  EXPECT_FALSE(is_refusing());
  EXPECT_EQ(notices_with("everything is recorded again"), 1U);
  expect_all_there();
  disk_->inject({.call = DiskCall::write});
  (void)world_->try_put();
  settle();
  EXPECT_EQ(notices_with("everything is recorded again"), 2U) << "of the write that failed";
}

// Both failures are of one kind, so the log suppresses the second. The notice of its end covers
// both.
TEST_P(BinlogGone, EndIsReportedAfterASuppressedFailure) {
  fill();
  disk_->inject({.call = DiskCall::write});
  (void)world_->try_put();
  settle();
  EXPECT_EQ(notices_with("everything is recorded again"), 1U);
  disk_->take_away(oldest());
  disk_->set_sync_mode(SyncMode::when_told);
  for (int i = 0; i <= 20 && errors() == 1; ++i) {
    world_->pass(kASecond);
    EXPECT_EQ(world_->try_put(), Outcome::done);
    world_->end_turn();
  }
  ASSERT_EQ(errors(), 2U);
  EXPECT_EQ(notices_with("is gone"), 1U);
  disk_->inject({.call = DiskCall::write});
  (void)world_->try_put();
  world_->end_turn();
  ASSERT_EQ(errors(), 3U);
  EXPECT_EQ(notices_with("changes are refused"), 1U) << "the second time within 30 seconds";
  disk_->set_sync_mode(SyncMode::at_once);
  disk_->complete_syncs();
  settle();
  EXPECT_FALSE(is_refusing());
  EXPECT_EQ(notices_with("everything is recorded again"), 2U);
  expect_all_there();
}

TEST_P(BinlogGone, StoppingServerChecksOnceMore) {
  fill();
  world_->pass(kASecond);
  disk_->take_away_all();
  EXPECT_TRUE(world_->close());
  World again(*disk_, options(), world_->wall() + 1'000'000);
  EXPECT_EQ(world_->compare(again, world_->binlog.records(), true), "") << again.replay_text();
}

TEST_P(BinlogGone, StopWithoutAFolderIsReported) {
  fill();
  world_->pass(kASecond);
  disk_->set_folder(FolderState::removed);
  EXPECT_FALSE(world_->close());
  EXPECT_EQ(notices_with("could not be written"), 1U);
}

TEST_P(BinlogGone, RewritingTakesManyTurns) {
  begin(512 * 1024);
  for (int i = 0; i < 1000; ++i) {
    world_->put({.body_bytes = 5000});
    if (i % 50 == 0) world_->end_turn();
  }
  settle();
  world_->pass(kASecond);
  disk_->take_away_all();
  const std::uint64_t written = disk_->bytes_written();
  int turns = 0;
  while (errors() == 0 || is_refusing()) {
    const std::uint64_t before = disk_->bytes_written();
    world_->end_turn();
    EXPECT_LT(disk_->bytes_written() - before, 2U * 1024 * 1024);
    ASSERT_LT(++turns, 100);
  }
  EXPECT_GT(disk_->bytes_written() - written, 1000U * 5000);
  expect_all_there();
}

// While all jobs are written again, each call fails once, or all calls from one on.
TEST_P(BinlogGone, FailuresDuringRewritingLoseNothing) {
  for (int kind = 0; kind < 4; ++kind) {
    const bool lasts = kind % 2 == 0;
    const bool is_folder_gone = kind / 2 == 0;
    bool is_clean = false;
    std::uint64_t nth = 0;
    while (!is_clean && !HasFailure()) {
      ++nth;
      SCOPED_TRACE("call " + std::to_string(nth) + " of kind " + std::to_string(kind));
      begin();
      fill();
      world_->pass(kASecond);
      if (is_folder_gone) {
        disk_->set_folder(FolderState::removed);
        world_->end_turn();
        disk_->set_folder(FolderState::replaced);
      } else {
        disk_->take_away_all();
      }
      disk_->inject({.nth = nth, .lasts = lasts});
      world_->idle(Duration::seconds(3));
      is_clean = disk_->faults_hit() == 0;
      disk_->clear_faults();
      world_->idle(Duration::seconds(3));
      EXPECT_FALSE(is_refusing());
      expect_all_there();
      EXPECT_EQ(world_->try_put(), Outcome::done);
      settle();
      expect_all_there();
    }
    EXPECT_GT(nth, 15U) << "there was little to fail";
  }
}

INSTANTIATE_TEST_SUITE_P(Of, BinlogGone, kEachSyncPolicy, name_of_policy);

}  // namespace
}  // namespace haricot::binlog
