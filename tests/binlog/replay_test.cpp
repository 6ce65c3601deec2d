#include "haricot/binlog/replay.hpp"

#include <gtest/gtest.h>

#include "binlog_world.hpp"
#include "haricot/binlog/job_record.hpp"
#include "log_maker.hpp"

namespace haricot::binlog {
namespace {

constexpr BinlogOptions kSmallFiles{.file_bytes = 4096, .sync = SyncPolicy::every_turn};

// A folder of at least so many files, each with a few jobs in it, after a clean end.
void fill(SimDisk& disk, std::uint64_t files) {
  World world(disk, kSmallFiles);
  while (world.binlog.numbers().current_index < files) {
    world.put({.body_bytes = 1000});
    world.end_turn();
  }
  EXPECT_TRUE(world.close());
}

std::uint64_t jobs_in(SimDisk& disk) {
  const World world(disk, kSmallFiles, kWallBegin + 1);
  return world.engine.jobs().size();
}

TEST(Replay, ReadsAFileWithADamagedBeginByTheIdOfAnyOtherFile) {
  SimDisk disk;
  fill(disk, 5);
  const std::uint64_t jobs = jobs_in(disk);
  for (const char* name : {"binlog.1", "binlog.2", "binlog.3"}) disk.zero(name, 0, 88);
  EXPECT_EQ(jobs_in(disk), jobs);
}

TEST(Replay, MakesNoJobOfAMarkerWhoseDeletionIsMissing) {
  SimDisk disk;
  LogMaker log(1);
  const std::string body = "\r\n";
  Record marker = marker_of(41);
  marker.body = body;
  log.add(marker);
  disk.put("binlog.1", log.bytes());
  const World world(disk, kSmallFiles);
  EXPECT_EQ(world.engine.jobs().size(), 0U);
  EXPECT_EQ(world.engine.next_id(), 42U);
}

}  // namespace
}  // namespace haricot::binlog
