#include "haricot/binlog/write/spares.hpp"

#include <gtest/gtest.h>

#include "support/sim_disk.hpp"

namespace haricot::binlog {
namespace {

constexpr std::uint64_t kBytes = 4096;
constexpr std::uint64_t kAll = UINT64_MAX;

TEST(Spares, HaveTheirSpaceAndOwnNames) {
  SimDisk disk;
  Spares spares(disk);
  spares.set_next_number(7);
  EXPECT_TRUE(spares.empty());
  ASSERT_EQ(spares.add(kBytes, kAll), DiskStatus::ok);
  ASSERT_EQ(spares.add(2 * kBytes, kAll), DiskStatus::ok);
  EXPECT_EQ(disk.bytes_of("binlog.7.tmp").size(), kBytes);
  EXPECT_EQ(disk.bytes_of("binlog.8.tmp").size(), 2 * kBytes);
  EXPECT_EQ(spares.allocated(), 3 * kBytes);
  EXPECT_EQ(spares.room(), Spares::room_of(spares.first()) + Spares::room_of(spares.last()));
  EXPECT_LT(Spares::room_of(spares.first()), kBytes - kFirstRecordOffset);
}

TEST(Spares, AreTakenInTheOrderOfCreation) {
  SimDisk disk;
  Spares spares(disk);
  ASSERT_EQ(spares.add(kBytes, kAll), DiskStatus::ok);
  ASSERT_EQ(spares.add(2 * kBytes, kAll), DiskStatus::ok);
  ASSERT_EQ(spares.prepare_first(kBytes), DiskStatus::ok);
  const Spare first = spares.take_first();
  EXPECT_EQ(first.number, 1U);
  EXPECT_EQ(first.allocated, kBytes);
  EXPECT_EQ(spares.allocated(), 2 * kBytes);
  EXPECT_EQ(spares.room(), Spares::room_of(spares.first()));
  EXPECT_TRUE(disk.has("binlog.1.tmp"));  // The caller renames it.
  disk.close(first.file);
  spares.remove_all();
}

TEST(Spares, TheFirstCanGrow) {
  SimDisk disk;
  Spares spares(disk);
  ASSERT_EQ(spares.add(kBytes, kAll), DiskStatus::ok);
  ASSERT_EQ(spares.prepare_first(3 * kBytes), DiskStatus::ok);
  ASSERT_EQ(spares.prepare_first(kBytes), DiskStatus::ok);  // It is large enough already.
  EXPECT_EQ(spares.first().allocated, 3 * kBytes);
  EXPECT_EQ(spares.room(), Spares::room_of(spares.first()));
  disk.set_capacity(3 * kBytes);
  EXPECT_EQ(spares.prepare_first(4 * kBytes), DiskStatus::full);
  EXPECT_EQ(spares.allocated(), 3 * kBytes);
}

TEST(Spares, LeaveNothingBehindAfterRemoval) {
  SimDisk disk;
  Spares spares(disk);
  ASSERT_EQ(spares.add(kBytes, kAll), DiskStatus::ok);
  ASSERT_EQ(spares.add(kBytes, kAll), DiskStatus::ok);
  spares.remove_last();
  EXPECT_FALSE(disk.has("binlog.2.tmp"));
  ASSERT_EQ(spares.add(kBytes, kAll), DiskStatus::ok);
  EXPECT_EQ(spares.last().number, 2U);  // No gap in the numbers.
  spares.remove_all();
  EXPECT_EQ(spares.room(), 0U);
  EXPECT_EQ(spares.allocated(), 0U);
  EXPECT_EQ(disk.used_bytes(), 0U);
  EXPECT_EQ(disk.open_files(), 0U);
}

TEST(Spares, AreUnchangedIfOneCannotBeMade) {
  for (const DiskCall call : {DiskCall::create, DiskCall::allocate}) {
    SimDisk disk;
    Spares spares(disk);
    ASSERT_EQ(spares.add(kBytes, kAll), DiskStatus::ok);
    disk.inject({.call = call, .status = DiskStatus::full});
    EXPECT_EQ(spares.add(kBytes, kAll), DiskStatus::full);
    EXPECT_EQ(spares.room(), Spares::room_of(spares.first()));
    EXPECT_FALSE(disk.has("binlog.2.tmp"));
    ASSERT_EQ(spares.add(kBytes, kAll), DiskStatus::ok);
    EXPECT_EQ(spares.last().number, 2U);
    spares.remove_all();
    EXPECT_EQ(disk.open_files(), 0U);
  }
}

TEST(Spares, RetryFailedRemovals) {
  SimDisk disk;
  Spares spares(disk);
  ASSERT_EQ(spares.add(kBytes, kAll), DiskStatus::ok);
  disk.inject({.call = DiskCall::remove});
  ASSERT_EQ(spares.prepare_first(0), DiskStatus::ok);
  spares.discard(spares.take_first());
  EXPECT_TRUE(disk.has("binlog.1.tmp"));
  EXPECT_EQ(disk.open_files(), 0U);
  ASSERT_EQ(spares.add(kBytes, kAll), DiskStatus::ok);
  EXPECT_EQ(disk.bytes_of("binlog.1.tmp").size(), kBytes);  // The name is free, and used again.
  spares.set_next_number(2);
  ASSERT_EQ(spares.add(kBytes, kAll), DiskStatus::ok);
  disk.inject({.call = DiskCall::remove});
  spares.remove_all();
  EXPECT_EQ(disk.used_bytes(), kBytes);
  spares.set_next_number(3);
  ASSERT_EQ(spares.add(kBytes, kAll), DiskStatus::ok);
  EXPECT_EQ(disk.used_bytes(), kBytes);
}

TEST(Spares, DoNotRemoveAReusedName) {
  SimDisk disk;
  Spares spares(disk);
  ASSERT_EQ(spares.add(kBytes, kAll), DiskStatus::ok);
  disk.inject({.call = DiskCall::remove});
  spares.remove_last();
  disk.inject({.call = DiskCall::remove});
  ASSERT_EQ(spares.add(kBytes, kAll), DiskStatus::ok);  // It gets the same name.
  ASSERT_EQ(spares.add(kBytes, kAll), DiskStatus::ok);
  EXPECT_TRUE(disk.has("binlog.1.tmp"));
  EXPECT_TRUE(disk.has("binlog.2.tmp"));
}

TEST(Spares, HaveNoDescriptor) {
  SimDisk disk;
  Spares spares(disk);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(spares.add(kBytes, kAll), DiskStatus::ok);
  EXPECT_EQ(disk.open_files(), 0U);
  ASSERT_EQ(spares.prepare_first(kBytes), DiskStatus::ok);
  EXPECT_EQ(disk.open_files(), 1U);
  ASSERT_EQ(spares.add(kBytes, 1), DiskStatus::ok);
  EXPECT_EQ(disk.open_files(), 2U);
  spares.remove_all();
  EXPECT_EQ(disk.open_files(), 0U);
}

TEST(Spares, AllocateTheirSpaceStepByStep) {
  SimDisk disk;
  Spares spares(disk);
  ASSERT_EQ(spares.add(4 * kBytes, kBytes), DiskStatus::ok);
  EXPECT_TRUE(spares.is_growing());
  EXPECT_EQ(spares.allocated(), kBytes);
  ASSERT_EQ(spares.grow_last(kBytes), DiskStatus::ok);
  EXPECT_EQ(spares.room(), Spares::room_of(2 * kBytes));
  EXPECT_EQ(disk.bytes_of("binlog.1.tmp").size(), 2 * kBytes);
  ASSERT_EQ(spares.grow_last(kAll), DiskStatus::ok);
  EXPECT_FALSE(spares.is_growing());
  EXPECT_EQ(spares.allocated(), 4 * kBytes);
  EXPECT_EQ(disk.open_files(), 0U);
}

TEST(Spares, KeepTheirSizeOnAFullDisk) {
  SimDisk disk;
  disk.set_capacity(2 * kBytes);
  Spares spares(disk);
  ASSERT_EQ(spares.add(4 * kBytes, kBytes), DiskStatus::ok);
  ASSERT_EQ(spares.grow_last(kBytes), DiskStatus::ok);
  EXPECT_EQ(spares.grow_last(kBytes), DiskStatus::full);
  EXPECT_FALSE(spares.is_growing());
  EXPECT_EQ(spares.allocated(), 2 * kBytes);
  EXPECT_EQ(disk.open_files(), 0U);
  ASSERT_EQ(spares.prepare_first(kBytes), DiskStatus::ok);
  EXPECT_EQ(spares.first().allocated, 2 * kBytes);
}

TEST(Spares, LargeEnoughSparesComeFirst) {
  SimDisk disk;
  Spares spares(disk);
  ASSERT_EQ(spares.add(kBytes, kAll), DiskStatus::ok);
  ASSERT_EQ(spares.add(3 * kBytes, kAll), DiskStatus::ok);
  ASSERT_EQ(spares.add(8 * kBytes, 2 * kBytes), DiskStatus::ok);
  disk.set_capacity(disk.used_bytes());
  ASSERT_EQ(spares.prepare_first(3 * kBytes), DiskStatus::ok);
  EXPECT_EQ(spares.first().allocated, 3 * kBytes);
  EXPECT_EQ(spares.allocated(), 6 * kBytes);
  EXPECT_EQ(spares.prepare_first(4 * kBytes), DiskStatus::full);
  disk.close(spares.take_first().file);
  ASSERT_EQ(spares.prepare_first(2 * kBytes), DiskStatus::ok);
  EXPECT_EQ(spares.first().number, 3U);
  spares.remove_all();
  EXPECT_EQ(disk.open_files(), 0U);
}

TEST(Spares, StopGrowingOnceTheyArePrepared) {
  SimDisk disk;
  Spares spares(disk);
  ASSERT_EQ(spares.add(8 * kBytes, kBytes), DiskStatus::ok);
  ASSERT_EQ(spares.prepare_first(2 * kBytes), DiskStatus::ok);
  EXPECT_FALSE(spares.is_growing());
  EXPECT_EQ(spares.first().allocated, 2 * kBytes);
  disk.close(spares.take_first().file);
  EXPECT_EQ(spares.room(), 0U);
  EXPECT_EQ(spares.allocated(), 0U);
}

TEST(Spares, RemovedFilesAreMadeAgain) {
  SimDisk disk;
  Spares spares(disk);
  ASSERT_EQ(spares.add(kBytes, kAll), DiskStatus::ok);
  ASSERT_EQ(disk.remove("binlog.1.tmp"), DiskStatus::ok);
  ASSERT_EQ(spares.prepare_first(kBytes), DiskStatus::ok);
  EXPECT_EQ(disk.bytes_of("binlog.1.tmp").size(), kBytes);
  EXPECT_EQ(spares.allocated(), kBytes);
  spares.remove_all();
}

TEST(Spares, LostFilesDoNotCount) {
  SimDisk disk;
  Spares spares(disk);
  ASSERT_EQ(spares.add(kBytes, kAll), DiskStatus::ok);
  ASSERT_EQ(disk.remove("binlog.1.tmp"), DiskStatus::ok);
  disk.set_capacity(0);
  EXPECT_EQ(spares.prepare_first(kBytes), DiskStatus::full);
  EXPECT_EQ(spares.room(), 0U);
  EXPECT_EQ(spares.allocated(), 0U);
  disk.set_capacity({});
  ASSERT_EQ(spares.prepare_first(kBytes), DiskStatus::ok);
  EXPECT_EQ(spares.room(), Spares::room_of(kBytes));
  spares.remove_all();
  EXPECT_EQ(disk.open_files(), 0U);
}

TEST(Spares, ReportTheFirstFailure) {
  SimDisk disk;
  Spares spares(disk);
  disk.set_capacity(0);
  disk.inject({.call = DiskCall::remove});
  EXPECT_EQ(spares.add(kBytes, kAll), DiskStatus::full);
  EXPECT_EQ(spares.why(), "no space left");
}

TEST(Spares, CanBeLeftForTheNextStart) {
  SimDisk disk;
  Spares spares(disk);
  ASSERT_EQ(spares.add(kBytes, kAll), DiskStatus::ok);
  ASSERT_EQ(spares.add(4 * kBytes, kBytes), DiskStatus::ok);
  spares.leave_all();
  EXPECT_TRUE(spares.empty());
  EXPECT_EQ(spares.allocated(), 0U);
  EXPECT_EQ(disk.used_bytes(), 2 * kBytes);
  EXPECT_EQ(disk.open_files(), 0U);
}

}  // namespace
}  // namespace haricot::binlog
