#include "os/disk.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/binlog/format/file_name.hpp"
#include "haricot/binlog/read/replay.hpp"
#include "os/file_calls.hpp"
#include "os/folder_lock.hpp"

namespace haricot::os {
namespace {

using binlog::DiskStatus;
using binlog::FileBytes;

static_assert(sizeof(off_t) >= sizeof(std::uint64_t));  // Offsets are not truncated.
constexpr int kReadsMax = 3;  // Tries, if a file changes while it is read.

// With huge pages, memory for a whole file takes a few page faults instead of thousands.
void use_huge_pages(FileBytes& bytes) {
  constexpr std::uintptr_t kHugePage = 2 * 1024 * 1024;
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t first = (begin + kHugePage - 1) / kHugePage * kHugePage;
  const std::uintptr_t end = (begin + bytes.size()) / kHugePage * kHugePage;
  if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

}  // namespace

int FolderDisk::number_of(FileHandle file) {
  CHECK(file != FileHandle::none);
  return static_cast<int>(file);
}

// The lock's file is excluded, because closing it would release the lock: see FolderLock.
bool FolderDisk::is_usable(const std::string& name) {
  return binlog::is_file_name(name) && name != kLockFileName;
}

DiskStatus FolderDisk::fail(int error, std::string_view doing, std::string_view name) {
  try {
    last_error_.assign("cannot ").append(doing);
    if (!name.empty()) last_error_.append(" ").append(name);
    last_error_.append(": ").append(reason_of(error));
  } catch (const std::bad_alloc&) {
    last_error_.clear();  // The status reports the failure; the text is for the log only.
  }
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return full ? DiskStatus::full : DiskStatus::failed;
}

DiskStatus FolderDisk::fail_to_open(int error, const std::string& name) {
  const DiskStatus status = fail(error, "read", name);
  return error == ENOENT ? DiskStatus::missing : status;
}

bool FolderDisk::open(const std::string& path) {
  path_ = path;
  return open(Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
}

bool FolderDisk::open(Descriptor folder) {
  CHECK(!folder_);
  folder_ = std::move(folder);
  if (folder_ && syncer_.open()) return true;
  fail(errno, "open", path_);
  return false;
}

// Opens a file of the folder. Every descriptor that is opened while clients are served comes from
// here.
Descriptor FolderDisk::open_in_folder(const char* name, int flags, unsigned mode) {
  while (true) {
    Descriptor file(::openat(folder_.get(), name, flags, mode));
    const bool none_left = !file && (errno == EMFILE || errno == ENFILE);
    if (!none_left || !spare_descriptors_.release_one()) return file;
  }
}

DiskStatus FolderDisk::list(std::vector<std::string>& names) {
  const DiskStatus status = list_folder(names);
  if (is_holding_ && status == DiskStatus::ok) name_held(names);
  return status;
}

DiskStatus FolderDisk::list_folder(std::vector<std::string>& names) {
  // Reading moves a position, so the list has a descriptor of its own.
  Descriptor folder = open_in_folder(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int error = folder ? list_names(std::move(folder), names) : errno;
  spare_descriptors_.refill();
  return error == 0 ? DiskStatus::ok : fail(error, "list the folder");
}

DiskStatus FolderDisk::read(const std::string& name, FileBytes& bytes) {
  if (!is_usable(name)) return fail(EINVAL, "read", name);
  if (is_holding_) return read_held(name, bytes);
  return read_by_name(name, bytes);
}

DiskStatus FolderDisk::read_by_name(const std::string& name, FileBytes& bytes) {
  const Descriptor file = open_in_folder(name.c_str(), O_RDONLY | kOpenFlags);
  if (!file) return fail_to_open(errno, name);
  return read_open(file.get(), bytes, name);
}

// Does nothing if others write to the files, because the bytes must be those of a later read.
void FolderDisk::read_ahead(const std::string& name) {
  if (!is_usable(name) || is_holding_ || has_writers_) return;
  const Descriptor file = open_in_folder(name.c_str(), O_RDONLY | kOpenFlags);
  if (!file) return;
  // The kernel truncates each request to what the disk takes at once, about a megabyte. The rest of
  // a large file is read later.
  constexpr off_t kWish = off_t{256} * 1024;
  constexpr off_t kWishesEnd = off_t{16} * 1024 * 1024;
  for (off_t at = 0; at < kWishesEnd; at += kWish) {
    ::posix_fadvise(file.get(), at, kWish, POSIX_FADV_WILLNEED);
  }
}

DiskStatus FolderDisk::read_ends(const std::string& name, binlog::FileEnds& ends) {
  if (!is_usable(name)) return fail(EINVAL, "read", name);
  const HeldFile* const held = is_holding_ ? held_named(name) : nullptr;
  if (held != nullptr && held->file) return read_ends_open(held->file.get(), ends, name);
  const Descriptor file = open_in_folder(name.c_str(), O_RDONLY | kOpenFlags);
  if (!file) return fail_to_open(errno, name);
  return read_ends_open(file.get(), ends, name);
}

DiskStatus FolderDisk::read_ends_open(int file, binlog::FileEnds& ends, const std::string& name) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return fail(errno, "read", name);
  if (!S_ISREG(status.st_mode)) return fail(kNoPlainFile, "read", name);
  ends.file_bytes = static_cast<std::uint64_t>(status.st_size);
  const std::size_t bytes = std::min<std::uint64_t>(ends.file_bytes, binlog::FileEnds::kBytesMax);
  for (std::string* const end : {&ends.front, &ends.back}) {
    const std::uint64_t begin = end == &ends.front ? 0 : ends.file_bytes - bytes;
    end->resize(bytes);
    ssize_t read = -1;
    do {
      read = ::pread(file, end->data(), bytes, static_cast<off_t>(begin));
    } while (read < 0 && errno == EINTR);
    if (read < 0) return fail(errno, "read", name);
    end->resize(static_cast<std::size_t>(read));  // The file may have been truncated meanwhile.
  }
  return DiskStatus::ok;
}

// Reads from the end to the beginning, because files are appended to. A piece is accepted if two
// reads agree. If they never do, the caller has to detect that. Returns 0 or an errno.
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
    if (read < count) return EBUSY;  // The file was truncated meanwhile.
    end = begin;
  }
  return 0;
}

DiskStatus FolderDisk::read_open(int file, FileBytes& bytes, const std::string& name) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return fail(errno, "read", name);
  if (!S_ISREG(status.st_mode)) return fail(kNoPlainFile, "read", name);
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
  return fail(EBUSY, "read", name);  // Another process keeps writing to it.
}

