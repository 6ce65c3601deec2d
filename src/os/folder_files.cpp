#include "os/folder_files.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "haricot/base/check.hpp"
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

// The lock's file is excluded, because closing it would release the lock: see FolderLock.
bool FolderFiles::is_usable(const std::string& name) {
  return binlog::is_file_name(name) && name != kLockFileName;
}

DiskStatus FolderFiles::fail(int error, std::string_view doing, std::string_view name) {
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

DiskStatus FolderFiles::fail_because(std::string why) {
  last_error_ = std::move(why);
  return DiskStatus::failed;
}

DiskStatus FolderFiles::fail_to_open(int error, const std::string& name) {
  const DiskStatus status = fail(error, "read", name);
  return error == ENOENT ? DiskStatus::missing : status;
}

bool FolderFiles::open(const std::string& path) {
  path_ = path;
  return open(Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
}

bool FolderFiles::open(Descriptor folder) {
  CHECK(!folder_);
  folder_ = std::move(folder);
  if (folder_) return true;
  fail(errno, "open", path_);
  return false;
}

DiskStatus FolderFiles::switch_to(const Descriptor& folder) {
  int result = 0;
  do {
    result = ::dup3(folder.get(), folder_.get(), O_CLOEXEC);
  } while (result < 0 && (errno == EINTR || errno == EBUSY));
  return result < 0 ? fail(errno, "open", path_) : DiskStatus::ok;
}

// Opens a file of the folder. Every descriptor that is opened while clients are served comes from
// here.
Descriptor FolderFiles::open_file(const char* name, int flags, unsigned mode) {
  while (true) {
    Descriptor file(::openat(folder_.get(), name, flags, mode));
    const bool none_left = !file && (errno == EMFILE || errno == ENFILE);
    if (!none_left || !spares_.release_one()) return file;
  }
}

DiskStatus FolderFiles::list(std::vector<std::string>& names) {
  // Reading moves a position, so the list has a descriptor of its own.
  Descriptor folder = open_file(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int error = folder ? list_names(std::move(folder), names) : errno;
  spares_.refill();
  return error == 0 ? DiskStatus::ok : fail(error, "list the folder");
}

DiskStatus FolderFiles::read(const std::string& name, FileBytes& bytes) {
  const Descriptor file = open_file(name.c_str(), O_RDONLY | kOpenFlags);
  if (!file) return fail_to_open(errno, name);
  return read_open(file.get(), bytes, name);
}

// Does nothing if others write to the files, because the bytes must be those of a later read.
void FolderFiles::read_ahead(const std::string& name) {
  if (has_writers_) return;
  const Descriptor file = open_file(name.c_str(), O_RDONLY | kOpenFlags);
  if (!file) return;
  // The kernel truncates each request to the size that the disk takes at once, about a megabyte.
  // The rest of a large file is read later.
  constexpr off_t kWish = off_t{256} * 1024;
  constexpr off_t kWishesEnd = off_t{16} * 1024 * 1024;
  for (off_t at = 0; at < kWishesEnd; at += kWish) {
    ::posix_fadvise(file.get(), at, kWish, POSIX_FADV_WILLNEED);
  }
}

DiskStatus FolderFiles::read_ends(const std::string& name, binlog::FileEnds& ends) {
  const Descriptor file = open_file(name.c_str(), O_RDONLY | kOpenFlags);
  if (!file) return fail_to_open(errno, name);
  return read_ends_open(file.get(), ends, name);
}

DiskStatus FolderFiles::read_ends_open(int file, binlog::FileEnds& ends, const std::string& name) {
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
int FolderFiles::read_pieces(int file, FileBytes& bytes) const {
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

DiskStatus FolderFiles::read_open(int file, FileBytes& bytes, const std::string& name) {
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

}  // namespace haricot::os
