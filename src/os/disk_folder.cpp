// Checks that the binlog's folder, its files and its lock are still in place, and returns to a
// folder that was replaced.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "haricot/binlog/format/file_name.hpp"
#include "haricot/binlog/read/replay.hpp"
#include "os/disk.hpp"
#include "os/file_calls.hpp"
#include "os/folder_lock.hpp"

namespace haricot::os {
namespace {

using binlog::DiskStatus;
using binlog::Presence;

constexpr int kDescriptorsToReturn = 3;  // For the folder, its list, and its lock.

}  // namespace

FolderDisk::Identity FolderDisk::identity_of(const struct stat& status) {
  return {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino)};
}

// Asks the kernel once per file.
FolderDisk::Identity FolderDisk::identity_of_open(FileHandle file) {
  if (looked_for_ == file) return identity_;
  struct stat status {};
  if (::fstat(number_of(file), &status) != 0) return {};
  looked_for_ = file;
  identity_ = identity_of(status);
  return identity_;
}

DiskStatus FolderDisk::fail_as_lost() {
  return fail_because("the folder belongs to another server");
}

DiskStatus FolderDisk::fail_because(std::string why) {
  last_error_ = std::move(why);
  return DiskStatus::failed;
}

Presence FolderDisk::look_for(FileHandle file, const std::string& name) {
  if (path_.empty() || !is_usable(name)) return Presence::there;
  const std::string path = path_ + "/" + name;
  struct stat status {};
  int error = ::lstat(path.c_str(), &status) == 0 ? 0 : errno;
  const bool is_closed_to_us = error != 0 && error != ENOENT && error != ENOTDIR;
  if (is_closed_to_us) {
    // The folder was opened with more rights than this user has, or the disk fails.
    if (::fstatat(folder_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) error = 0;
    if (error != 0 && errno != ENOENT) return Presence::there;
  }
  const bool exists = error == 0;
  if (exists && file == FileHandle::none) return Presence::there;
  if (exists && identity_of(status) == identity_of_open(file)) return look_for_lock();
  struct stat folder {};
  struct stat named {};
  if (::fstat(folder_.get(), &folder) != 0) return Presence::there;
  const bool has_name = ::stat(path_.c_str(), &named) == 0;
  const bool is_here =
      has_name ? identity_of(named) == identity_of(folder) : is_closed_to_us && folder.st_nlink > 0;
  if (is_here) {
    (void)fail_because(exists ? name + " in " + path_ + " is another file than before"
                              : name + " in " + path_ + " no longer exists");
    return Presence::file_gone;
  }
  (void)fail_because(has_name ? path_ + " is another folder than before"
                              : "the folder " + path_ + " no longer exists");
  return Presence::folder_gone;
}

// If the lock's file is gone, another server may have taken the lock, and the folder with it.
Presence FolderDisk::look_for_lock() {
  if (lock_ == nullptr || lock_->is_in(folder_.get())) return Presence::there;
  (void)fail_because("the lock in " + path_ + " no longer exists");
  return Presence::lock_gone;
}

DiskStatus FolderDisk::return_to_folder(bool& is_new) {
  is_new = false;
  for (int i = 0; i < kDescriptorsToReturn; ++i) (void)spare_descriptors_.release_one();
  const DiskStatus status = go_back(is_new);
  spare_descriptors_.refill();
  return status;
}

DiskStatus FolderDisk::go_back(bool& is_new) {
  struct stat open {};
  struct stat named {};
  if (::fstat(folder_.get(), &open) != 0) return fail(errno, "look at", path_);
  if (::stat(path_.c_str(), &named) != 0) {
    const bool is_gone = errno == ENOENT || errno == ENOTDIR || open.st_nlink == 0;
    if (is_gone) return fail_because("the folder " + path_ + " no longer exists");
    named = open;  // This user cannot search the path, but the folder exists.
  }
  if (identity_of(named) == identity_of(open)) {
    if (lock_ == nullptr || lock_->is_in(folder_.get())) return DiskStatus::ok;
    FolderLock again;
    if (again.take(folder_.get()) != LockStatus::taken) {
      return fail_because(again.why_not(path_));
    }
    *lock_ = std::move(again);
    if (fence_ != nullptr) fence_->set_lock(lock_->descriptor());
    lock_is_new_ = true;
    return DiskStatus::ok;
  }
  if (fence_ != nullptr) return fail_because(path_ + " is another folder than before");
  if (!S_ISDIR(named.st_mode)) return fail_because(path_ + " is not a folder");
  if (named.st_dev != open.st_dev) {
    return fail_because(path_ + " is on another file system than before");
  }
  Descriptor folder(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) {
    const DiskStatus status = fail(errno, "open", path_);
    if (is_sandboxed_) last_error_ += " (the sandbox lets this process use no new folder)";
    return status;
  }
  const DiskStatus status = move_to(std::move(folder));
  is_new = status == DiskStatus::ok;
  return status;
}

// Keeps the number of the descriptor, because other objects have it.
DiskStatus FolderDisk::move_to(Descriptor folder) {
  FolderLock lock;
  if (lock_ != nullptr && lock.take(folder.get()) != LockStatus::taken) {
    return fail_because(lock.why_not(path_));
  }
  std::vector<std::string> names;
  Descriptor listed(::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (const int error = list_names(std::move(listed), names)) return fail(error, "list", path_);
  for (const std::string& name : names) {
    if (binlog::binlog_file_number(name)) {
      return fail_because(path_ + " is another folder than before, and has a file " + name);
    }
  }
  int result = 0;
  do {
    result = ::dup3(folder.get(), folder_.get(), O_CLOEXEC);
  } while (result < 0 && (errno == EINTR || errno == EBUSY));
  if (result < 0) return fail(errno, "open", path_);
  if (lock_ != nullptr) *lock_ = std::move(lock);
  lock_is_new_ = lock_ != nullptr;
  spare_descriptors_.renew();
  return DiskStatus::ok;
}

}  // namespace haricot::os
