#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "os/disk.hpp"
#include "os/folder_lock.hpp"
#include "support/random.hpp"
#include "support/temporary_folder.hpp"

namespace haricot::os {
namespace {

using binlog::DiskStatus;
using binlog::FileHandle;
using binlog::SyncDone;

constexpr int kDiskDeadlineMs = 60'000;  // For operations that take milliseconds.

class FolderDiskTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(disk_.open(folder_.path())) << disk_.last_error(); }

  FileHandle create(const std::string& name) {
    FileHandle file = FileHandle::none;
    EXPECT_EQ(disk_.create(name, file), DiskStatus::ok) << disk_.last_error();
    return file;
  }
  void write(FileHandle file, std::uint64_t offset, std::string_view bytes) {
    EXPECT_EQ(disk_.write(file, offset, std::vector<std::string_view>{bytes}), DiskStatus::ok)
        << disk_.last_error();
  }
  std::string read(const std::string& name) {
    binlog::FileBytes bytes;
    EXPECT_EQ(disk_.read(name, bytes), DiskStatus::ok) << disk_.last_error();
    return std::string(bytes.view());
  }

  test::TemporaryFolder folder_;
  FolderDisk disk_;
};

// Files -----------------------------------------------------------------------------------------

TEST_F(FolderDiskTest, ReadingAheadTakesNoDescriptorAndMindsNoName) {
  write(create("a"), 0, "some bytes");
  const auto count = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto before = count();
  for (const char* name : {"a", "b", "../a", "lock", ""}) disk_.read_ahead(name);
  EXPECT_EQ(count(), before);
  EXPECT_EQ(read("a"), "some bytes");
}

TEST_F(FolderDiskTest, WritesAnyNumberOfPiecesOneBehindTheOther) {
  test::Random random(1);
  std::vector<std::string> texts(5000);
  for (std::string& text : texts)
    text.assign(random.below(40), static_cast<char>('a' + random.below(26)));
  const std::vector<std::string_view> pieces(texts.begin(), texts.end());
  std::string expected = "head";
  for (const std::string& text : texts) expected += text;

  const FileHandle file = create("binlog.1");
  write(file, 0, "headxxxx");
  EXPECT_EQ(disk_.write(file, 4, pieces), DiskStatus::ok);
  EXPECT_EQ(disk_.write(file, 0, {}), DiskStatus::ok);
  EXPECT_EQ(folder_.bytes_of("binlog.1"), expected);
  EXPECT_EQ(read("binlog.1"), expected);
  disk_.close(file);
}

TEST_F(FolderDiskTest, WritesAndReadsManyMegabytes) {
  std::string large(24 << 20, '\0');
  test::Random random(2);
  for (std::size_t i = 0; i < large.size(); i += 512) large[i] = static_cast<char>(random.bits());
  const FileHandle file = create("binlog.1");
  write(file, 0, large);
  EXPECT_TRUE(read("binlog.1") == large);
  EXPECT_EQ(disk_.sync(file), DiskStatus::ok);
  disk_.close(file);
}

// Another server appends while the file is read: the result ends somewhere, and has no gap.
TEST_F(FolderDiskTest, SeesNoHoleInAFileThatIsWrittenToMeanwhile) {
  constexpr std::uint64_t kBytes = 4 * 1024 * 1024;
  const FileHandle file = create("live");
  ASSERT_EQ(disk_.allocate(file, kBytes), DiskStatus::ok) << disk_.last_error();
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    FolderDisk other;
    FileHandle same = FileHandle::none;
    if (!other.open(folder_.path()) || other.open_existing("live", same) != DiskStatus::ok) return;
    const std::string record(700, 'x');
    const std::string_view piece = record;
    for (std::uint64_t at = 0; at + record.size() <= kBytes && !stop; at += record.size()) {
      if (other.write(same, at, {&piece, 1}) != DiskStatus::ok) break;
    }
    other.close(same);
  });
  disk_.files().expect_writers();
  for (int i = 0; i < 30; ++i) {
    const std::string seen = read("live");
    EXPECT_EQ(seen.size(), kBytes);
    const std::size_t end = std::min(seen.find('\0'), seen.size());
    EXPECT_EQ(seen.find_first_not_of('\0', end), std::string::npos) << "a hole at " << end;
  }
  stop = true;
  writer.join();
  disk_.close(file);
}

