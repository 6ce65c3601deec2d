#include "os/folder_lock.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/base/crc32c.hpp"

namespace haricot::os {
namespace {

// The other one may go between being in the way and being asked for its number.
constexpr int kRoundsMax = 10;

// The whole file, however long it is or gets.
struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

// One line: what it is, the id, the two runs, and the sum of all that, in hexadecimal digits.
constexpr const char* kNoteFormat = "haricot store %016" PRIx64 " run %08" PRIx32 " %08" PRIx32;
constexpr const char* kSumFormat = " %08" PRIx32 "\n";
constexpr std::size_t kSumBytes = 10;
constexpr std::size_t kNoteBytes = 14 + 16 + 5 + 8 + 1 + 8 + kSumBytes;

std::string text_of(const binlog::FolderNote& note) {
  std::array<char, kNoteBytes + 1> text{};
  const int length = std::snprintf(text.data(), text.size(), kNoteFormat, note.store_id, note.run,
                                   note.run_before);
  CHECK(length == static_cast<int>(kNoteBytes - kSumBytes));
  const std::uint32_t sum = crc32c(0, std::string_view(text.data(), kNoteBytes - kSumBytes));
  (void)std::snprintf(text.data() + length, kSumBytes + 1, kSumFormat, sum);
  return std::string(text.data(), kNoteBytes);
}

binlog::FolderNote read_note(int file) {
  std::array<char, kNoteBytes + 1> text{};
  if (::pread(file, text.data(), kNoteBytes, 0) != static_cast<ssize_t>(kNoteBytes)) return {};
  binlog::FolderNote note;
  const int values =
      std::sscanf(text.data(), "haricot store %16" SCNx64 " run %8" SCNx32 " %8" SCNx32,
                  &note.store_id, &note.run, &note.run_before);
  const bool good = values == 3 && text_of(note) == std::string_view(text.data(), kNoteBytes);
  return good ? note : binlog::FolderNote{};
}

}  // namespace

binlog::FolderNote FolderLock::note() const {
  return read_note(file_.get());
}

void FolderLock::write_note(const binlog::FolderNote& note, Writing writing) {
  const std::string text = text_of(note);
  const bool good =
      ::pwrite(file_.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  // An old note would speak against the files that this server begins.
  const bool is_gone = good || ::ftruncate(file_.get(), 0) == 0;
  if (is_gone && writing == Writing::durable) ::fdatasync(file_.get());
}

binlog::FolderNote FolderLock::note_in(int folder_descriptor) {
  const Descriptor file(::openat(folder_descriptor, kLockFileName.data(),
                                 O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return file ? read_note(file.get()) : binlog::FolderNote{};
}

LockStatus FolderLock::fail(std::string_view doing) {
  error_.assign("cannot ").append(doing).append(": ").append(std::strerror(errno));
  return LockStatus::cannot;
}

bool FolderLock::is_in(int folder_descriptor) const {
  struct stat named {};
  if (::fstatat(folder_descriptor, kLockFileName.data(), &named, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno != ENOENT;  // Nobody knows better.
  }
  return named.st_dev == identity_.st_dev && named.st_ino == identity_.st_ino;
}

std::string FolderLock::why_not(const std::string& path) const {
  if (!error_.empty()) return error_ + " in " + path;
  std::string why = "another server uses the folder " + path;
  if (holder_ != 0) why += " (process " + std::to_string(holder_) + ")";
  return why;
}

pid_t FolderLock::user_of(int folder_descriptor) {
  const Descriptor file(::openat(folder_descriptor, kLockFileName.data(),
                                 O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct flock other = whole_file();
  if (!file || ::fcntl(file.get(), F_GETLK, &other) != 0 || other.l_type == F_UNLCK) return 0;
  return std::max<pid_t>(other.l_pid, 0);
}

void FolderLock::give_to(const std::string& user) {
  const passwd* entry = ::getpwnam(user.c_str());
  if (::geteuid() != 0 || entry == nullptr) return;
  // Where it does not work, the lock is held all the same.
  if (::fchown(file_.get(), entry->pw_uid, entry->pw_gid) != 0) errno = 0;
}

LockStatus FolderLock::take(int folder_descriptor) {
  CHECK(!file_);
  // O_NONBLOCK, lest a pipe of that name holds us up.
  Descriptor file(::openat(folder_descriptor, kLockFileName.data(),
                           O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!file) return fail("open the file lock");
  for (int round = 0; round < kRoundsMax; ++round) {
    struct flock lock = whole_file();
    if (::fcntl(file.get(), F_SETLK, &lock) == 0) {
      if (::fstat(file.get(), &identity_) != 0) return fail("look at the file lock");
      file_ = std::move(file);
      return LockStatus::taken;
    }
    if (errno != EACCES && errno != EAGAIN) return fail("lock the file lock");
    struct flock other = whole_file();
    if (::fcntl(file.get(), F_GETLK, &other) != 0) return fail("lock the file lock");
    // -1 stands for a lock that belongs to no one process.
    holder_ = other.l_type == F_UNLCK ? 0 : std::max<pid_t>(other.l_pid, 0);
    if (other.l_type != F_UNLCK) break;
  }
  return LockStatus::held;
}

}  // namespace haricot::os
