#include "os/disk.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/binlog/replay.hpp"
#include "os/folder_lock.hpp"

namespace haricot::os {
namespace {

using binlog::DiskStatus;
using binlog::FileBytes;
using binlog::FileHandle;
using binlog::Presence;

// A pipe or a device in the folder must not hold us up when it is opened, nor become our terminal.
constexpr int kOpenFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
constexpr mode_t kFileMode = 0600;        // Jobs are nobody else's business.
constexpr std::size_t kPiecesMax = 1024;  // Pieces of one pwritev.
static_assert(kPiecesMax <= IOV_MAX);
static_assert(sizeof(off_t) >= sizeof(std::uint64_t));  // No place in a file is cut off.
constexpr int kDescriptorsToReturn = 3;                 // To a folder: itself, its list, its lock.
constexpr int kReadsMax = 3;                            // Of a file that changes while it is read.

int number_of(FileHandle file) {
  CHECK(file != FileHandle::none);
  return static_cast<int>(file);
}

// Opening and closing the lock's file by any other way would drop the lock: see FolderLock.
bool is_usable(const std::string& name) {
  return binlog::is_file_name(name) && name != kLockFileName;
}

// All of these return 0 or an errno.

int write_all(int file, std::uint64_t offset, std::span<const std::string_view> pieces) {
  std::array<iovec, kPiecesMax> batch;  // Filled as far as it is used.
  std::size_t index = 0;                // The first piece that is not written whole,
  std::size_t written = 0;              // and what of it is.
  while (true) {
    std::size_t count = 0;
    for (std::size_t i = index; i < pieces.size() && count < kPiecesMax; ++i) {
      const std::string_view rest = pieces[i].substr(i == index ? written : 0);
      if (rest.empty()) continue;
      batch[count++] = iovec{const_cast<char*>(rest.data()), rest.size()};
    }
    if (count == 0) return 0;
    const ssize_t done =
        ::pwritev(file, batch.data(), static_cast<int>(count), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno;
    if (done == 0) return EIO;  // No progress and no reason: asking again would never end.
    offset += static_cast<std::uint64_t>(done);
    written += static_cast<std::size_t>(done);
    while (index < pieces.size() && written >= pieces[index].size()) {
      written -= pieces[index++].size();
    }
  }
}

int size_of(int file, std::uint64_t& bytes) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return errno;
  bytes = static_cast<std::uint64_t>(status.st_size);
  return 0;
}

int cut(int file, std::uint64_t bytes) {
  int result = 0;
  do {
    result = ::ftruncate(file, static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : errno;
}

// In large pages, memory for a whole file takes a few faults instead of thousands.
void use_huge_pages(FileBytes& bytes) {
  constexpr std::uintptr_t kHugePage = 2 * 1024 * 1024;
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t first = (begin + kHugePage - 1) / kHugePage * kHugePage;
  const std::uintptr_t end = (begin + bytes.size()) / kHugePage * kHugePage;
  if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

int list_names(Descriptor folder, std::vector<std::string>& names) {
  names.clear();
  DIR* const entries = folder ? ::fdopendir(folder.get()) : nullptr;
  if (entries == nullptr) return errno;
  folder.release();
  errno = 0;
  int error = 0;
  try {
    while (const dirent* const entry = ::readdir(entries)) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
      errno = 0;
    }
    error = errno;
  } catch (const std::bad_alloc&) {
    error = ENOMEM;
  }
  ::closedir(entries);
  return error;
}

// Takes space the long way. A disk that is full is asked first: writing megabytes of zeros only to
// take them back would be done again for every put that is refused.
int write_zeros(int file, std::uint64_t from, std::uint64_t to) {
  CHECK(from <= to);
  struct statvfs space {};
  if (::fstatvfs(file, &space) == 0 && space.f_blocks > 0 && space.f_frsize > 0 &&
      space.f_bavail < (to - from) / space.f_frsize) {
    return ENOSPC;
  }
  static constexpr std::array<char, 4096> kZeros{};
  std::array<std::string_view, kPiecesMax> pieces;
  pieces.fill({kZeros.data(), kZeros.size()});
  while (from < to) {
    const std::uint64_t count = std::min<std::uint64_t>((to - from) / kZeros.size(), kPiecesMax);
    const std::string_view rest(kZeros.data(), std::min<std::uint64_t>(to - from, kZeros.size()));
    const int error = count > 0 ? write_all(file, from, std::span(pieces).first(count))
                                : write_all(file, from, std::span(&rest, 1));
    if (error != 0) return error;
    from += count > 0 ? count * kZeros.size() : rest.size();
  }
  return 0;
}

int take_space(int file, std::uint64_t from, std::uint64_t to) {
  int result = 0;
  do {
    result = ::fallocate(file, 0, static_cast<off_t>(from), static_cast<off_t>(to - from));
  } while (result != 0 && errno == EINTR);
  if (result == 0) return 0;
  const bool cannot = errno == EOPNOTSUPP || errno == ENOSYS;
  return cannot ? write_zeros(file, from, to) : errno;
}

}  // namespace

DiskStatus FolderDisk::fail(int error, std::string_view doing, std::string_view name) {
  try {
    last_error_.assign("cannot ").append(doing);
    if (!name.empty()) last_error_.append(" ").append(name);
    last_error_.append(": ").append(std::strerror(error));
  } catch (const std::bad_alloc&) {
    last_error_.clear();  // Who asks is told that it failed; why is for the log only.
  }
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return full ? DiskStatus::full : DiskStatus::failed;
}

bool FolderDisk::open(const std::string& path) {
  CHECK(!folder_);
  path_ = path;
  folder_ = Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder_ && syncer_.open()) return true;
  fail(errno, "open", path);
  return false;
}

// Every descriptor that is opened while connections are served comes from here.
Descriptor FolderDisk::open_in_folder(const char* name, int flags, unsigned mode) {
  while (true) {
    Descriptor file(::openat(folder_.get(), name, flags, mode));
    const bool none_left = !file && (errno == EMFILE || errno == ENFILE);
    if (!none_left || !reserve_.release_one()) return file;
  }
}

DiskStatus FolderDisk::list(std::vector<std::string>& names) {
  // Reading moves a position, so it gets a descriptor of its own.
  Descriptor folder = open_in_folder(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int error = folder ? list_names(std::move(folder), names) : errno;
  reserve_.refill();
  return error == 0 ? DiskStatus::ok : fail(error, "list the folder");
}

DiskStatus FolderDisk::read(const std::string& name, FileBytes& bytes) {
  if (!is_usable(name)) return fail(EINVAL, "read", name);
  const Descriptor file = open_in_folder(name.c_str(), O_RDONLY | kOpenFlags);
  if (!file) return fail(errno, "read", name);
  return read_open(file.get(), bytes, name);
}

// From the end to the begin: files are appended to. A piece counts when it is the same twice; where
// it never is, whoever reads it has to find out. Returns 0 or an errno.
int FolderDisk::read_pieces(int file, FileBytes& bytes) const {
  constexpr std::size_t kPiece = 4096;
  constexpr int kTriesMax = 8;
  std::array<char, kPiece> again;
  const std::size_t size = bytes.size();
  for (std::size_t end = size; end > 0;) {
    const std::size_t begin = (end - 1) / kPiece * kPiece;
    const auto count = static_cast<ssize_t>(end - begin);
    char* const to = bytes.data() + begin;
    ssize_t read = ::pread(file, to, end - begin, static_cast<off_t>(begin));
    for (int i = 0; i < kTriesMax && read == count; ++i) {
      read = ::pread(file, again.data(), end - begin, static_cast<off_t>(begin));
      if (read == count && std::memcmp(to, again.data(), end - begin) == 0) break;
      if (read == count) std::memcpy(to, again.data(), end - begin);
    }
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) return errno;
    if (read < count) return EBUSY;  // It was cut off meanwhile.
    end = begin;
  }
  return 0;
}

DiskStatus FolderDisk::read_open(int file, FileBytes& bytes, const std::string& name) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return fail(errno, "read", name);
  if (!S_ISREG(status.st_mode)) {
    return fail(S_ISDIR(status.st_mode) ? EISDIR : EINVAL, "read", name);
  }
  auto size = static_cast<std::uint64_t>(status.st_size);
  ::posix_fadvise(file, 0, 0, POSIX_FADV_SEQUENTIAL);
  for (int round = 0; round < kReadsMax; ++round) {
    if (!bytes.resize(size)) return fail(ENOMEM, "read", name);
    if (bytes.is_new()) use_huge_pages(bytes);
    std::uint64_t done = 0;
    if (has_writers_) {
      const int error = read_pieces(file, bytes);
      if (error != 0 && error != EBUSY) return fail(error, "read", name);
      if (error == 0) done = size;
    }
    while (done < size && !has_writers_) {
      const ssize_t count =
          ::pread(file, bytes.data() + done, size - done, static_cast<off_t>(done));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return fail(errno, "read", name);
      if (count == 0) break;
      done += static_cast<std::uint64_t>(count);
    }
    std::uint64_t size_now = 0;
    if (const int error = size_of(file, size_now); error != 0) return fail(error, "read", name);
    if (done == size && size == size_now) return DiskStatus::ok;
    size = size_now;
  }
  return fail(EBUSY, "read", name);  // Somebody keeps writing to it.
}

DiskStatus FolderDisk::create(const std::string& name, FileHandle& file) {
  return open_to_write(name, O_CREAT | O_TRUNC, "create", file);
}

DiskStatus FolderDisk::open_existing(const std::string& name, FileHandle& file) {
  return open_to_write(name, 0, "open", file);
}

DiskStatus FolderDisk::open_to_write(const std::string& name, int flags, const char* doing,
                                     FileHandle& file) {
  if (!is_usable(name)) return fail(EINVAL, doing, name);
  Descriptor opened = open_in_folder(name.c_str(), O_WRONLY | flags | kOpenFlags, kFileMode);
  if (!opened) return fail(errno, doing, name);
  struct stat status {};
  if (::fstat(opened.get(), &status) != 0) return fail(errno, doing, name);
  if (!S_ISREG(status.st_mode)) return fail(EINVAL, doing, name);
  file = static_cast<FileHandle>(opened.release());
  return DiskStatus::ok;
}

DiskStatus FolderDisk::allocate(FileHandle file, std::uint64_t bytes) {
  const int number = number_of(file);
  std::uint64_t size = 0;
  if (const int error = size_of(number, size); error != 0) return fail(error, "take space");
  if (bytes <= size) return DiskStatus::ok;
  const int error = take_space(number, size, bytes);
  if (error == 0) return DiskStatus::ok;
  cut(number, size);  // What was taken until it failed. It fails only where nothing helps any more.
  return fail(error, "take space");
}

DiskStatus FolderDisk::write(FileHandle file, std::uint64_t offset,
                             std::span<const std::string_view> pieces) {
  const int error = write_all(number_of(file), offset, pieces);
  return error == 0 ? DiskStatus::ok : fail(error, "write");
}

DiskStatus FolderDisk::truncate(FileHandle file, std::uint64_t bytes) {
  std::uint64_t size = 0;
  if (const int error = size_of(number_of(file), size); error != 0) return fail(error, "truncate");
  if (bytes >= size) return DiskStatus::ok;
  const int error = cut(number_of(file), bytes);
  return error == 0 ? DiskStatus::ok : fail(error, "truncate");
}

void FolderDisk::close(FileHandle file) {
  CHECK(!syncer_.is_under_way(number_of(file)));
  if (looked_for_ == file) looked_for_ = FileHandle::none;
  ::close(number_of(file));
  reserve_.refill();
}

DiskStatus FolderDisk::rename(const std::string& from, const std::string& to) {
  if (!is_usable(from)) return fail(EINVAL, "rename", from);
  if (!is_usable(to)) return fail(EINVAL, "rename to", to);
  const int result = ::renameat(folder_.get(), from.c_str(), folder_.get(), to.c_str());
  return result == 0 ? DiskStatus::ok : fail(errno, "rename", from);
}

DiskStatus FolderDisk::remove(const std::string& name) {
  if (!is_usable(name)) return fail(EINVAL, "remove", name);
  const int result = ::unlinkat(folder_.get(), name.c_str(), 0);
  return result == 0 ? DiskStatus::ok : fail(errno, "remove", name);
}

DiskStatus FolderDisk::sync(FileHandle file) {
  const int error = Syncer::sync_to_disk(number_of(file), false);
  return error == 0 ? DiskStatus::ok : fail(error, "sync");
}

DiskStatus FolderDisk::sync_file(const std::string& name) {
  if (!is_usable(name)) return fail(EINVAL, "sync", name);
  const Descriptor file = open_in_folder(name.c_str(), O_RDONLY | kOpenFlags);
  if (!file) return fail(errno, "sync", name);
  const int error = Syncer::sync_to_disk(file.get(), false);
  return error == 0 ? DiskStatus::ok : fail(error, "sync", name);
}

DiskStatus FolderDisk::sync_folder() {
  const int error = Syncer::sync_to_disk(folder_.get(), true);
  return error == 0 ? DiskStatus::ok : fail(error, "sync the folder");
}

// Files that went away ----------------------------------------------------------------------------

FolderDisk::Identity FolderDisk::identity_of(const struct stat& status) {
  return {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino)};
}