TEST_F(FolderDiskTest, ReadsAnEmptyFile) {
  folder_.put("binlog.1", "");
  EXPECT_EQ(read("binlog.1"), "");
}

TEST_F(FolderDiskTest, TakesSpaceThatReadsAsZeros) {
  const FileHandle file = create("binlog.1");
  write(file, 0, "abc");
  EXPECT_EQ(disk_.allocate(file, 100'000), DiskStatus::ok);
  EXPECT_EQ(disk_.allocate(file, 10), DiskStatus::ok);
  EXPECT_EQ(read("binlog.1"), "abc" + std::string(99'997, '\0'));
  struct stat status {};
  ASSERT_EQ(::stat(folder_.file("binlog.1").c_str(), &status), 0);
  EXPECT_GE(status.st_blocks * 512, 100'000);
  disk_.close(file);
}

TEST_F(FolderDiskTest, CutsOffButNeverGrowsAFile) {
  const FileHandle file = create("binlog.1");
  write(file, 0, "abcdef");
  EXPECT_EQ(disk_.truncate(file, 4), DiskStatus::ok);
  EXPECT_EQ(disk_.truncate(file, 100), DiskStatus::ok);
  EXPECT_EQ(read("binlog.1"), "abcd");
  disk_.close(file);
}

TEST_F(FolderDiskTest, EmptiesAFileThatIsCreatedAgain) {
  folder_.put("binlog.1", "old");
  disk_.close(create("binlog.1"));
  EXPECT_EQ(read("binlog.1"), "");
}

TEST_F(FolderDiskTest, OpensAFileAgainAndLeavesItsBytes) {
  const FileHandle file = create("binlog.1");
  write(file, 0, "abcdef");
  disk_.close(file);
  FileHandle again = FileHandle::none;
  ASSERT_EQ(disk_.open_existing("binlog.1", again), DiskStatus::ok) << disk_.last_error();
  write(again, 1, "XY");
  disk_.close(again);
  EXPECT_EQ(read("binlog.1"), "aXYdef");
  EXPECT_EQ(disk_.open_existing("binlog.2", again), DiskStatus::failed);
  EXPECT_EQ(disk_.last_error(), "cannot open binlog.2: No such file or directory");
}

TEST_F(FolderDiskTest, MakesFilesForItsUserAlone) {
  disk_.close(create("binlog.1"));
  struct stat status {};
  ASSERT_EQ(::stat(folder_.file("binlog.1").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0077U, 0U);
}

// Names -----------------------------------------------------------------------------------------

TEST_F(FolderDiskTest, ListsRenamesAndRemoves) {
  folder_.put("a", "1");
  folder_.put("b", "2");
  folder_.put(".hidden", "");
  EXPECT_EQ(disk_.rename("a", "b"), DiskStatus::ok);
  EXPECT_EQ(read("b"), "1");
  EXPECT_EQ(disk_.sync_folder(), DiskStatus::ok);
  for (int round = 0; round < 2; ++round) {  // The second list begins at the beginning, too.
    std::vector<std::string> names = {"what was there"};
    EXPECT_EQ(disk_.list(names), DiskStatus::ok);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, (std::vector<std::string>{".hidden", "b"}));
  }
  EXPECT_EQ(disk_.remove("b"), DiskStatus::ok);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("b")));
}

TEST_F(FolderDiskTest, TakesNoNameThatLeadsOutOfTheFolder) {
  folder_.put("a", "1");
  std::filesystem::create_directory(folder_.file("sub"));
  folder_.put("sub/a", "1");
  const std::string with_zero("a\0b", 3);
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("sub/a"), folder_.file("a"),
        with_zero, std::string(kLockFileName)}) {
    binlog::FileBytes bytes;
    FileHandle file = FileHandle::none;
    EXPECT_EQ(disk_.read(name, bytes), DiskStatus::failed) << name;
    EXPECT_EQ(disk_.create(name, file), DiskStatus::failed) << name;
    EXPECT_EQ(disk_.rename(name, "b"), DiskStatus::failed) << name;
    EXPECT_EQ(disk_.rename("a", name), DiskStatus::failed) << name;
    EXPECT_EQ(disk_.remove(name), DiskStatus::failed) << name;
  }
  EXPECT_EQ(folder_.bytes_of("a"), "1");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 2);
}