DiskStatus FolderDisk::create(const std::string& name, FileHandle& file) {
  const int replaces = fence_ == nullptr ? O_TRUNC : O_EXCL;
  return open_to_write(name, O_CREAT | replaces, "create", file);
}

DiskStatus FolderDisk::open_existing(const std::string& name, FileHandle& file) {
  return open_to_write(name, 0, "open", file);
}

DiskStatus FolderDisk::open_to_write(const std::string& name, int flags, const char* doing,
                                     FileHandle& file) {
  if (!is_usable(name)) return fail(EINVAL, doing, name);
  if (is_lost()) return fail_as_lost();
  Descriptor opened = open_in_folder(name.c_str(), O_WRONLY | flags | kOpenFlags, kFileMode);
  if (!opened) return fail(errno, doing, name);
  struct stat status {};
  if (::fstat(opened.get(), &status) != 0) return fail(errno, doing, name);
  if (!S_ISREG(status.st_mode)) return fail(kNoPlainFile, doing, name);
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
  cut(number, size);  // Frees what was taken before the failure.
  return fail(error, "take space");
}

DiskStatus FolderDisk::write(FileHandle file, std::uint64_t offset,
                             std::span<const std::string_view> pieces) {
  if (is_lost()) return fail_as_lost();
  const int error = write_all(number_of(file), offset, pieces);
  return error == 0 ? DiskStatus::ok : fail(error, "write");
}

DiskStatus FolderDisk::truncate(FileHandle file, std::uint64_t bytes) {
  if (is_lost()) return fail_as_lost();
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
  spare_descriptors_.refill();
}

DiskStatus FolderDisk::rename(const std::string& from, const std::string& to) {
  if (!is_usable(from)) return fail(EINVAL, "rename", from);
  if (!is_usable(to)) return fail(EINVAL, "rename to", to);
  if (is_lost()) return fail_as_lost();
  int result = 0;
  if (fence_ == nullptr) {
    result = ::renameat(folder_.get(), from.c_str(), folder_.get(), to.c_str());
  } else {
    result = rename_to_free_name(from.c_str(), to.c_str());
    if (result != 0 && errno == EEXIST && binlog::binlog_file_number(to)) {
      fence_->give_up(FolderFence::Cause::another_server, "another server has made the file " + to);
      errno = EEXIST;
    }
  }
  return result == 0 ? DiskStatus::ok : fail(errno, "rename", from);
}

// Renames a file like renameat(), but fails if the new name exists. Not all file systems can do
// this in one step; a crash in between leaves the file with both names.
int FolderDisk::rename_to_free_name(const char* from, const char* to) {
  const int folder = folder_.get();
  if (::renameat2(folder, from, folder, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  if (::linkat(folder, from, folder, to, 0) != 0) return -1;
  return ::unlinkat(folder, from, 0);
}

DiskStatus FolderDisk::remove(const std::string& name) {
  if (!is_usable(name)) return fail(EINVAL, "remove", name);
  if (is_lost()) return fail_as_lost();
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
  if (lock_ == nullptr || is_lost()) return;
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
