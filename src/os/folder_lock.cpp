#include "os/folder_lock.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <system_error>
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

// One line: what it is, the id and its sum, in hexadecimal digits.
constexpr std::string_view kNoteBegin = "haricot store ";
constexpr std::size_t kNoteBytes = kNoteBegin.size() + 16 + 1 + 8 + 1;

std::string note_of(std::uint64_t id) {
  std::array<char, 32> digits{};
  const auto length =
      std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(id));
  std::string note(kNoteBegin);
  note.append(digits.data(), static_cast<std::size_t>(length));
  const auto sum_length = std::snprintf(digits.data(), digits.size(), " %08x\n", crc32c(0, note));
  return note.append(digits.data(), static_cast<std::size_t>(sum_length));
}

std::uint64_t read_note(int file) {
  std::array<char, kNoteBytes> bytes{};
  const ssize_t count = ::pread(file, bytes.data(), bytes.size(), 0);
  if (count != static_cast<ssize_t>(bytes.size())) return 0;
  const std::string_view note(bytes.data(), bytes.size());
  std::uint64_t id = 0;
  const char* const digits = bytes.data() + kNoteBegin.size();
  const auto [end, error] = std::from_chars(digits, digits + 16, id, 16);
  const bool good = error == std::errc{} && end == digits + 16 && note == note_of(id);
  return good ? id : 0;
}

}  // namespace

std::uint64_t FolderLock::store_id() const {
  return read_note(file_.get());
}

void FolderLock::note_store_id(std::uint64_t id) {
  if (id == 0 || store_id() == id) return;
  const std::string note = note_of(id);
  const ssize_t count = ::pwrite(file_.get(), note.data(), note.size(), 0);
  if (count == static_cast<ssize_t>(note.size())) ::fdatasync(file_.get());
}

std::uint64_t FolderLock::store_id_in(int folder_descriptor) {
  const Descriptor file(::openat(folder_descriptor, kLockFileName.data(),
                                 O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return file ? read_note(file.get()) : 0;
}

LockStatus FolderLock::fail(std::string_view doing) {
  error_.assign("cannot ").append(doing).append(": ").append(std::strerror(errno));
  return LockStatus::cannot;
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