TEST_F(FolderDiskTest, OpensNothingButPlainFiles) {
  folder_.put("plain", "bytes");
  std::filesystem::create_symlink("plain", folder_.file("link"));
  std::filesystem::create_directory(folder_.file("folder"));
  ASSERT_EQ(::mkfifo(folder_.file("pipe").c_str(), 0600), 0);
  for (const std::string name : {"link", "folder", "pipe"}) {
    binlog::FileBytes bytes;
    EXPECT_EQ(disk_.read(name, bytes), DiskStatus::failed) << name;
    EXPECT_EQ(disk_.last_error().find("cannot read " + name + ": "), 0U) << disk_.last_error();
    FileHandle file = FileHandle::none;
    EXPECT_EQ(disk_.create(name, file), DiskStatus::failed) << name;
  }
  EXPECT_EQ(read("plain"), "bytes");
}

TEST_F(FolderDiskTest, ReportsAMissingFileToAReader) {
  binlog::FileBytes bytes;
  binlog::FileEnds ends;
  EXPECT_EQ(disk_.read("nothing", bytes), DiskStatus::missing);
  EXPECT_EQ(disk_.read_ends("nothing", ends), DiskStatus::missing);
  EXPECT_EQ(disk_.last_error(), "cannot read nothing: No such file or directory");
}

TEST_F(FolderDiskTest, ReportsWhyItOpensNoLinkAndNoPipe) {
  folder_.put("plain", "bytes");
  std::filesystem::create_symlink("plain", folder_.file("link"));
  ASSERT_EQ(::mkfifo(folder_.file("pipe").c_str(), 0600), 0);
  binlog::FileBytes bytes;
  FileHandle file = FileHandle::none;
  EXPECT_EQ(disk_.read("link", bytes), DiskStatus::failed);
  EXPECT_EQ(disk_.last_error(),
            "cannot read link: it is a symbolic link, which haricotd does not follow");
  EXPECT_EQ(disk_.read("pipe", bytes), DiskStatus::failed);
  EXPECT_EQ(disk_.last_error(), "cannot read pipe: it is not a regular file");
  EXPECT_EQ(disk_.open_existing("link", file), DiskStatus::failed);
  EXPECT_EQ(disk_.last_error(),
            "cannot open link: it is a symbolic link, which haricotd does not follow");
}

TEST_F(FolderDiskTest, StaysInItsFolderWhereverThatIsMoved) {
  const test::TemporaryFolder other;
  std::filesystem::rename(folder_.path(), other.file("moved"));
  const FileHandle file = create("binlog.1");
  write(file, 0, "x");
  disk_.close(file);
  EXPECT_EQ(other.bytes_of("moved/binlog.1"), "x");
}

TEST(FolderDisk, OpensNoFolderThatIsNotThere) {
  const test::TemporaryFolder folder;
  folder.put("file", "");
  FolderDisk missing;
  EXPECT_FALSE(missing.open(folder.file("none")));
  EXPECT_EQ(missing.last_error(),
            "cannot open " + folder.file("none") + ": No such file or directory");
  FolderDisk file;
  EXPECT_FALSE(file.open(folder.file("file")));
}

