#include "haricot/binlog/spares.hpp"

#include <gtest/gtest.h>

#include "sim_disk.hpp"

namespace haricot::binlog {
namespace {

constexpr std::uint64_t kBytes = 4096;

TEST(Spares, HaveTheirSpaceAndANameOfTheirOwn) {
  SimDisk disk;
  Spares spares(disk);
  spares.set_next_number(7);
  EXPECT_TRUE(spares.empty());
  ASSERT_EQ(spares.add(kBytes), DiskStatus::ok);
  ASSERT_EQ(spares.add(2 * kBytes), DiskStatus::ok);
  EXPECT_EQ(disk.bytes_of("binlog.7.tmp").size(), kBytes);
  EXPECT_EQ(disk.bytes_of("binlog.8.tmp").size(), 2 * kBytes);
  EXPECT_EQ(spares.allocated(), 3 * kBytes);
  EXPECT_EQ(spares.room(), Spares::room_of(spares.first()) + Spares::room_of(spares.last()));
  EXPECT_LT(Spares::room_of(spares.first()), kBytes - kFirstRecordOffset);
}

TEST(Spares, AreTakenInTheOrderInWhichTheyWereMade) {
  SimDisk disk;
  Spares spares(disk);
  ASSERT_EQ(spares.add(kBytes), DiskStatus::ok);
  ASSERT_EQ(spares.add(2 * kBytes), DiskStatus::ok);
  const Spare first = spares.take_first();
  EXPECT_EQ(first.number, 1U);
  EXPECT_EQ(first.allocated, kBytes);
  EXPECT_EQ(spares.allocated(), 2 * kBytes);
  EXPECT_EQ(spares.room(), Spares::room_of(spares.first()));
  EXPECT_TRUE(disk.has("binlog.1.tmp"));  // Its name is the taker's to change.
  disk.close(first.file);
  spares.remove_all();
}

TEST(Spares, TheFirstCanGrow) {
  SimDisk disk;
  Spares spares(disk);
  ASSERT_EQ(spares.add(kBytes), DiskStatus::ok);
  ASSERT_EQ(spares.grow_first(3 * kBytes), DiskStatus::ok);
  ASSERT_EQ(spares.grow_first(kBytes), DiskStatus::ok);  // Large enough already.
  EXPECT_EQ(spares.first().allocated, 3 * kBytes);
  EXPECT_EQ(spares.room(), Spares::room_of(spares.first()));
  disk.set_capacity(3 * kBytes);
  EXPECT_EQ(spares.grow_first(4 * kBytes), DiskStatus::full);
  EXPECT_EQ(spares.allocated(), 3 * kBytes);
}

TEST(Spares, LeaveNothingBehindWhenTheyAreRemoved) {
  SimDisk disk;
  Spares spares(disk);
  ASSERT_EQ(spares.add(kBytes), DiskStatus::ok);
  ASSERT_EQ(spares.add(kBytes), DiskStatus::ok);
  spares.remove_last();
  EXPECT_FALSE(disk.has("binlog.2.tmp"));
  ASSERT_EQ(spares.add(kBytes), DiskStatus::ok);
  EXPECT_EQ(spares.last().number, 2U);  // No gap in the numbers.
  spares.remove_all();
  EXPECT_EQ(spares.room(), 0U);
  EXPECT_EQ(spares.allocated(), 0U);
  EXPECT_EQ(disk.used_bytes(), 0U);
  EXPECT_EQ(disk.open_files(), 0U);
}

TEST(Spares, AreAsBeforeWhenOneCannotBeMade) {
  for (const DiskCall call : {DiskCall::create, DiskCall::allocate}) {
    SimDisk disk;
    Spares spares(disk);
    ASSERT_EQ(spares.add(kBytes), DiskStatus::ok);
    disk.inject({.call = call, .status = DiskStatus::full});
    EXPECT_EQ(spares.add(kBytes), DiskStatus::full);
    EXPECT_EQ(spares.room(), Spares::room_of(spares.first()));
    EXPECT_FALSE(disk.has("binlog.2.tmp"));
    ASSERT_EQ(spares.add(kBytes), DiskStatus::ok);
    EXPECT_EQ(spares.last().number, 2U);
    spares.remove_all();
    EXPECT_EQ(disk.open_files(), 0U);
  }
}

TEST(Spares, RemoveLaterWhatCouldNotBeRemoved) {
  SimDisk disk;
  Spares spares(disk);
  ASSERT_EQ(spares.add(kBytes), DiskStatus::ok);
  disk.inject({.call = DiskCall::remove});
  spares.discard(spares.take_first());
  EXPECT_TRUE(disk.has("binlog.1.tmp"));
  EXPECT_EQ(disk.open_files(), 0U);
  ASSERT_EQ(spares.add(kBytes), DiskStatus::ok);
  EXPECT_FALSE(disk.has("binlog.1.tmp"));
  EXPECT_TRUE(disk.has("binlog.2.tmp"));
}

TEST(Spares, DoNotRemoveANameThatIsInUseAgain) {
  SimDisk disk;
  Spares spares(disk);
  ASSERT_EQ(spares.add(kBytes), DiskStatus::ok);
  disk.inject({.call = DiskCall::remove});
  spares.remove_last();
  disk.inject({.call = DiskCall::remove});
  ASSERT_EQ(spares.add(kBytes), DiskStatus::ok);  // Takes the same name.
  ASSERT_EQ(spares.add(kBytes), DiskStatus::ok);
  EXPECT_TRUE(disk.has("binlog.1.tmp"));
  EXPECT_TRUE(disk.has("binlog.2.tmp"));
}

}  // namespace
}  // namespace haricot::binlog