// Asks the kernel once for each file.
FolderDisk::Identity FolderDisk::identity_of_open(FileHandle file) {
  if (looked_for_ == file) return identity_;
  struct stat status {};
  if (::fstat(number_of(file), &status) != 0) return {};
  looked_for_ = file;
  identity_ = identity_of(status);
  return identity_;
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
    // Whoever has opened the folder had more rights than this user, or the disk is ill.
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
                              : "there is no " + name + " in " + path_ + " any more");
    return Presence::file_gone;
  }
  (void)fail_because(has_name ? path_ + " is another folder than before"
                              : "there is no folder " + path_ + " any more");
  return Presence::folder_gone;
}

// Without its file a second server could take the lock as well. Every other time is soon enough.
Presence FolderDisk::look_for_lock() {
  looks_for_lock_ = lock_ != nullptr && !looks_for_lock_;
  if (!looks_for_lock_ || lock_->is_in(folder_.get())) return Presence::there;
  (void)fail_because("there is no lock in " + path_ + " any more");
  return Presence::lock_gone;
}

DiskStatus FolderDisk::return_to_folder(bool& is_new) {
  is_new = false;
  for (int i = 0; i < kDescriptorsToReturn; ++i) (void)reserve_.release_one();
  const DiskStatus status = go_back(is_new);
  reserve_.refill();
  return status;
}