// Syncs -----------------------------------------------------------------------------------------

std::ptrdiff_t threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

TEST_F(FolderDiskTest, SyncsInTheOrderOfTheStartsAndNotifiesADescriptor) {
  const std::vector<FileHandle> files = {create("binlog.1"), create("binlog.2"), FileHandle::none};
  std::uint64_t next = 0;
  std::vector<std::uint64_t> tickets;
  while (tickets.size() < 40) {
    for (int i = 0; i < 10; ++i, ++next) {
      const FileHandle file = files[next % files.size()];
      if (file != FileHandle::none) write(file, next * 10, "0123456789");
      disk_.start_sync(file, next);
    }
    while (tickets.size() < next) {
      pollfd wait{disk_.syncer().completion_descriptor(), POLLIN, 0};
      ASSERT_EQ(::poll(&wait, 1, kDiskDeadlineMs), 1);
      SyncDone done;
      while (disk_.next_sync_done(done)) {
        EXPECT_EQ(done.status, DiskStatus::ok) << disk_.last_error();
        tickets.push_back(done.ticket);
      }
    }
  }
  for (std::size_t i = 0; i < tickets.size(); ++i) EXPECT_EQ(tickets[i], i);
  disk_.close(files[0]);
  disk_.close(files[1]);
}

TEST_F(FolderDiskTest, HasNoThreadBeforeTheFirstSyncIsStarted) {
  const std::ptrdiff_t before = threads();
  const FileHandle file = create("binlog.1");
  write(file, 0, "x");
  EXPECT_EQ(disk_.sync(file), DiskStatus::ok);
  EXPECT_EQ(disk_.sync_folder(), DiskStatus::ok);
  SyncDone done;
  EXPECT_FALSE(disk_.next_sync_done(done));
  EXPECT_EQ(threads(), before);
  disk_.start_sync(file, 1);
  EXPECT_EQ(threads(), before + 1);
  pollfd wait{disk_.syncer().completion_descriptor(), POLLIN, 0};
  ASSERT_EQ(::poll(&wait, 1, kDiskDeadlineMs), 1);
  EXPECT_TRUE(disk_.next_sync_done(done));
  disk_.start_sync(file, 2);
  EXPECT_EQ(threads(), before + 1);
}

TEST_F(FolderDiskTest, ReportsWhyASyncFailed) {
  disk_.start_sync(static_cast<FileHandle>(1'000'000), 7);  // No descriptor has that number.
  pollfd wait{disk_.syncer().completion_descriptor(), POLLIN, 0};
  ASSERT_EQ(::poll(&wait, 1, kDiskDeadlineMs), 1);
  SyncDone done;
  ASSERT_TRUE(disk_.next_sync_done(done));
  EXPECT_EQ(done.ticket, 7U);
  EXPECT_EQ(done.status, DiskStatus::failed);
  EXPECT_EQ(disk_.last_error(), "cannot sync: Bad file descriptor");
}

TEST_F(FolderDiskTest, RemovesInLineWithTheSyncs) {
  const FileHandle file = create("binlog.2");
  disk_.close(create("binlog.1"));
  disk_.start_sync(file, 1);
  disk_.start_remove("binlog.1", true, 2);
  disk_.start_remove("binlog.1", true, 3);
  disk_.start_remove("binlog.2", false, 4);
  disk_.start_sync(FileHandle::none, 5);
  std::vector<SyncDone> all;
  while (all.size() < 5) {
    pollfd wait{disk_.syncer().completion_descriptor(), POLLIN, 0};
    ASSERT_EQ(::poll(&wait, 1, kDiskDeadlineMs), 1);
    SyncDone done;
    while (disk_.next_sync_done(done)) {
      if (done.ticket == 3) {
        EXPECT_EQ(disk_.last_error(), "cannot remove binlog.1: No such file or directory");
      }
      all.push_back(done);
    }
  }
  for (std::uint64_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].ticket, i + 1);
    EXPECT_EQ(all[i].status, DiskStatus::ok);
    EXPECT_EQ(all[i].removal, i == 2 ? DiskStatus::failed : DiskStatus::ok);
  }
  std::vector<std::string> names;
  EXPECT_EQ(disk_.list(names), DiskStatus::ok);
  EXPECT_EQ(std::count(names.begin(), names.end(), "binlog.1"), 0);
  EXPECT_EQ(std::count(names.begin(), names.end(), "binlog.2"), 0);
  disk_.close(file);
}

