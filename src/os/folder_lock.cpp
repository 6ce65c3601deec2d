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
#include "os/folder_files.hpp"

namespace haricot::os {
namespace {

// The holder may end between the failure and the query for its number.
constexpr int kRoundsMax = 10;
// With O_NONBLOCK, so that a pipe of that name does not block the server.
constexpr int kOpenToLock = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

// Covers the whole file, whatever its length.
struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

// The note has two lines. The first line has a name, the id, the two runs and their checksum, in
// hexadecimal digits. Earlier versions read and write only this line.
constexpr const char* kNoteFormat = "haricot store %016" PRIx64 " run %08" PRIx32 " %08" PRIx32;
constexpr const char* kSumFormat = " %08" PRIx32 "\n";
constexpr std::size_t kSumBytes = 10;
constexpr std::size_t kFirstLineBytes = 14 + 16 + 5 + 8 + 1 + 8 + kSumBytes;
// The second line has the oldest and the newest file, the length at a clean stop, the bound of the
// ids, and the checksum of both lines. So it does not match a first line of another server.
constexpr const char* kFilesFormat =
    "files %08" PRIx32 " %08" PRIx32 " end %016" PRIx64 " ids %016" PRIx64;
constexpr std::size_t kSecondLineBytes = 6 + 8 + 1 + 8 + 5 + 16 + 5 + 16 + kSumBytes;
constexpr std::size_t kNoteBytes = kFirstLineBytes + kSecondLineBytes;

// Needs no memory, because a turn may write a note.
struct NoteText {
  std::array<char, kNoteBytes + 1> bytes{};
  std::size_t size = 0;

