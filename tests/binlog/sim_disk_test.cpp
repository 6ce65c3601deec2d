#include "support/sim_disk.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim_disk_steps.hpp"

namespace haricot::binlog {
namespace {

// A folder like any other -------------------------------------------------------------------------

TEST(SimDisk, ReadsBytesWrittenInPieces) {
  SimDisk disk;
  const FileHandle file = create(disk, "a");
  EXPECT_EQ(disk.write(file, 3, std::vector<std::string_view>{"de", "", "f"}), DiskStatus::ok);
  EXPECT_EQ(write_at(disk, file, 0, "abc"), DiskStatus::ok);
  EXPECT_EQ(disk.allocate(file, 8), DiskStatus::ok);
  EXPECT_EQ(disk.allocate(file, 2), DiskStatus::ok);  // There already.
  FileBytes bytes;
  ASSERT_EQ(disk.read("a", bytes), DiskStatus::ok);
  EXPECT_EQ(bytes.view(), std::string_view("abcdef\0\0", 8));
  EXPECT_EQ(disk.truncate(file, 4), DiskStatus::ok);
  EXPECT_EQ(disk.allocate(file, 6), DiskStatus::ok);
  EXPECT_EQ(disk.bytes_of("a"), std::string("abcd\0\0", 6));
}

TEST(SimDisk, TruncatesAFileThatIsCreatedAgain) {
  SimDisk disk;
  create_durable(disk, "a", "old");
  const FileHandle again = create(disk, "a");
  EXPECT_EQ(disk.bytes_of("a"), "");
  EXPECT_EQ(write_at(disk, again, 0, "new"), DiskStatus::ok);
  EXPECT_EQ(disk.bytes_of("a"), "new");
  EXPECT_EQ(disk.open_files(), 2U);
}

TEST(SimDisk, FailsOnMissingAndInvalidNames) {
  SimDisk disk;
  FileBytes bytes;
  FileHandle file = FileHandle::none;
  EXPECT_EQ(disk.read("a", bytes), DiskStatus::missing);
  EXPECT_EQ(disk.remove("a"), DiskStatus::failed);
  EXPECT_EQ(disk.rename("a", "b"), DiskStatus::failed);
  for (const std::string name : {"", ".", "..", "a/b", "/a"}) {
    EXPECT_EQ(disk.create(name, file), DiskStatus::failed) << name;
  }
  EXPECT_EQ(disk.trace().size(), 0U);
}

TEST(SimDisk, KeepsAnOpenFileWithoutAName) {
  SimDisk disk;
  const FileHandle file = create_durable(disk, "a", "bytes");
  EXPECT_EQ(disk.remove("a"), DiskStatus::ok);
  EXPECT_EQ(write_at(disk, file, 5, "more"), DiskStatus::ok);
  EXPECT_EQ(disk.used_bytes(), 9U);
  disk.close(file);
  EXPECT_EQ(disk.used_bytes(), 0U);
  EXPECT_FALSE(disk.has("a"));
}

TEST(SimDisk, CountsEveryCall) {
  SimDisk disk;
  const FileHandle file = create_durable(disk, "a", "bytes");
  disk.start_sync(file, 1);
  SyncDone done;
  EXPECT_TRUE(disk.next_sync_done(done));
  EXPECT_EQ(disk.rename("a", "b"), DiskStatus::ok);
  disk.close(file);
  for (const DiskCall call : {DiskCall::create, DiskCall::write, DiskCall::sync, DiskCall::rename,
                              DiskCall::sync_folder, DiskCall::start_sync, DiskCall::close}) {
    EXPECT_EQ(disk.calls(call), 1U) << static_cast<int>(call);
  }
  EXPECT_EQ(disk.calls(), 7U);
  EXPECT_EQ(disk.bytes_written(), 5U);
  EXPECT_EQ(disk.open_files(), 0U);
}

// Faults ----------------------------------------------------------------------------------------

TEST(SimDiskFault, HitsTheNthCallOfItsKindOnce) {
  SimDisk disk;
  const FileHandle file = create(disk, "a");
  disk.inject({.nth = 2, .call = DiskCall::write, .status = DiskStatus::full});
  EXPECT_EQ(write_at(disk, file, 0, "1"), DiskStatus::ok);
  EXPECT_EQ(disk.sync(file), DiskStatus::ok);
  EXPECT_EQ(write_at(disk, file, 1, "2"), DiskStatus::full);
  EXPECT_EQ(disk.last_error(), "injected fault");
  EXPECT_EQ(write_at(disk, file, 1, "3"), DiskStatus::ok);
  EXPECT_EQ(disk.bytes_of("a"), "13");
  EXPECT_EQ(disk.faults_hit(), 1U);
}

TEST(SimDiskFault, HitsEveryCallFromTheNthOn) {
  SimDisk disk;
  disk.inject({.nth = 2, .call = DiskCall::sync_folder, .lasts = true});
  EXPECT_EQ(disk.sync_folder(), DiskStatus::ok);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(disk.sync_folder(), DiskStatus::failed);
  disk.clear_faults();
  EXPECT_EQ(disk.sync_folder(), DiskStatus::ok);
  EXPECT_EQ(disk.faults_hit(), 3U);
}

TEST(SimDiskFolder, IsRemovedWithItsFilesAndReturnsEmpty) {
  SimDisk disk;
  disk.put("b", "of somebody else");
  FileHandle file = create(disk, "a");
  EXPECT_EQ(disk.look_for(file, "a"), Presence::there);
  EXPECT_EQ(disk.look_for(FileHandle::none, "a"), Presence::there);
  EXPECT_EQ(disk.look_for(file, "b"), Presence::file_gone);
  EXPECT_EQ(disk.look_for(FileHandle::none, "c"), Presence::file_gone);
  bool is_new = true;
  EXPECT_EQ(disk.return_to_folder(is_new), DiskStatus::ok);
  EXPECT_FALSE(is_new);

  disk.set_folder(FolderState::removed);
  EXPECT_EQ(disk.look_for(file, "a"), Presence::folder_gone);
  EXPECT_FALSE(disk.has("a"));
  EXPECT_EQ(write_at(disk, file, 0, "nobody finds it"), DiskStatus::ok);
  FileHandle other = FileHandle::none;
  EXPECT_EQ(disk.create("c", other), DiskStatus::failed);
  EXPECT_EQ(disk.return_to_folder(is_new), DiskStatus::failed);
  disk.set_folder(FolderState::foreign);
  EXPECT_EQ(disk.return_to_folder(is_new), DiskStatus::failed);
  disk.set_folder(FolderState::replaced);
  EXPECT_EQ(disk.look_for(file, "a"), Presence::folder_gone);
  EXPECT_EQ(disk.return_to_folder(is_new), DiskStatus::ok);
  EXPECT_TRUE(is_new);
  EXPECT_EQ(disk.look_for(file, "a"), Presence::file_gone);
  disk.close(file);
}

// Each step is one call. The call that is hit fails and does nothing; all others succeed.
TEST(SimDiskFault, HitsTheNthCallOfAnyKind) {
  std::uint64_t nth = 1;
  for (;; ++nth) {
    SimDisk disk;
    disk.put("a", "old");
    disk.put("b", "old");
    FileHandle file = create(disk, "c");
    disk.inject({.nth = nth});
    std::vector<std::string> names;
    FileBytes bytes;
    FileHandle other = FileHandle::none;
    FileHandle again = FileHandle::none;
    SyncDone done;
    const std::vector<std::function<bool()>> steps = {
        [&] { return disk.list(names) == DiskStatus::ok; },
        [&] { return disk.read("a", bytes) == DiskStatus::ok; },
        [&] { return disk.create("d", other) == DiskStatus::ok; },
        [&] { return disk.allocate(file, 10) == DiskStatus::ok; },
        [&] { return write_at(disk, file, 0, "x") == DiskStatus::ok; },
        [&] { return disk.truncate(file, 0) == DiskStatus::ok; },
        [&] { return disk.rename("a", "e") == DiskStatus::ok; },
        [&] { return disk.remove("b") == DiskStatus::ok; },
        [&] { return disk.sync(file) == DiskStatus::ok; },
        [&] { return disk.sync_folder() == DiskStatus::ok; },
        [&] {
          disk.start_sync(file, 1);
          return disk.next_sync_done(done) && done.status == DiskStatus::ok;
        },
        [&] { return disk.open_existing("c", again) == DiskStatus::ok; },
        [&] {
          bool is_new = false;
          return disk.return_to_folder(is_new) == DiskStatus::ok;
        },
    };
    for (std::size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(steps[i](), i + 1 != nth) << i;
    disk.close(file);
    EXPECT_EQ(disk.has("d"), nth != 3);
    EXPECT_EQ(disk.has("a"), nth == 7);
    EXPECT_EQ(disk.has("b"), nth == 8);
    EXPECT_EQ(disk.has_durable("c"), nth != 10);
    if (disk.faults_hit() == 0) break;
  }
  EXPECT_EQ(nth, kDiskCalls);  // All kinds except close.
}

TEST(SimDiskFault, LeavesAShortWrite) {
  SimDisk disk;
  const FileHandle file = create(disk, "a");
  disk.inject({.call = DiskCall::write, .pieces_written = 1, .bytes_written = 2});
  EXPECT_EQ(disk.write(file, 0, std::vector<std::string_view>{"abc", "defg", "h"}),
            DiskStatus::failed);
  EXPECT_EQ(disk.bytes_of("a"), "abcde");
}

TEST(SimDiskFault, MayTakeEffect) {
  SimDisk disk;
  disk.put("a", "x");
  disk.inject({.lasts = true, .takes_effect = true});
  FileHandle file = FileHandle::none;
  EXPECT_EQ(disk.rename("a", "b"), DiskStatus::failed);
  EXPECT_EQ(disk.create("c", file), DiskStatus::failed);
  EXPECT_EQ(disk.sync_folder(), DiskStatus::failed);
  EXPECT_TRUE(disk.has_durable("b") && disk.has_durable("c") && !disk.has_durable("a"));
  EXPECT_EQ(file, FileHandle::none);
}

TEST(SimDiskFault, EndsASyncThatWasStarted) {
  SimDisk disk;
  disk.set_sync_mode(SyncMode::when_told);
  disk.inject({.nth = 2, .call = DiskCall::start_sync});
  const FileHandle file = create(disk, "a");
  for (std::uint64_t ticket = 1; ticket <= 3; ++ticket) disk.start_sync(file, ticket);
  disk.complete_syncs();
  SyncDone done;
  for (std::uint64_t ticket = 1; ticket <= 3; ++ticket) {
    ASSERT_TRUE(disk.next_sync_done(done));
    EXPECT_EQ(done.ticket, ticket);
    EXPECT_EQ(done.status, ticket == 2 ? DiskStatus::failed : DiskStatus::ok);
  }
}

TEST(SimDiskFault, IsFullUntilTheCapacityGrows) {
  SimDisk disk;
  disk.put("old", "1234");
  disk.set_capacity(10);
  const FileHandle file = create(disk, "a");
  EXPECT_EQ(disk.allocate(file, 7), DiskStatus::full);
  EXPECT_EQ(disk.bytes_of("a"), "");
  EXPECT_EQ(disk.allocate(file, 5), DiskStatus::ok);
  EXPECT_EQ(write_at(disk, file, 0, "abcde"), DiskStatus::ok);
  EXPECT_EQ(write_at(disk, file, 3, "vwxyz"), DiskStatus::full);
  EXPECT_EQ(disk.bytes_of("a"), "abcvwx");
  EXPECT_EQ(disk.used_bytes(), 10U);
  disk.set_capacity(5);
  EXPECT_EQ(write_at(disk, file, 0, "ABC"), DiskStatus::ok);  // It takes no space.
  EXPECT_EQ(disk.allocate(file, 8), DiskStatus::full);
  disk.set_capacity(std::nullopt);
  EXPECT_EQ(disk.allocate(file, 8), DiskStatus::ok);
  disk.set_capacity(8);
  EXPECT_EQ(disk.allocate(file, 9), DiskStatus::full);
  EXPECT_EQ(disk.remove("old"), DiskStatus::ok);
  EXPECT_EQ(disk.truncate(file, 2), DiskStatus::ok);
  EXPECT_EQ(disk.allocate(file, 8), DiskStatus::ok);
}

// Traces ----------------------------------------------------------------------------------------

// A small program that replaces a file, and notes the facts that must hold from then on.
void run_program(SimDisk& disk) {
  const FileHandle file = create(disk, "b.tmp");
  EXPECT_EQ(disk.allocate(file, 3 * kSector), DiskStatus::ok);
  EXPECT_EQ(write_at(disk, file, 0, sectors(2, '1')), DiskStatus::ok);
  EXPECT_EQ(disk.sync(file), DiskStatus::ok);
  EXPECT_EQ(disk.rename("b.tmp", "b"), DiskStatus::ok);
  EXPECT_EQ(disk.sync_folder(), DiskStatus::ok);
  disk.note(1);
  EXPECT_EQ(disk.remove("a"), DiskStatus::ok);
  disk.inject({.call = DiskCall::write, .bytes_written = 5});
  EXPECT_EQ(write_at(disk, file, 2 * kSector, "short write"), DiskStatus::failed);
  EXPECT_EQ(write_at(disk, file, 2 * kSector, sectors(1, '2')), DiskStatus::ok);
  disk.start_sync(file, 1);
  disk.note(2);
  SyncDone done;
  EXPECT_TRUE(disk.next_sync_done(done));
  EXPECT_EQ(disk.truncate(file, 2 * kSector), DiskStatus::ok);
  disk.close(file);
  EXPECT_EQ(disk.sync_folder(), DiskStatus::ok);
}

TEST(SimDiskTrace, RebuildsEveryMoment) {
  SimDisk disk;
  disk.put("a", "old");
  disk.start_trace();
  run_program(disk);
  const auto end = disk.replay_until(disk.trace().size());
  EXPECT_EQ(end->bytes_of("b"), disk.bytes_of("b"));
  EXPECT_EQ(end->durable_bytes_of("b"), disk.durable_bytes_of("b"));
  EXPECT_FALSE(end->has_durable("a"));
  EXPECT_EQ(end->notes(), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_FALSE(disk.replay_until(0)->has("b.tmp"));
  EXPECT_TRUE(disk.replay_until(1)->has("b.tmp"));
  EXPECT_FALSE(disk.replay_until(1)->has_durable("b.tmp"));

  const auto stepwise = disk.replay_until(0);
  for (std::size_t cut = 0; cut <= disk.trace().size(); ++cut) {
    disk.replay_more(*stepwise, cut);
    const auto at_once = disk.replay_until(cut);
    SimDisk::Random random(cut);
    SimDisk::Random same_random(cut);
    const auto one = stepwise->crash(random);
    const auto other = at_once->crash(same_random);
    for (const std::string name : {"a", "b", "b.tmp"}) {
      ASSERT_EQ(one->has(name), other->has(name));
      if (!one->has(name)) continue;
      EXPECT_EQ(one->bytes_of(name), other->bytes_of(name));
    }
  }
}

TEST(SimDiskTrace, EveryCrashKeepsThePromises) {
  SimDisk disk;
  disk.put("a", "old");
  disk.start_trace();
  run_program(disk);
  const auto past = disk.replay_until(0);
  Strings before_notes;
  for (std::size_t cut = 0; cut <= disk.trace().size(); ++cut) {
    disk.replay_more(*past, cut);
    SimDisk::Random random(cut);
    for (int i = 0; i < kCrashes; ++i) {
      const auto crashed = past->crash(random);
      const std::string b = crashed->has("b") ? crashed->bytes_of("b") : "(gone)";
      if (past->notes().empty()) {
        before_notes.insert(b);
        EXPECT_TRUE(crashed->has("a"));
      } else {
        EXPECT_EQ(b.substr(0, 2 * kSector), sectors(2, '1'));
      }
    }
  }
  EXPECT_EQ(before_notes, (Strings{"(gone)", sectors(2, '1') + sectors(1, '\0')}));
}

TEST(SimDiskTrace, BeginsWithADiskAfterACrash) {
  SimDisk disk;
  create_durable(disk, "a", "old");
  SimDisk::Random random(1);
  const auto crashed = disk.crash(random);
  crashed->start_trace();
  const FileHandle file = create(*crashed, "a");
  EXPECT_EQ(write_at(*crashed, file, 0, "new"), DiskStatus::ok);
  EXPECT_EQ(crashed->replay_until(0)->bytes_of("a"), "old");
  EXPECT_EQ(crashed->replay_until(1)->bytes_of("a"), "");
  EXPECT_EQ(crashed->replay_until(2)->bytes_of("a"), "new");
}

// Damage ----------------------------------------------------------------------------------------

TEST(SimDiskDamage, StaysOnTheDisk) {
  SimDisk disk;
  disk.put("a", "abcdef");
  disk.flip("a", 0, 0x03);
  disk.zero("a", 1, 2);
  disk.overwrite("a", 4, "XY");
  const std::string damaged("b\0\0dXY", 6);
  EXPECT_EQ(disk.bytes_of("a"), damaged);
  EXPECT_EQ(outcomes(disk, "a"), Strings{damaged});
}

}  // namespace
}  // namespace haricot::binlog
