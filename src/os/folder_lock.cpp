#include "os/folder_lock.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "haricot/base/check.hpp"

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

}  // namespace

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
                           O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
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