  std::string_view view() const { return {bytes.data(), size}; }
  char* end() { return bytes.data() + size; }
  std::size_t room() const { return bytes.size() - size; }
  // Ends the line with the checksum of the text so far.
  void add_sum() {
    size += static_cast<std::size_t>(std::snprintf(end(), room(), kSumFormat, crc32c(0, view())));
  }
};

NoteText text_of(const binlog::FolderNote& note) {
  NoteText text;
  text.size += static_cast<std::size_t>(std::snprintf(text.end(), text.room(), kNoteFormat,
                                                      note.store_id, note.run, note.run_before));
  text.add_sum();
  CHECK(text.size == kFirstLineBytes);
  text.size += static_cast<std::size_t>(std::snprintf(text.end(), text.room(), kFilesFormat,
                                                      note.oldest_needed, note.newest, note.end,
                                                      note.ids_end));
  text.add_sum();
  CHECK(text.size == kNoteBytes);
  return text;
}

binlog::FolderNote read_note(int file) {
  std::array<char, kNoteBytes + 1> bytes{};
  const ssize_t got = ::pread(file, bytes.data(), kNoteBytes, 0);
  if (got < static_cast<ssize_t>(kFirstLineBytes)) return {};
  const std::string_view text(bytes.data(), static_cast<std::size_t>(got));
  binlog::FolderNote note;
  int values = std::sscanf(bytes.data(), "haricot store %16" SCNx64 " run %8" SCNx32 " %8" SCNx32,
                           &note.store_id, &note.run, &note.run_before);
  const std::string_view first_line = text.substr(0, kFirstLineBytes);
  if (values != 3 || !text_of(note).view().starts_with(first_line)) return {};
  binlog::FolderNote whole = note;
  values = std::sscanf(bytes.data() + kFirstLineBytes,
                       "files %8" SCNx32 " %8" SCNx32 " end %16" SCNx64 " ids %16" SCNx64,
                       &whole.oldest_needed, &whole.newest, &whole.end, &whole.ids_end);
  return values == 4 && text_of(whole).view() == text ? whole : note;
}

}  // namespace

binlog::FolderNote FolderLock::note() const {
  return read_note(file_.get());
}

void FolderLock::write_note(const binlog::FolderNote& note) {
  const NoteText text = text_of(note);
  const bool good =
      ::pwrite(file_.get(), text.bytes.data(), kNoteBytes, 0) == static_cast<ssize_t>(kNoteBytes);
  // The note of another run would contradict the files that this server begins. An older one of
  // this run does not.
  if (!good && read_note(file_.get()).run != note.run && ::ftruncate(file_.get(), 0) != 0) {
    errno = 0;  // Nothing more can be done.
  }
}

void FolderLock::sync_note() {
  ::fdatasync(file_.get());
}

binlog::FolderNote FolderLock::note_in(int folder_descriptor) {
  const Descriptor file(::openat(folder_descriptor, kLockFileName.data(),
                                 O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return file ? read_note(file.get()) : binlog::FolderNote{};
}

LockStatus FolderLock::fail(std::string_view doing) {
  error_.assign("cannot ").append(doing).append(": ").append(reason_of(errno));
  return LockStatus::cannot;
}

bool FolderLock::is_in(int folder_descriptor) const {
  struct stat named {};
  if (::fstatat(folder_descriptor, kLockFileName.data(), &named, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno != ENOENT;  // Unknown: assumed to be there.
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
  // On failure the lock is still held.
  if (::fchown(file_.get(), entry->pw_uid, entry->pw_gid) != 0) errno = 0;
}

Descriptor FolderLock::open_or_make(int folder_descriptor) {
  Descriptor file;
  for (int round = 0; round < kRoundsMax && !file; ++round) {
    file = Descriptor(::openat(folder_descriptor, kLockFileName.data(), kOpenToLock));
    was_made_ = !file && errno == ENOENT;
    if (!was_made_) break;
    file = Descriptor(
        ::openat(folder_descriptor, kLockFileName.data(), kOpenToLock | O_CREAT | O_EXCL, 0600));
    if (!file && errno != EEXIST) break;
  }
  return file;
}

// The lock is still held: a process that opens the file meanwhile cannot take it, and one that
// takes it later finds in take() that its name is gone.
void FolderLock::remove_if_made(int folder_descriptor) {
  struct stat now {};
  const bool is_ours = was_made_ && is_in(folder_descriptor);
  if (!is_ours || ::fstat(file_.get(), &now) != 0 || now.st_size != 0) return;
  // On failure an empty file remains, which is harmless.
  if (::unlinkat(folder_descriptor, kLockFileName.data(), 0) == 0) was_made_ = false;
}

bool FolderLock::can_open(int folder_descriptor) {
  CHECK(!file_);  // Closing a second descriptor of the file would drop the lock.
  opened_ = Descriptor(::openat(folder_descriptor, kLockFileName.data(), kOpenToLock));
  if (opened_ || errno == ENOENT) return true;
  (void)fail("open the file lock");
  return false;
}

LockStatus FolderLock::take(int folder_descriptor) {
  CHECK(!file_);
  Descriptor file = opened_ ? std::move(opened_) : open_or_make(folder_descriptor);
  if (!file) return fail("open the file lock");
  for (int round = 0; round < kRoundsMax; ++round) {
    struct flock lock = whole_file();
    if (::fcntl(file.get(), F_SETLK, &lock) == 0) {
      if (::fstat(file.get(), &identity_) != 0) return fail("stat the file lock");
      if (!is_in(folder_descriptor)) {
        // A server that was refused has removed the file that it had created.
        file = open_or_make(folder_descriptor);
        if (!file) return fail("open the file lock");
        continue;
      }
      file_ = std::move(file);
      return LockStatus::taken;
    }
    if (errno != EACCES && errno != EAGAIN) return fail("lock the file lock");
    struct flock other = whole_file();
    if (::fcntl(file.get(), F_GETLK, &other) != 0) return fail("lock the file lock");
    // -1: the lock does not belong to a single process.
    holder_ = other.l_type == F_UNLCK ? 0 : std::max<pid_t>(other.l_pid, 0);
    if (other.l_type != F_UNLCK) break;
  }
  return LockStatus::held;
}

}  // namespace haricot::os