TEST_F(FolderDiskTest, DoesNotCloseAFileUnderASync) {
  // Forks this test, so that no second start leaves a folder behind; there is only one thread yet.
  GTEST_FLAG_SET(death_test_style, "fast");
  const FileHandle file = create("binlog.1");
  EXPECT_DEATH(
      {
        disk_.start_sync(file, 1);
        disk_.close(file);
      },
      "is_under_way");
  disk_.close(file);
}

// The folder of a FolderDisk, and files in it, that another process removes.

using binlog::DiskStatus;
using binlog::FileHandle;
using binlog::Presence;
namespace fs = std::filesystem;

class FolderPlaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(path_);
    ASSERT_TRUE(disk_.open(path_)) << disk_.last_error();
    ASSERT_EQ(lock_.take(disk_.descriptor()), LockStatus::taken);
    disk_.place().set_lock(lock_);
    disk_.files().set_spare_descriptors(4);
    ASSERT_EQ(disk_.create("binlog.1", file_), DiskStatus::ok);
  }
  void TearDown() override { disk_.close(file_); }

  Presence look() { return disk_.look_for(file_, "binlog.1"); }
  DiskStatus go_back() { return disk_.return_to_folder(is_new_); }
  bool has_error(const std::string& text) {
    return disk_.last_error().find(text) != std::string::npos;
  }
  // Returns true if another process cannot take the lock of the folder at the path.
  bool is_locked() {
    const pid_t child = ::fork();
    if (child == 0) {
      const Descriptor folder(::open(path_.c_str(), O_RDONLY | O_DIRECTORY));
      FolderLock lock;
      ::_exit(lock.take(folder.get()) == LockStatus::held ? 1 : 0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status) == 1;
  }

  test::TemporaryFolder outer_;
  std::string path_ = outer_.path() + "/jobs";
  FolderLock lock_;
  FolderDisk disk_;
  FileHandle file_ = FileHandle::none;
  bool is_new_ = false;
};

TEST_F(FolderPlaceTest, AnExistingFolderIsFound) {
  EXPECT_EQ(look(), Presence::there);
  EXPECT_EQ(disk_.look_for(FileHandle::none, "binlog.1"), Presence::there);
  EXPECT_EQ(go_back(), DiskStatus::ok);
  EXPECT_FALSE(is_new_);
  EXPECT_TRUE(is_locked());
}

TEST_F(FolderPlaceTest, AFileThatIsRemovedOrReplacedIsMissed) {
  fs::rename(path_ + "/binlog.1", path_ + "/away");
  EXPECT_EQ(look(), Presence::file_gone);
  EXPECT_TRUE(has_error("binlog.1 in " + path_ + " no longer exists"));
  EXPECT_EQ(disk_.look_for(FileHandle::none, "binlog.1"), Presence::file_gone);
  std::ofstream(path_ + "/binlog.1") << "another file";
  EXPECT_EQ(look(), Presence::file_gone);
  EXPECT_TRUE(has_error("another file than before"));
  EXPECT_EQ(disk_.look_for(FileHandle::none, "binlog.1"), Presence::there);
  fs::rename(path_ + "/away", path_ + "/binlog.1");
  EXPECT_EQ(look(), Presence::there);
}