DiskStatus FolderDisk::go_back(bool& is_new) {
  struct stat open {};
  struct stat named {};
  if (::fstat(folder_.get(), &open) != 0) return fail(errno, "look at", path_);
  if (::stat(path_.c_str(), &named) != 0) {
    const bool is_gone = errno == ENOENT || errno == ENOTDIR || open.st_nlink == 0;
    if (is_gone) return fail_because("there is no folder " + path_ + " any more");
    named = open;  // The path is closed to this user; the folder is there.
  }
  if (identity_of(named) == identity_of(open)) {
    if (lock_ == nullptr || lock_->is_in(folder_.get())) return DiskStatus::ok;
    FolderLock again;
    if (again.take(folder_.get()) != LockStatus::taken) {
      return fail_because(again.why_not(path_));
    }
    *lock_ = std::move(again);
    lock_is_new_ = true;
    return DiskStatus::ok;
  }
  if (!S_ISDIR(named.st_mode)) return fail_because(path_ + " is no folder");
  if (named.st_dev != open.st_dev) {
    return fail_because(path_ + " is on another file system than before");
  }
  Descriptor folder(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) {
    const DiskStatus status = fail(errno, "open", path_);
    if (is_fenced_) last_error_ += " (the sandbox lets this process use no new folder)";
    return status;
  }
  const DiskStatus status = move_to(std::move(folder));
  is_new = status == DiskStatus::ok;
  return status;
}

