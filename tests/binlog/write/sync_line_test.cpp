#include "haricot/binlog/write/sync_line.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "binlog/sim_disk_steps.hpp"

namespace haricot::binlog {
namespace {

class SyncLineTest : public ::testing::Test {
 protected:
  SyncLineTest() { disk_.set_sync_mode(SyncMode::when_told); }

  // Returns the results in order: the number of covered records, or "failed".
  std::vector<std::string> ended() {
    std::vector<std::string> all;
    SyncLine::Ended one;
    while (line_.next_ended(one)) {
      std::string text = one.status == DiskStatus::ok ? std::to_string(one.covers) : "failed";
      if (one.is_removal && one.status == DiskStatus::ok) text = "removed";
      if (one.removal != DiskStatus::ok) text = "not removed";
      all.push_back(text);
    }
    return all;
  }
  using Ended = std::vector<std::string>;

  SimDisk disk_;
  SyncLine line_{disk_};
};

TEST_F(SyncLineTest, ReportsResultsInOrder) {
  const FileHandle file = create(disk_, "a");
  line_.sync_file(file, 3, false);
  line_.sync_folder();
  line_.sync_file(file, 8, false);
  EXPECT_EQ(line_.length(), 3U);
  EXPECT_EQ(ended(), Ended{});
  disk_.complete_syncs(2);
  EXPECT_EQ(ended(), (Ended{"3", "0"}));
  disk_.complete_syncs();
  EXPECT_EQ(ended(), Ended{"8"});
  EXPECT_EQ(line_.length(), 0U);
}

TEST_F(SyncLineTest, StartsLaterSyncsAsEarlierOnesEnd) {
  const FileHandle file = create(disk_, "a");
  for (std::uint64_t i = 1; i <= SyncLine::kLengthMax; ++i) line_.sync_file(file, i, false);
  EXPECT_LT(disk_.syncs_under_way(), 10U);
  Ended all;
  for (int round = 0; round < static_cast<int>(SyncLine::kLengthMax); ++round) {
    disk_.complete_syncs(1);
    for (const std::string& one : ended()) all.push_back(one);
  }
  EXPECT_EQ(all.size(), SyncLine::kLengthMax);
  EXPECT_EQ(all.back(), std::to_string(SyncLine::kLengthMax));
}

TEST_F(SyncLineTest, SyncsTheFolderOnceForTwoWaitingRequests) {
  const FileHandle file = create(disk_, "a");
  for (std::uint64_t i = 1; i <= 6; ++i) line_.sync_file(file, i, false);
  const std::size_t before = line_.length();
  line_.sync_folder();
  line_.sync_folder();
  EXPECT_EQ(line_.length(), before + 1);
  line_.sync_file(file, 7, false);
  line_.sync_folder();  // The one ahead covers the names that exist when it begins.
  EXPECT_EQ(line_.length(), before + 2);
}

TEST_F(SyncLineTest, SyncsTheFolderAgainAfterABegunSync) {
  line_.sync_folder();
  EXPECT_EQ(disk_.syncs_under_way(), 1U);
  line_.sync_folder();
  EXPECT_EQ(line_.length(), 2U);
}

// Each of many files requires a sync of its own, but the folder requires only one.
TEST_F(SyncLineTest, SyncsTheFolderOnceForManyWaitingFiles) {
  const FileHandle file = create(disk_, "a");
  constexpr std::uint64_t kFiles = 50;
  for (std::uint64_t i = 1; i <= kFiles; ++i) {
    line_.sync_folder();
    line_.sync_file(file, i, false);
  }
  EXPECT_EQ(line_.length(), kFiles + disk_.syncs_under_way() / 2 + 1);
}

TEST_F(SyncLineTest, EndsWithTheFirstFailure) {
  const FileHandle file = create(disk_, "a");
  for (std::uint64_t i = 1; i <= 8; ++i) line_.sync_file(file, i, false);
  disk_.complete_syncs(1);
  disk_.complete_syncs(1, DiskStatus::failed);
  EXPECT_EQ(ended(), (Ended{"1", "failed"}));
  // Syncs under way end without a result, and a new line follows them.
  line_.sync_file(file, 20, false);
  while (disk_.syncs_under_way() > 0) {
    disk_.complete_syncs();
    for (const std::string& one : ended()) EXPECT_EQ(one, "20");
  }
  EXPECT_EQ(line_.length(), 0U);
}

TEST_F(SyncLineTest, ClosesAFileAfterItsLastSync) {
  const FileHandle file = create(disk_, "a");
  const FileHandle other = create(disk_, "b");
  line_.sync_file(file, 1, false);
  line_.sync_file(file, 2, true);
  line_.sync_file(other, 3, false);
  line_.close(other);
  line_.close(create(disk_, "c"));  // It is not in line.
  EXPECT_EQ(disk_.open_files(), 2U);
  disk_.complete_syncs(1);
  EXPECT_EQ(ended(), Ended{"1"});
  EXPECT_EQ(disk_.open_files(), 2U);
  disk_.complete_syncs(1);
  EXPECT_EQ(ended(), Ended{"2"});
  EXPECT_EQ(disk_.open_files(), 1U);
  disk_.complete_syncs(1);
  EXPECT_EQ(ended(), Ended{"3"});
  EXPECT_EQ(disk_.open_files(), 0U);
}

TEST_F(SyncLineTest, AbandonedLineClosesItsFiles) {
  std::vector<FileHandle> files;
  for (int i = 0; i < 10; ++i) {
    files.push_back(create(disk_, std::to_string(i)));
    line_.sync_file(files.back(), 1, i % 2 == 0);
  }
  line_.abandon();
  for (int i = 1; i < 10; i += 2) line_.close(files[static_cast<std::size_t>(i)]);
  while (disk_.syncs_under_way() > 0) {
    disk_.complete_syncs();
    EXPECT_EQ(ended(), Ended{});
  }
  EXPECT_EQ(disk_.open_files(), 0U);
  EXPECT_EQ(line_.length(), 0U);
}

TEST_F(SyncLineTest, PassesAMarkWhenAllBeforeItHasEnded) {
  const FileHandle file = create(disk_, "a");
  EXPECT_TRUE(line_.has_passed(line_.mark()));
  line_.sync_file(file, 1, false);
  line_.sync_folder();
  const std::uint64_t mark = line_.mark();
  line_.sync_file(file, 2, false);
  disk_.complete_syncs(1);
  EXPECT_EQ(ended().size(), 1U);
  EXPECT_FALSE(line_.has_passed(mark));
  disk_.complete_syncs(1);
  EXPECT_EQ(ended().size(), 1U);
  EXPECT_TRUE(line_.has_passed(mark));
}

TEST_F(SyncLineTest, TheFolderCanComeBeforeWaitingSyncs) {
  const FileHandle file = create(disk_, "a");
  for (std::uint64_t covers = 1; covers <= 6; ++covers) line_.sync_file(file, covers, false);
  const std::size_t under_way = disk_.syncs_under_way();
  ASSERT_LT(under_way, 6U);
  const std::uint64_t mark = line_.sync_folder_first();
  // It is already the next one, so it covers the current request as well.
  EXPECT_EQ(line_.sync_folder_first(), mark);
  EXPECT_EQ(line_.length(), 7U);
  Ended expected;
  for (std::size_t i = 1; i <= under_way; ++i) expected.push_back(std::to_string(i));
  disk_.complete_syncs(under_way);
  EXPECT_EQ(ended(), expected);
  EXPECT_FALSE(line_.has_passed(mark));
  disk_.complete_syncs(1);
  EXPECT_EQ(ended(), Ended{"0"});
  EXPECT_TRUE(line_.has_passed(mark));
  expected.clear();
  for (std::size_t i = under_way + 1; i <= 6; ++i) expected.push_back(std::to_string(i));
  Ended rest;
  while (disk_.syncs_under_way() > 0) {
    disk_.complete_syncs(1);
    for (const std::string& one : ended()) rest.push_back(one);
  }
  EXPECT_EQ(rest, expected);
}

TEST_F(SyncLineTest, AFolderSyncBeginsAtOnceInAnEmptyLine) {
  const std::uint64_t mark = line_.sync_folder_first();
  EXPECT_EQ(disk_.syncs_under_way(), 1U);
  disk_.complete_syncs(1);
  EXPECT_EQ(ended(), Ended{"0"});
  EXPECT_TRUE(line_.has_passed(mark));
}

TEST_F(SyncLineTest, ARemovalComesFirstAndIsDurableAtItsEnd) {
  const FileHandle file = create_durable(disk_, "a");
  create_durable(disk_, "old");
  for (std::uint64_t covers = 1; covers <= 6; ++covers) line_.sync_file(file, covers, false);
  const std::size_t under_way = disk_.syncs_under_way();
  ASSERT_LT(under_way, 6U);
  line_.remove_first("old", true);
  EXPECT_TRUE(disk_.has("old"));
  disk_.complete_syncs(under_way);
  EXPECT_EQ(ended().size(), under_way);
  disk_.complete_syncs(1);
  EXPECT_EQ(ended(), Ended{"removed"});
  EXPECT_FALSE(disk_.has("old"));
  EXPECT_FALSE(disk_.has_durable("old"));
  disk_.complete_syncs();
  EXPECT_FALSE(ended().empty());
}

TEST_F(SyncLineTest, AFailedRemovalLeavesTheLine) {
  const FileHandle file = create_durable(disk_, "a");
  line_.sync_file(file, 1, false);
  line_.remove_first("never-there", true);
  line_.sync_file(file, 2, false);
  disk_.complete_syncs();
  EXPECT_EQ(ended(), (Ended{"1", "not removed"}));
  disk_.complete_syncs();
  EXPECT_EQ(ended(), Ended{"2"});
  EXPECT_EQ(line_.length(), 0U);
}

TEST_F(SyncLineTest, ARemovalWhoseSyncFailsEndsTheLine) {
  create_durable(disk_, "old");
  disk_.inject({.call = DiskCall::start_sync});
  line_.remove_first("old", true);
  line_.sync_folder();
  disk_.complete_syncs();
  EXPECT_EQ(ended(), Ended{"failed"});
  EXPECT_FALSE(disk_.has("old"));
}

TEST_F(SyncLineTest, ARemovalMayHaveNoSync) {
  create_durable(disk_, "old");
  const std::uint64_t syncs = disk_.calls(DiskCall::start_sync);
  line_.remove_first("old", false);
  disk_.complete_syncs();
  EXPECT_EQ(ended(), Ended{"removed"});
  EXPECT_FALSE(disk_.has("old"));
  EXPECT_TRUE(disk_.has_durable("old"));
  EXPECT_EQ(disk_.calls(DiskCall::start_sync), syncs);
}

TEST_F(SyncLineTest, HasARemovalUntilItsResultIsTaken) {
  create_durable(disk_, "old");
  EXPECT_FALSE(line_.has_removal());
  line_.remove_first("old", true);
  disk_.complete_syncs();
  EXPECT_TRUE(line_.has_removal());
  EXPECT_EQ(ended(), Ended{"removed"});
  EXPECT_FALSE(line_.has_removal());
  line_.remove_first("old", true);
  line_.abandon();
  EXPECT_FALSE(line_.has_removal());
}

}  // namespace
}  // namespace haricot::binlog
