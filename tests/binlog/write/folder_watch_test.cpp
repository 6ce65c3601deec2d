#include "haricot/binlog/write/folder_watch.hpp"

#include <gtest/gtest.h>

#include "binlog/parts_world.hpp"

namespace haricot::binlog {
namespace {

class FolderWatchTest : public ::testing::Test {
 protected:
  FolderWatchTest() {
    world_.begin();
    while (world_.state.segments->size() < 3) world_.put(300);
    world_.settle();
    world_.watch.begin();
  }
  // Checks often enough to reach the newest file and each older file.
  void check() {
    for (int i = 0; i < 8; ++i) {
      world_.pass(Duration::seconds(2));
      world_.watch.check();
    }
  }

  PartsWorld world_;
};

TEST_F(FolderWatchTest, FindsAllFiles) {
  check();
  EXPECT_FALSE(world_.stream.is_refusing());
  EXPECT_EQ(world_.state.segments->gone_until(), 0U);
  EXPECT_GT(world_.state.check_files_at, world_.state.now) << "once a second";
}

TEST_F(FolderWatchTest, DetectsAMissingNewestFile) {
  world_.disk.take_away("binlog.3");
  check();
  EXPECT_TRUE(world_.stream.is_refusing());
  EXPECT_EQ(world_.state.segments->gone_until(), 3U);
  EXPECT_EQ(world_.take_notices().size(), 1U);
}

TEST_F(FolderWatchTest, ContinuesWithoutAnOlderFile) {
  world_.disk.take_away("binlog.2");
  check();
  EXPECT_FALSE(world_.stream.is_refusing());
  EXPECT_EQ(world_.state.segments->gone_until(), 2U);
  EXPECT_TRUE(world_.state.segments->at(1).is_gone);
  EXPECT_FALSE(world_.state.segments->at(0).is_gone);
  EXPECT_EQ(world_.take_notices().size(), 1U);
  world_.watch.end_moving();
  EXPECT_EQ(world_.state.segments->gone_until(), 2U) << "jobs are still there";
  world_.watch.forget_missing_files();
  EXPECT_EQ(world_.state.segments->gone_until(), 0U);
}

TEST_F(FolderWatchTest, ReturnsToANewFolder) {
  world_.disk.set_folder(FolderState::replaced);
  std::vector<std::string> names;
  EXPECT_TRUE(world_.watch.return_to_folder(names));
  EXPECT_TRUE(names.empty());
  EXPECT_EQ(world_.state.segments->gone_until(), 3U);
}

TEST_F(FolderWatchTest, DoesNotReturnToTheFolderOfAnotherServer) {
  world_.disk.put("binlog.9", "x");
  std::vector<std::string> names;
  EXPECT_FALSE(world_.watch.return_to_folder(names));
  EXPECT_FALSE(world_.watch.return_to_folder(names));
  EXPECT_EQ(world_.take_notices().size(), 1U) << "once for each reason";
  world_.disk.take_away("binlog.9");
  EXPECT_TRUE(world_.watch.return_to_folder(names));
}

}  // namespace
}  // namespace haricot::binlog