// The number of the descriptor stays the same: others have it.
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
  reserve_.renew();
  return DiskStatus::ok;
}

bool FolderDisk::space(binlog::DiskSpace& space) const {
  struct statvfs status {};
  if (::fstatvfs(folder_.get(), &status) != 0) return false;
  if (status.f_blocks == 0 || status.f_frsize == 0) return false;
  space = {status.f_bavail * status.f_frsize, status.f_blocks * status.f_frsize};
  return true;
}

void FolderDisk::start_sync(FileHandle file, std::uint64_t ticket) {
  const bool is_folder = file == FileHandle::none;
  syncer_.start(is_folder ? folder_.get() : number_of(file), is_folder, ticket);
}

void FolderDisk::start_remove(const std::string& name, bool sync, std::uint64_t ticket) {
  CHECK(is_usable(name));
  const bool has_to_sync_note = sync && std::exchange(note_is_unsynced_, false);
  syncer_.start_removal(folder_.get(), name, sync, ticket,
                        has_to_sync_note ? lock_->descriptor() : -1);
}

void FolderDisk::write_note(const binlog::FolderNote& note) {
  if (lock_ == nullptr) return;
  lock_->write_note(note);
  note_is_unsynced_ = true;
}

void FolderDisk::sync_note() {
  if (lock_ == nullptr) return;
  lock_->sync_note();
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
  done.status = ended.error == 0 ? DiskStatus::ok : fail(ended.error, "sync");
  done.removal = ended.removal_error == 0 ? DiskStatus::ok
                                          : fail(ended.removal_error, "remove", ended.removed);
  return true;
}

}  // namespace haricot::os
