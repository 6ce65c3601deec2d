#include "haricot/binlog/write/quarantine.hpp"
#include "haricot/binlog/format/file_identity.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/sim_disk.hpp"

namespace haricot::binlog {
namespace {

// Keeps the bytes with a new quarantine, like a start.
Quarantine::Kept keep_in(Disk& disk, const std::string& bytes, std::uint64_t number = 3) {
  Quarantine quarantine(disk);
  Quarantine::Kept kept;
  EXPECT_EQ(quarantine.keep(bytes, number, damaged_name, kept), DiskStatus::ok);
  EXPECT_EQ(quarantine.sync(), DiskStatus::ok);
  return kept;
}

TEST(Quarantine, EachCopyHasItsOwnNumber) {
  SimDisk disk;
  Quarantine quarantine(disk);
  std::vector<std::string> names;
  for (const std::string bytes : {"one", "two", "three"}) {
    Quarantine::Kept kept;
    ASSERT_EQ(quarantine.keep(bytes, 3, damaged_name, kept), DiskStatus::ok);
    EXPECT_TRUE(kept.is_new);
    EXPECT_EQ(disk.bytes_of(kept.name), bytes);
    names.push_back(kept.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"binlog.3.damaged.1", "binlog.3.damaged.2",
                                             "binlog.3.damaged.3"}));
  EXPECT_EQ(keep_in(disk, "one", 4).name, "binlog.4.damaged.1") << "copies of files count apart";
}

TEST(Quarantine, TheSameBytesAreKeptOnce) {
  SimDisk disk;
  EXPECT_TRUE(keep_in(disk, "one").is_new);
  EXPECT_TRUE(keep_in(disk, "two").is_new);
  const Quarantine::Kept again = keep_in(disk, "one");
  EXPECT_FALSE(again.is_new);
  EXPECT_EQ(again.name, "binlog.3.damaged.1");
  EXPECT_FALSE(disk.has("binlog.3.damaged.3"));
}

// For any loss of unsynced names and bytes, each file with the name of a copy is complete.
TEST(Quarantine, ACrashLeavesNoPartialCopy) {
  const std::string bytes(9000, 'x');
  SimDisk disk;
  disk.start_trace();
  EXPECT_TRUE(keep_in(disk, bytes).is_new);
  SimDisk::Random random(4711);
  const auto past = disk.replay_until(0);
  for (std::size_t cut = 0; cut <= disk.trace().size(); ++cut) {
    disk.replay_more(*past, cut);
    for (int round = 0; round < 20; ++round) {
      const auto crashed = past->crash(random);
      const bool has_copy = crashed->has("binlog.3.damaged.1");
      EXPECT_TRUE(!has_copy || crashed->bytes_of("binlog.3.damaged.1") == bytes) << "cut " << cut;
      EXPECT_TRUE(has_copy || cut < disk.trace().size()) << "it was not durable at the end";
      // The next start makes the copy, or finds it. A partial copy does not block it.
      EXPECT_EQ(keep_in(*crashed, bytes).name, "binlog.3.damaged.1");
      EXPECT_EQ(crashed->durable_bytes_of("binlog.3.damaged.1"), bytes);
    }
  }
}

TEST(Quarantine, AnExistingCopyIsMadeDurable) {
  SimDisk disk;
  {
    Quarantine killed(disk);
    Quarantine::Kept kept;
    ASSERT_EQ(killed.keep("bytes", 3, damaged_name, kept), DiskStatus::ok);
  }
  ASSERT_FALSE(disk.has_durable("binlog.3.damaged.1"));
  EXPECT_FALSE(keep_in(disk, "bytes").is_new);
  EXPECT_TRUE(disk.has_durable("binlog.3.damaged.1"));
}

TEST(Quarantine, AFailedCopyLeavesNothingAndIsReported) {
  for (const DiskCall call :
       {DiskCall::list, DiskCall::create, DiskCall::write, DiskCall::sync, DiskCall::rename}) {
    SimDisk disk;
    disk.inject({.call = call, .status = DiskStatus::full});
    Quarantine quarantine(disk);
    Quarantine::Kept kept;
    EXPECT_EQ(quarantine.keep("bytes", 3, damaged_name, kept), DiskStatus::full);
    EXPECT_FALSE(kept.is_new);
    EXPECT_FALSE(disk.has("binlog.3.damaged.1"));
    EXPECT_FALSE(disk.has("binlog.3.damaged.1.tmp"));
    EXPECT_EQ(disk.open_files(), 0U);
    EXPECT_TRUE(keep_in(disk, "bytes").is_new) << "the next try does it";
  }
}

TEST(Quarantine, AMoveNeverReplacesAFile) {
  SimDisk disk;
  disk.put("binlog.3", "new");
  disk.put("binlog.3.aside.1", "first");
  disk.put("binlog.3.aside.2", "second");
  Quarantine quarantine(disk);
  std::string to;
  ASSERT_EQ(quarantine.move("binlog.3", 3, aside_name, to), DiskStatus::ok);
  EXPECT_EQ(to, "binlog.3.aside.3");
  EXPECT_EQ(disk.bytes_of("binlog.3.aside.1"), "first");
  EXPECT_EQ(disk.bytes_of("binlog.3.aside.2"), "second");
  EXPECT_EQ(disk.bytes_of("binlog.3.aside.3"), "new");
  EXPECT_FALSE(disk.has("binlog.3"));
  ASSERT_EQ(quarantine.sync(), DiskStatus::ok);
  EXPECT_TRUE(disk.has_durable("binlog.3.aside.3"));

  // The quarantine remembers the names that it has given.
  disk.put("binlog.3.tmp", "spare");
  ASSERT_EQ(quarantine.move("binlog.3.tmp", 3, aside_name, to), DiskStatus::ok);
  EXPECT_EQ(to, "binlog.3.aside.4");
}

TEST(Quarantine, AFailedMoveLeavesTheFile) {
  SimDisk disk;
  disk.put("binlog.3", "jobs");
  disk.inject({.call = DiskCall::rename});
  Quarantine quarantine(disk);
  std::string to;
  EXPECT_EQ(quarantine.move("binlog.3", 3, aside_name, to), DiskStatus::failed);
  EXPECT_EQ(disk.bytes_of("binlog.3"), "jobs");
}

TEST(Quarantine, NothingIsSyncedWithoutNewNames) {
  SimDisk disk;
  Quarantine quarantine(disk);
  EXPECT_EQ(quarantine.sync(), DiskStatus::ok);
  EXPECT_EQ(disk.calls(), 0U);
}

}  // namespace
}  // namespace haricot::binlog
