// The folder of a FolderDisk, and files in it, that another process removes.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "os/disk.hpp"
#include "os/folder_lock.hpp"
#include "support/temporary_folder.hpp"

namespace haricot::os {
namespace {

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