TEST_F(FolderPlaceTest, ALockThatIsRemovedIsMissedAndTakenAgain) {
  EXPECT_EQ(look(), Presence::there);
  fs::remove(path_ + "/lock");
  EXPECT_FALSE(is_locked());
  fs::remove(path_ + "/lock");
  EXPECT_EQ(look(), Presence::lock_gone);
  EXPECT_TRUE(has_error("the lock in " + path_ + " no longer exists"));
  EXPECT_FALSE(disk_.place().has_taken_lock_anew());
  EXPECT_EQ(go_back(), DiskStatus::ok);
  EXPECT_TRUE(disk_.place().has_taken_lock_anew());
  EXPECT_FALSE(disk_.place().has_taken_lock_anew());
  EXPECT_TRUE(is_locked());
  EXPECT_EQ(look(), Presence::there);
}

TEST_F(FolderPlaceTest, AFolderThatIsRemovedIsMissedAndNotMade) {
  fs::remove_all(path_);
  EXPECT_EQ(look(), Presence::folder_gone);
  EXPECT_TRUE(has_error("the folder " + path_ + " no longer exists"));
  EXPECT_EQ(go_back(), DiskStatus::failed);
  EXPECT_FALSE(fs::exists(path_));
  std::ofstream(path_) << "a file";
  EXPECT_EQ(look(), Presence::folder_gone);
  EXPECT_EQ(go_back(), DiskStatus::failed);
  EXPECT_TRUE(has_error("is not a folder"));
}

TEST_F(FolderPlaceTest, AFolderThatIsMadeAnewIsGoneTo) {
  fs::remove_all(path_);
  fs::create_directory(path_);
  EXPECT_EQ(look(), Presence::folder_gone);
  EXPECT_TRUE(has_error("another folder"));
  const int before = disk_.descriptor();
  ASSERT_EQ(go_back(), DiskStatus::ok) << disk_.last_error();
  EXPECT_TRUE(is_new_);
  EXPECT_EQ(disk_.descriptor(), before);
  EXPECT_TRUE(is_locked());
  FileHandle other = FileHandle::none;
  ASSERT_EQ(disk_.create("binlog.2", other), DiskStatus::ok);
  EXPECT_TRUE(fs::exists(path_ + "/binlog.2"));
  EXPECT_EQ(disk_.look_for(other, "binlog.2"), Presence::there);
  EXPECT_EQ(disk_.sync_folder(), DiskStatus::ok);
  disk_.close(other);
}

TEST_F(FolderPlaceTest, AFolderWithFilesOfABinlogIsRefusedUntilTheyAreGone) {
  fs::rename(path_, outer_.path() + "/moved");
  fs::create_directory(path_);
  std::ofstream(path_ + "/binlog.7") << "of somebody else";
  EXPECT_EQ(go_back(), DiskStatus::failed);
  EXPECT_TRUE(has_error("has a file binlog.7"));
  EXPECT_FALSE(is_locked());
  fs::remove_all(path_);
  fs::rename(outer_.path() + "/moved", path_);
  EXPECT_EQ(look(), Presence::there);
  EXPECT_EQ(go_back(), DiskStatus::ok);
  EXPECT_FALSE(is_new_);
}

TEST_F(FolderPlaceTest, AFolderOnAnotherFileSystemIsRefused) {
  struct stat here {};
  struct stat there {};
  const bool differ = ::stat(path_.c_str(), &here) == 0 && ::stat("/proc", &there) == 0 &&
                      here.st_dev != there.st_dev;
  ASSERT_TRUE(differ);
  fs::remove_all(path_);
  fs::create_directory_symlink("/proc", path_);
  EXPECT_EQ(look(), Presence::folder_gone);
  EXPECT_EQ(go_back(), DiskStatus::failed);
  EXPECT_TRUE(has_error("on another file system"));
}

}  // namespace
}  // namespace haricot::os
