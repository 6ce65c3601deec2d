#include "os/disk.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "haricot/base/check.hpp"
#include "haricot/binlog/format/file_identity.hpp"

namespace haricot::os {

// The place of folder and lock --------------------------------------------------------------------

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

// The disk ----------------------------------------------------------------------------------------

namespace {

using binlog::FileBytes;

constexpr const char* kLost = "the folder belongs to another server";

int number_of(binlog::FileHandle file) {
  CHECK(file != binlog::FileHandle::none);
  return static_cast<int>(file);
}

}  // namespace

bool FolderDisk::open(const std::string& path) {
  return files_.open(path) && open_syncer();
}

bool FolderDisk::open(Descriptor folder) {
  return files_.open(std::move(folder)) && open_syncer();
}

bool FolderDisk::open_syncer() {
  if (syncer_.open()) return true;
  files_.fail(errno, "open", files_.path());
  return false;
}

// Reading -----------------------------------------------------------------------------------------

DiskStatus FolderDisk::list(std::vector<std::string>& names) {
  const DiskStatus status = files_.list(names);
  if (snapshot_.is_taken() && status == DiskStatus::ok) snapshot_.replace_names(names);
  return status;
}

DiskStatus FolderDisk::read(const std::string& name, FileBytes& bytes) {
  if (!FolderFiles::is_usable(name)) return files_.fail(EINVAL, "read", name);
  return snapshot_.is_taken() ? snapshot_.read(name, bytes) : files_.read(name, bytes);
}

void FolderDisk::read_ahead(const std::string& name) {
  if (FolderFiles::is_usable(name) && !snapshot_.is_taken()) files_.read_ahead(name);
}

DiskStatus FolderDisk::read_ends(const std::string& name, binlog::FileEnds& ends) {
  if (!FolderFiles::is_usable(name)) return files_.fail(EINVAL, "read", name);
  return snapshot_.is_taken() ? snapshot_.read_ends(name, ends) : files_.read_ends(name, ends);
}

// Writing -----------------------------------------------------------------------------------------

DiskStatus FolderDisk::create(const std::string& name, FileHandle& file) {
  const int replaces = fence_ == nullptr ? O_TRUNC : O_EXCL;
  return open_to_write(name, O_CREAT | replaces, "create", file);
}

DiskStatus FolderDisk::open_existing(const std::string& name, FileHandle& file) {
  return open_to_write(name, 0, "open", file);
}

DiskStatus FolderDisk::open_to_write(const std::string& name, int flags, const char* doing,
                                     FileHandle& file) {
  if (!FolderFiles::is_usable(name)) return files_.fail(EINVAL, doing, name);
  if (is_lost()) return files_.fail_because(kLost);
  Descriptor opened = files_.open_file(name.c_str(), O_WRONLY | flags | kOpenFlags, kFileMode);
  if (!opened) return files_.fail(errno, doing, name);
  struct stat status {};
  if (::fstat(opened.get(), &status) != 0) return files_.fail(errno, doing, name);
  if (!S_ISREG(status.st_mode)) return files_.fail(kNoPlainFile, doing, name);
  file = static_cast<FileHandle>(opened.release());
  return DiskStatus::ok;
}

DiskStatus FolderDisk::allocate(FileHandle file, std::uint64_t bytes) {
  const int number = number_of(file);
  std::uint64_t size = 0;
  if (const int error = size_of(number, size); error != 0) return files_.fail(error, "take space");
  if (bytes <= size) return DiskStatus::ok;
  const int error = take_space(number, size, bytes);
  if (error == 0) return DiskStatus::ok;
  cut(number, size);  // Frees what was taken before the failure.
  return files_.fail(error, "take space");
}

DiskStatus FolderDisk::write(FileHandle file, std::uint64_t offset,
                             std::span<const std::string_view> pieces) {
  if (is_lost()) return files_.fail_because(kLost);
  const int error = write_all(number_of(file), offset, pieces);
  return error == 0 ? DiskStatus::ok : files_.fail(error, "write");
}

DiskStatus FolderDisk::truncate(FileHandle file, std::uint64_t bytes) {
  if (is_lost()) return files_.fail_because(kLost);
  std::uint64_t size = 0;
  if (const int error = size_of(number_of(file), size); error != 0)
    return files_.fail(error, "truncate");
  if (bytes >= size) return DiskStatus::ok;
  const int error = cut(number_of(file), bytes);
  return error == 0 ? DiskStatus::ok : files_.fail(error, "truncate");
}

void FolderDisk::close(FileHandle file) {
  CHECK(!syncer_.is_under_way(number_of(file)));
  place_.forget(file);
  ::close(number_of(file));
  files_.spares().refill();
}

DiskStatus FolderDisk::rename(const std::string& from, const std::string& to) {
  if (!FolderFiles::is_usable(from)) return files_.fail(EINVAL, "rename", from);
  if (!FolderFiles::is_usable(to)) return files_.fail(EINVAL, "rename to", to);
  if (is_lost()) return files_.fail_because(kLost);
  const int folder = files_.descriptor();
  int error = 0;
  if (fence_ == nullptr) {
    error = ::renameat(folder, from.c_str(), folder, to.c_str()) == 0 ? 0 : errno;
  } else {
    error = rename_to_free_name(folder, from.c_str(), to.c_str());
    if (error == EEXIST && binlog::binlog_file_number(to)) {
      fence_->give_up(FolderFence::Cause::another_server, "another server has made the file " + to);
    }
  }
  return error == 0 ? DiskStatus::ok : files_.fail(error, "rename", from);
}

DiskStatus FolderDisk::remove(const std::string& name) {
  if (!FolderFiles::is_usable(name)) return files_.fail(EINVAL, "remove", name);
  if (is_lost()) return files_.fail_because(kLost);
  const int result = ::unlinkat(files_.descriptor(), name.c_str(), 0);
  return result == 0 ? DiskStatus::ok : files_.fail(errno, "remove", name);
}

// Syncing -----------------------------------------------------------------------------------------

DiskStatus FolderDisk::sync(FileHandle file) {
  const int error = Syncer::sync_to_disk(number_of(file), false);
  return error == 0 ? DiskStatus::ok : files_.fail(error, "sync");
}

DiskStatus FolderDisk::sync_file(const std::string& name) {
  if (!FolderFiles::is_usable(name)) return files_.fail(EINVAL, "sync", name);
  const Descriptor file = files_.open_file(name.c_str(), O_RDONLY | kOpenFlags);
  if (!file) return files_.fail(errno, "sync", name);
  const int error = Syncer::sync_to_disk(file.get(), false);
  return error == 0 ? DiskStatus::ok : files_.fail(error, "sync", name);
}

DiskStatus FolderDisk::sync_folder() {
  const int error = Syncer::sync_to_disk(files_.descriptor(), true);
  return error == 0 ? DiskStatus::ok : files_.fail(error, "sync the folder");
}

bool FolderDisk::space(binlog::DiskSpace& space) const {
  struct statvfs status {};
  if (::fstatvfs(files_.descriptor(), &status) != 0) return false;
  if (status.f_blocks == 0 || status.f_frsize == 0) return false;
  space = {status.f_bavail * status.f_frsize, status.f_blocks * status.f_frsize};
  return true;
}

void FolderDisk::start_sync(FileHandle file, std::uint64_t ticket) {
  const bool is_folder = file == FileHandle::none;
  syncer_.start(is_folder ? files_.descriptor() : number_of(file), is_folder, ticket);
}

void FolderDisk::start_remove(const std::string& name, bool sync, std::uint64_t ticket) {
  CHECK(FolderFiles::is_usable(name));
  const bool has_to_sync_note = sync && std::exchange(note_is_unsynced_, false);
  syncer_.start_removal(files_.descriptor(), name, sync, ticket,
                        has_to_sync_note ? place_.lock()->descriptor() : -1);
}

void FolderDisk::write_note(const binlog::FolderNote& note) {
  if (place_.lock() == nullptr || is_lost()) return;
  place_.lock()->write_note(note);
  note_is_unsynced_ = true;
}

void FolderDisk::sync_note() {
  if (place_.lock() == nullptr) return;
  place_.lock()->sync_note();
  note_is_unsynced_ = false;
}

void FolderDisk::wait_for_sync() {
  constexpr std::chrono::seconds kPatience{1};
  do {
    if (watcher_.function != nullptr) watcher_.function(watcher_.context);
  } while (!syncer_.wait(kPatience));
}

bool FolderDisk::next_sync_done(binlog::SyncDone& done) {
  Syncer::Ended ended;
  if (!syncer_.next_ended(ended)) return false;
  done.ticket = ended.ticket;
  done.status = ended.error == 0 ? DiskStatus::ok : files_.fail(ended.error, "sync");
  done.removal = ended.removal_error == 0
                     ? DiskStatus::ok
                     : files_.fail(ended.removal_error, "remove", ended.removed);
  return true;
}

}  // namespace haricot::os
