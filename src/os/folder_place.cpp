#include "os/folder_place.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "haricot/binlog/format/file_name.hpp"
#include "os/file_calls.hpp"

namespace haricot::os {
namespace {

using binlog::DiskStatus;
using binlog::Presence;

constexpr int kDescriptorsToReturn = 3;  // For the folder, its list, and its lock.

}  // namespace

FolderPlace::Identity FolderPlace::identity_of(const struct stat& status) {
  return {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino)};
}

// Asks the kernel once per file.
FolderPlace::Identity FolderPlace::identity_of_open(FileHandle file) {
  if (looked_for_ == file) return identity_;
  struct stat status {};
  if (::fstat(static_cast<int>(file), &status) != 0) return {};
  looked_for_ = file;
  identity_ = identity_of(status);
  return identity_;
}

Presence FolderPlace::look_for(FileHandle file, const std::string& name) {
  if (files_.path().empty() || !FolderFiles::is_usable(name)) return Presence::there;
  const std::string path = files_.path() + "/" + name;
  struct stat status {};
  int error = ::lstat(path.c_str(), &status) == 0 ? 0 : errno;
  const bool is_closed_to_us = error != 0 && error != ENOENT && error != ENOTDIR;
  if (is_closed_to_us) {
    // The folder was opened with more rights than this user has, or the disk fails.
    if (::fstatat(files_.descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) error = 0;
    if (error != 0 && errno != ENOENT) return Presence::there;
  }
  const bool exists = error == 0;
  if (exists && file == FileHandle::none) return Presence::there;
  if (exists && identity_of(status) == identity_of_open(file)) return look_for_lock();
  struct stat folder {};
  struct stat named {};
  if (::fstat(files_.descriptor(), &folder) != 0) return Presence::there;
  const bool has_name = ::stat(files_.path().c_str(), &named) == 0;
  const bool is_here =
      has_name ? identity_of(named) == identity_of(folder) : is_closed_to_us && folder.st_nlink > 0;
  if (is_here) {
    (void)files_.fail_because(exists
                                  ? name + " in " + files_.path() + " is another file than before"
                                  : name + " in " + files_.path() + " no longer exists");
    return Presence::file_gone;
  }
  (void)files_.fail_because(has_name ? files_.path() + " is another folder than before"
                                     : "the folder " + files_.path() + " no longer exists");
  return Presence::folder_gone;
}

// If the lock's file is gone, another server may have taken the lock, and the folder with it.
Presence FolderPlace::look_for_lock() {
  if (lock_ == nullptr || lock_->is_in(files_.descriptor())) return Presence::there;
  (void)files_.fail_because("the lock in " + files_.path() + " no longer exists");
  return Presence::lock_gone;
}

DiskStatus FolderPlace::return_to_folder(bool& is_new) {
  is_new = false;
  for (int i = 0; i < kDescriptorsToReturn; ++i) (void)files_.spares().release_one();
  const DiskStatus status = go_back(is_new);
  files_.spares().refill();
  return status;
}

DiskStatus FolderPlace::go_back(bool& is_new) {
  struct stat open {};
  struct stat named {};
  if (::fstat(files_.descriptor(), &open) != 0) return files_.fail(errno, "look at", files_.path());
  if (::stat(files_.path().c_str(), &named) != 0) {
    const bool is_gone = errno == ENOENT || errno == ENOTDIR || open.st_nlink == 0;
    if (is_gone) return files_.fail_because("the folder " + files_.path() + " no longer exists");
    named = open;  // This user cannot search the path, but the folder exists.
  }
  if (identity_of(named) == identity_of(open)) {
    if (lock_ == nullptr || lock_->is_in(files_.descriptor())) return DiskStatus::ok;
    FolderLock again;
    if (again.take(files_.descriptor()) != LockStatus::taken) {
      return files_.fail_because(again.why_not(files_.path()));
    }
    *lock_ = std::move(again);
    if (fence_ != nullptr) fence_->set_lock(lock_->descriptor());
    lock_is_new_ = true;
    return DiskStatus::ok;
  }
  if (fence_ != nullptr)
    return files_.fail_because(files_.path() + " is another folder than before");
  if (!S_ISDIR(named.st_mode)) return files_.fail_because(files_.path() + " is not a folder");
  if (named.st_dev != open.st_dev) {
    return files_.fail_because(files_.path() + " is on another file system than before");
  }
  Descriptor folder(::open(files_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) {
    const DiskStatus status = files_.fail(errno, "open", files_.path());
    if (!is_sandboxed_) return status;
    return files_.fail_because(files_.last_error() +
                               " (the sandbox lets this process use no new folder)");
  }
  const DiskStatus status = move_to(folder);
  is_new = status == DiskStatus::ok;
  return status;
}

DiskStatus FolderPlace::move_to(const Descriptor& folder) {
  FolderLock lock;
  if (lock_ != nullptr && lock.take(folder.get()) != LockStatus::taken) {
    return files_.fail_because(lock.why_not(files_.path()));
  }
  std::vector<std::string> names;
  Descriptor listed(::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (const int error = list_names(std::move(listed), names))
    return files_.fail(error, "list", files_.path());
  for (const std::string& name : names) {
    if (binlog::binlog_file_number(name)) {
      return files_.fail_because(files_.path() + " is another folder than before, and has a file " +
                                 name);
    }
  }
  const DiskStatus status = files_.switch_to(folder);
  if (status != DiskStatus::ok) return status;
  if (lock_ != nullptr) *lock_ = std::move(lock);
  lock_is_new_ = lock_ != nullptr;
  files_.spares().renew();
  return DiskStatus::ok;
}

}  // namespace haricot::os
