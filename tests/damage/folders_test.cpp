// Tests of the folders and the model: undamaged folders are sound.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "folders.hpp"
#include "judge.hpp"

namespace haricot::damage {
namespace {

std::vector<const KnownFolder*> all_folders() {
  std::vector<const KnownFolder*> all = folders_of_haricotd();
  const auto more = folders_with_beanstalkd();
  all.insert(all.end(), more.begin(), more.end());
  all.push_back(&diverged().one);
  all.push_back(&diverged().other);
  return all;
}

TEST(DamageFolders, AreSoundWithoutDamage) {
  for (const KnownFolder* folder : all_folders()) {
    for (std::uint64_t choice = 0; choice < 4; ++choice) {
      const Verdict verdict = judge(HurtFolder(*folder), Depth::starts, choice);
      EXPECT_EQ(verdict.wrong, "");
      EXPECT_TRUE(verdict.reading.is_sound) << folder->name;
      EXPECT_EQ(verdict.reading.jobs, acknowledged_jobs(*folder)) << folder->name;
      EXPECT_EQ(verdict.reading.next_id, folder->highest_id + 1) << folder->name;
    }
  }
}

TEST(DamageFolders, HaveTheIntendedContents) {
  EXPECT_EQ(of_one_file(Ending::stopped).files.size(), 1U);
  EXPECT_EQ(of_three_files(Ending::stopped).files.size(), 3U);
  EXPECT_EQ(of_eighteen_files().files.size(), 18U);
  EXPECT_FALSE(of_three_files(Ending::killed).files.back().is_followed());
  std::size_t tombstone_records = 0;
  for (const KnownFile& file : with_tombstones(Ending::killed).files) {
    for (std::size_t at = file.bytes.find("KEP"); at != std::string::npos;
         at = file.bytes.find("KEP", at + 1)) {
      ++tombstone_records;
    }
  }
  EXPECT_GT(tombstone_records, 40U);
  for (const KnownFolder* folder : all_folders()) {
    std::size_t changes = 0;
    std::size_t deletions = 0;
    for (const KnownFile& file : folder->files) {
      for (const Piece& piece : file.pieces) {
        changes += piece.kind == Piece::Kind::change;
        deletions += piece.state == binlog::RecordState::deleted;
      }
    }
    EXPECT_GT(changes, 3U) << folder->name;
    EXPECT_GT(deletions, 2U) << folder->name;
    EXPECT_GT(acknowledged_jobs(*folder).size(), 2U) << folder->name;
  }
}

}  // namespace
}  // namespace haricot::damage
