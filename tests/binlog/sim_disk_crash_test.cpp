#include "support/sim_disk.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim_disk_steps.hpp"

namespace haricot::binlog {
namespace {

// Returns the sets of names that exist after many crashes.
std::set<std::string> names_after(const SimDisk& disk, UnsyncedNames policy) {
  std::set<std::string> found;
  SimDisk::Random random(1);
  for (int i = 0; i < kCrashes; ++i) {
    const auto crashed = disk.crash(random, {Unsynced::kept, policy});
    std::vector<std::string> names;
    EXPECT_EQ(crashed->list(names), DiskStatus::ok);
    std::string joined;
    for (const std::string& name : names) joined += name + "=" + crashed->bytes_of(name) + " ";
    found.insert(joined);
  }
  return found;
}

// Crashes: bytes ------------------------------------------------------------------------------

TEST(SimDiskCrash, KeepsSyncedBytes) {
  SimDisk disk;
  create_durable(disk, "a", sectors(3, 'a'));
  EXPECT_EQ(outcomes(disk, "a"), Strings{sectors(3, 'a')});
}

TEST(SimDiskCrash, TearsAWriteAtAnyOfItsSectors) {
  SimDisk disk;
  const FileHandle file = create_durable(disk, "a", sectors(3, '-'));
  EXPECT_EQ(write_at(disk, file, 0, sectors(3, 'n')), DiskStatus::ok);
  Strings expected;
  for (int mask = 0; mask < 8; ++mask) {
    std::string bytes;
    for (int i = 0; i < 3; ++i) bytes += sectors(1, (mask >> i & 1) != 0 ? 'n' : '-');
    expected.insert(bytes);
  }
  EXPECT_EQ(outcomes(disk, "a", {Unsynced::by_sector, UnsyncedNames::kept}), expected);
  EXPECT_EQ(outcomes(disk, "a"), expected);

  const Strings in_order = {sectors(3, '-'), sectors(1, 'n') + sectors(2, '-'),
                            sectors(2, 'n') + sectors(1, '-'), sectors(3, 'n')};
  EXPECT_EQ(outcomes(disk, "a", {Unsynced::in_order, UnsyncedNames::kept}), in_order);
  const Strings by_write = {sectors(3, '-'), sectors(3, 'n')};
  EXPECT_EQ(outcomes(disk, "a", {Unsynced::by_write, UnsyncedNames::kept}), by_write);
  EXPECT_EQ(outcomes(disk, "a", {Unsynced::lost, UnsyncedNames::kept}), Strings{sectors(3, '-')});
  EXPECT_EQ(outcomes(disk, "a", {Unsynced::kept, UnsyncedNames::kept}), Strings{sectors(3, 'n')});
}

TEST(SimDiskCrash, NeverTearsWithinASector) {
  SimDisk disk;
  const FileHandle file = create_durable(disk, "a", sectors(2, '-'));
  EXPECT_EQ(write_at(disk, file, kSector - 100, std::string(200, 'n')), DiskStatus::ok);
  const std::string first = std::string(kSector - 100, '-') + std::string(100, 'n');
  const std::string second = std::string(100, 'n') + std::string(kSector - 100, '-');
  const Strings expected = {sectors(2, '-'), first + sectors(1, '-'), sectors(1, '-') + second,
                            first + second};
  EXPECT_EQ(outcomes(disk, "a"), expected);
}

TEST(SimDiskCrash, KeepsWritesToASectorInOrder) {
  SimDisk disk;
  const FileHandle file = create_durable(disk, "a", sectors(1, '-'));
  EXPECT_EQ(write_at(disk, file, 0, "11"), DiskStatus::ok);
  EXPECT_EQ(write_at(disk, file, 4, "22"), DiskStatus::ok);
  const std::string rest(kSector - 6, '-');
  const Strings expected = {"------" + rest, "11----" + rest, "11--22" + rest};
  EXPECT_EQ(outcomes(disk, "a"), expected);
}

TEST(SimDiskCrash, LosesWritesToDifferentSectorsInAnyOrder) {
  SimDisk disk;
  const FileHandle file = create_durable(disk, "a", sectors(2, '-'));
  EXPECT_EQ(write_at(disk, file, 0, sectors(1, '1')), DiskStatus::ok);
  EXPECT_EQ(write_at(disk, file, kSector, sectors(1, '2')), DiskStatus::ok);
  const Strings found = outcomes(disk, "a", {Unsynced::by_write, UnsyncedNames::kept});
  EXPECT_EQ(found.size(), 4U);
  EXPECT_TRUE(found.contains(sectors(1, '-') + sectors(1, '2')));
  const Strings in_order = outcomes(disk, "a", {Unsynced::in_order, UnsyncedNames::kept});
  EXPECT_FALSE(in_order.contains(sectors(1, '-') + sectors(1, '2')));
}

TEST(SimDiskCrash, ReadsZerosInAllocatedSpace) {
  SimDisk disk;
  const FileHandle file = create(disk, "a");
  EXPECT_EQ(disk.allocate(file, 2 * kSector), DiskStatus::ok);
  EXPECT_EQ(disk.sync(file), DiskStatus::ok);
  EXPECT_EQ(disk.sync_folder(), DiskStatus::ok);
  EXPECT_EQ(write_at(disk, file, 0, sectors(2, 'n')), DiskStatus::ok);
  EXPECT_TRUE(outcomes(disk, "a").contains(sectors(1, '\0') + sectors(1, 'n')));
  EXPECT_TRUE(outcomes(disk, "a").contains(sectors(2, '\0')));
}

TEST(SimDiskCrash, LosesOrKeepsTheSizeOfAFileThatGrew) {
  SimDisk disk;
  const FileHandle file = create_durable(disk, "a", "ab");
  EXPECT_EQ(write_at(disk, file, 2, "cd"), DiskStatus::ok);
  // The crash may keep the sector without the size, or only the size.
  const Strings expected = {"ab", "abcd", std::string("ab\0\0", 4)};
  EXPECT_EQ(outcomes(disk, "a", {Unsynced::by_sector, UnsyncedNames::kept}), expected);
}

TEST(SimDiskCrash, LosesOrKeepsATruncation) {
  SimDisk disk;
  const FileHandle file = create_durable(disk, "a", "abcd");
  EXPECT_EQ(disk.truncate(file, 2), DiskStatus::ok);
  EXPECT_EQ(outcomes(disk, "a"), (Strings{"abcd", "ab"}));
  EXPECT_EQ(disk.sync(file), DiskStatus::ok);
  EXPECT_EQ(disk.allocate(file, 4), DiskStatus::ok);
  // Truncated bytes do not come back.
  EXPECT_EQ(outcomes(disk, "a"), (Strings{"ab", std::string("ab\0\0", 4)}));
}

TEST(SimDiskCrash, DoesNotRestoreTruncatedBytesBelowAKeptGrowth) {
  SimDisk disk;
  const FileHandle file = create_durable(disk, "a", "abcd");
  EXPECT_EQ(disk.truncate(file, 2), DiskStatus::ok);
  EXPECT_EQ(disk.allocate(file, 5), DiskStatus::ok);
  const Strings expected = {"abcd", "ab", std::string("ab\0\0\0", 5)};
  EXPECT_EQ(outcomes(disk, "a"), expected);
  EXPECT_EQ(outcomes(disk, "a", {Unsynced::in_order, UnsyncedNames::kept}), expected);
}

TEST(SimDiskCrash, LeavesADiskThatIsDurableAndWorks) {
  SimDisk disk;
  const FileHandle file = create_durable(disk, "a", "ab");
  EXPECT_EQ(write_at(disk, file, 0, "xy"), DiskStatus::ok);
  disk.inject({.nth = 1, .lasts = true});
  disk.set_capacity(4);
  SimDisk::Random random(7);
  const auto crashed = disk.crash(random, {Unsynced::kept, UnsyncedNames::kept});
  EXPECT_EQ(outcomes(*crashed, "a"), Strings{"xy"});
  const FileHandle next = create(*crashed, "b");
  EXPECT_EQ(write_at(*crashed, next, 0, "123"), DiskStatus::full);
  EXPECT_EQ(crashed->bytes_of("b"), "12");
  EXPECT_EQ(disk.bytes_of("a"), "xy");  // The original disk is unchanged.
}

// Crashes: names ------------------------------------------------------------------------------

TEST(SimDiskCrash, LosesOrKeepsNamesThatWereNotSynced) {
  SimDisk disk;
  disk.put("old", "o");
  create(disk, "new");
  EXPECT_EQ(disk.remove("old"), DiskStatus::ok);
  EXPECT_EQ(names_after(disk, UnsyncedNames::lost), Strings{"old=o "});
  EXPECT_EQ(names_after(disk, UnsyncedNames::kept), Strings{"new= "});
  EXPECT_EQ(names_after(disk, UnsyncedNames::in_order),
            (Strings{"old=o ", "new= old=o ", "new= "}));
  EXPECT_EQ(names_after(disk, UnsyncedNames::any_order),
            (Strings{"old=o ", "new= old=o ", "new= ", ""}));
  EXPECT_EQ(names_after(disk, UnsyncedNames::any).size(), 4U);

  EXPECT_EQ(disk.sync_folder(), DiskStatus::ok);
  EXPECT_EQ(names_after(disk, UnsyncedNames::any), Strings{"new= "});
}

TEST(SimDiskCrash, KeepsARenameWholeOrNotAtAll) {
  SimDisk disk;
  disk.put("a.tmp", "new");
  disk.put("a", "old");
  EXPECT_EQ(disk.rename("a.tmp", "a"), DiskStatus::ok);
  EXPECT_EQ(names_after(disk, UnsyncedNames::any), (Strings{"a=old a.tmp=new ", "a=new "}));
}

TEST(SimDiskCrash, KeepsOneNameOfAFileRenamedTwice) {
  SimDisk disk;
  disk.put("a", "x");
  EXPECT_EQ(disk.rename("a", "b"), DiskStatus::ok);
  EXPECT_EQ(disk.rename("b", "c"), DiskStatus::ok);
  EXPECT_EQ(names_after(disk, UnsyncedNames::any_order), (Strings{"a=x ", "b=x ", "c=x "}));
}

TEST(SimDiskCrash, LosesTheNameOfASyncedFile) {
  SimDisk disk;
  const FileHandle file = create(disk, "a");
  EXPECT_EQ(write_at(disk, file, 0, "x"), DiskStatus::ok);
  EXPECT_EQ(disk.sync(file), DiskStatus::ok);
  EXPECT_EQ(outcomes(disk, "a"), (Strings{"(gone)", "x"}));
}

// Syncs -----------------------------------------------------------------------------------------

TEST(SimDiskSync, EndsInOrderAndOnRequest) {
  SimDisk disk;
  disk.set_sync_mode(SyncMode::when_told);
  const FileHandle file = create(disk, "a");
  disk.start_sync(file, 10);
  disk.start_sync(FileHandle::none, 11);
  disk.start_sync(file, 12);
  SyncDone done;
  EXPECT_FALSE(disk.next_sync_done(done));
  EXPECT_EQ(disk.complete_syncs(2), 1U);
  ASSERT_TRUE(disk.next_sync_done(done));
  EXPECT_EQ(done.ticket, 10U);
  ASSERT_TRUE(disk.next_sync_done(done));
  EXPECT_EQ(done.ticket, 11U);
  EXPECT_FALSE(disk.next_sync_done(done));
  EXPECT_EQ(disk.syncs_under_way(), 1U);
  EXPECT_EQ(disk.complete_syncs(1, DiskStatus::full), 0U);
  ASSERT_TRUE(disk.next_sync_done(done));
  EXPECT_EQ(done.ticket, 12U);
  EXPECT_EQ(done.status, DiskStatus::full);
}

TEST(SimDiskSync, CoversWritesBeforeItBegan) {
  SimDisk disk;
  disk.set_sync_mode(SyncMode::when_told);
  const FileHandle file = create_durable(disk, "a", sectors(2, '-'));
  EXPECT_EQ(write_at(disk, file, 0, sectors(1, '1')), DiskStatus::ok);
  disk.start_sync(file, 1);
  EXPECT_EQ(write_at(disk, file, kSector, sectors(1, '2')), DiskStatus::ok);
  EXPECT_EQ(disk.durable_bytes_of("a"), sectors(2, '-'));
  disk.complete_syncs();
  EXPECT_EQ(disk.durable_bytes_of("a"), sectors(1, '1') + sectors(1, '-'));
  EXPECT_EQ(outcomes(disk, "a"),
            (Strings{sectors(1, '1') + sectors(1, '-'), sectors(1, '1') + sectors(1, '2')}));
}

TEST(SimDiskSync, CoversNamesFromBeforeItBegan) {
  SimDisk disk;
  disk.set_sync_mode(SyncMode::when_told);
  create(disk, "a");
  disk.start_sync(FileHandle::none, 1);
  create(disk, "b");
  disk.complete_syncs();
  EXPECT_TRUE(disk.has_durable("a"));
  EXPECT_FALSE(disk.has_durable("b"));
}

TEST(SimDiskSync, AFailureLosesBytesThatALaterSyncReportsAsSynced) {
  SimDisk disk;
  const FileHandle file = create_durable(disk, "a", sectors(2, '-'));
  EXPECT_EQ(write_at(disk, file, 0, sectors(1, '1')), DiskStatus::ok);
  disk.inject({.call = DiskCall::sync});
  EXPECT_EQ(disk.sync(file), DiskStatus::failed);
  EXPECT_EQ(write_at(disk, file, kSector, sectors(1, '2')), DiskStatus::ok);
  EXPECT_EQ(disk.sync(file), DiskStatus::ok);
  EXPECT_EQ(disk.sync(file), DiskStatus::ok);
  EXPECT_EQ(disk.bytes_of("a"), sectors(1, '1') + sectors(1, '2'));
  EXPECT_EQ(disk.durable_bytes_of("a"), sectors(1, '-') + sectors(1, '2'));
  EXPECT_EQ(outcomes(disk, "a"),
            (Strings{sectors(1, '-') + sectors(1, '2'), sectors(1, '1') + sectors(1, '2')}));
}

TEST(SimDiskSync, AFailureIsRepairedByWritingTheSectorAgain) {
  SimDisk disk;
  const FileHandle file = create_durable(disk, "a", sectors(2, '-'));
  EXPECT_EQ(write_at(disk, file, 0, sectors(2, '1')), DiskStatus::ok);
  disk.inject({.call = DiskCall::sync});
  EXPECT_EQ(disk.sync(file), DiskStatus::failed);
  EXPECT_EQ(write_at(disk, file, 0, sectors(1, '2')), DiskStatus::ok);
  EXPECT_EQ(disk.sync(file), DiskStatus::ok);
  // The other sector is in doubt; this one never goes back.
  EXPECT_EQ(outcomes(disk, "a"),
            (Strings{sectors(1, '2') + sectors(1, '-'), sectors(1, '2') + sectors(1, '1')}));
}

TEST(SimDiskSync, AFailureDoesNotRestoreBytesTruncatedLater) {
  SimDisk disk;
  const FileHandle file = create_durable(disk, "a");
  EXPECT_EQ(write_at(disk, file, 0, sectors(2, '1')), DiskStatus::ok);
  disk.inject({.call = DiskCall::sync});
  EXPECT_EQ(disk.sync(file), DiskStatus::failed);
  EXPECT_EQ(disk.truncate(file, 100), DiskStatus::ok);
  EXPECT_EQ(disk.allocate(file, 200), DiskStatus::ok);
  EXPECT_EQ(disk.sync(file), DiskStatus::ok);
  const std::string zeros(100, '\0');
  EXPECT_EQ(outcomes(disk, "a"), (Strings{zeros + zeros, std::string(100, '1') + zeros}));
}

TEST(SimDiskSync, AFailureMayKeepUnsyncedBytes) {
  SimDisk disk;
  disk.set_failed_sync(FailedSync::keeps);
  const FileHandle file = create_durable(disk, "a", "-");
  EXPECT_EQ(write_at(disk, file, 0, "1"), DiskStatus::ok);
  disk.inject({.call = DiskCall::sync});
  EXPECT_EQ(disk.sync(file), DiskStatus::failed);
  EXPECT_EQ(disk.durable_bytes_of("a"), "-");
  EXPECT_EQ(disk.sync(file), DiskStatus::ok);
  EXPECT_EQ(disk.durable_bytes_of("a"), "1");
}

TEST(SimDiskSync, AFailedFolderSyncCanBeRepeated) {
  SimDisk disk;
  create(disk, "a");
  disk.inject({.call = DiskCall::sync_folder});
  EXPECT_EQ(disk.sync_folder(), DiskStatus::failed);
  EXPECT_FALSE(disk.has_durable("a"));
  EXPECT_EQ(disk.sync_folder(), DiskStatus::ok);
  EXPECT_TRUE(disk.has_durable("a"));
}

TEST(SimDiskSync, ClosingAFileDuringItEndsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  SimDisk disk;
  disk.set_sync_mode(SyncMode::when_told);
  const FileHandle file = create(disk, "a");
  disk.start_sync(file, 1);
  EXPECT_DEATH(disk.close(file), "");
  disk.complete_syncs();
  EXPECT_DEATH(disk.close(file), "");
  SyncDone done;
  EXPECT_TRUE(disk.next_sync_done(done));
  disk.close(file);
}

}  // namespace
}  // namespace haricot::binlog
