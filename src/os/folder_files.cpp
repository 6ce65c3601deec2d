#include "os/folder_files.hpp"

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
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "os/folder_lock.hpp"

namespace haricot::os {

// System calls on open files and folders ----------------------------------------------------------

namespace {

constexpr std::size_t kPiecesMax = 1024;  // Maximum pieces of a pwritev.
static_assert(kPiecesMax <= IOV_MAX);

// Takes space by writing zeros. Checks the free space first: on a full disk, each refused put would
// otherwise write megabytes of zeros only to free them again.
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

}  // namespace

const char* reason_of(int error) {
  if (error == kNoPlainFile) return "it is not a regular file";
  if (error == ELOOP) return "it is a symbolic link, which haricotd does not follow";
  return std::strerror(error);
}

int write_all(int file, std::uint64_t offset, std::span<const std::string_view> pieces) {
  std::array<iovec, kPiecesMax> batch;  // Only the used part is initialized.
  std::size_t index = 0;                // The first piece that is not completely written.
  std::size_t written = 0;              // Number of its bytes that are written.
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
    if (done == 0) return EIO;  // No progress and no error: repeating might never end.
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

int rename_to_free_name(int folder, const char* from, const char* to) {
  if (::renameat2(folder, from, folder, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  if (::linkat(folder, from, folder, to, 0) != 0) return errno;
  return ::unlinkat(folder, from, 0) == 0 ? 0 : errno;
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

// Reading a folder --------------------------------------------------------------------------------

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

// A snapshot --------------------------------------------------------------------------------------

DiskStatus FolderSnapshot::take() {
  constexpr int kTriesMax = 1000;  // A try takes about as long as reading the newest file.
  for (int i = 0; i < kTriesMax; ++i) {
    const Try result = try_to_take();
    is_taken_ = result == Try::good;
    if (is_taken_) return DiskStatus::ok;
    release();
    if (result == Try::failed) return DiskStatus::failed;
  }
  return files_.fail_because("the files of " + files_.path() + " change too quickly to be read");
}

void FolderSnapshot::release() {
  is_taken_ = false;
  kept_.clear();
  newest_ = {};
}

binlog::FolderNote FolderSnapshot::note() const {
  return is_taken_ ? note_ : FolderLock::note_in(files_.descriptor());
}

FolderSnapshot::Try FolderSnapshot::try_to_take() {
  note_ = note();
  std::vector<std::uint64_t> numbers;
  if (!find_numbers(numbers)) return Try::failed;
  kept_.resize(numbers.size());
  if (kept_.empty()) return Try::good;
  for (std::size_t i = 0; i < kept_.size(); ++i) kept_[i].number = numbers[i];
  if (!open_kept()) return Try::changed;
  const File& newest = kept_.back();
  const std::string name = binlog::binlog_file_name(newest.number);
  const bool is_read =
      !newest.file || files_.read_open(newest.file.get(), newest_, name) == DiskStatus::ok;
  if (!find_numbers(numbers)) return Try::failed;
  if (numbers.empty() || numbers.back() != newest.number) return Try::changed;
  // A list may lack a file that gets its name meanwhile, even if it has a newer one.
  const bool are_kept = std::all_of(numbers.begin(), numbers.end(), [this](std::uint64_t number) {
    return std::any_of(kept_.begin(), kept_.end(),
                       [number](const File& held) { return held.number == number; });
  });
  if (!are_kept || note() != note_) return Try::changed;
  return is_read ? Try::good : Try::failed;
}

// Finds the numbers of the existing files, in ascending order. Returns false on failure: see
// last_error().
bool FolderSnapshot::find_numbers(std::vector<std::uint64_t>& numbers) {
  std::vector<std::string> names;
  if (files_.list(names) != DiskStatus::ok) return false;
  numbers.clear();
  for (const std::string& name : names) {
    if (const auto number = binlog::binlog_file_number(name)) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return true;
}

// Opens the newest file, then the others from the oldest on, because that is removed first. Returns
// false if one of them is gone.
bool FolderSnapshot::open_kept() {
  File* before = nullptr;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    File& held = i == 0 ? kept_.back() : kept_[i - 1];
    const std::string name = binlog::binlog_file_name(held.number);
    Descriptor file = files_.open_file(name.c_str(), O_RDONLY | kOpenFlags);
    if (!file && errno == ENOENT) return false;
    if (!file && (errno == EMFILE || errno == ENFILE)) {
      // The rest is read by name, which needs one descriptor.
      if (before != nullptr) before->file = Descriptor();
      return true;
    }
    struct stat status {};
    const bool is_plain = file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode);
    if (is_plain) held.file = std::move(file);
    before = &held;
  }
  return true;
}

void FolderSnapshot::replace_names(std::vector<std::string>& names) const {
  std::erase_if(names, [](const std::string& name) { return binlog::binlog_file_number(name); });
  for (const File& file : kept_) names.push_back(binlog::binlog_file_name(file.number));
}

// Returns null if no such file is kept.
const FolderSnapshot::File* FolderSnapshot::kept_named(const std::string& name) const {
  const auto number = binlog::binlog_file_number(name);
  const auto file = std::find_if(kept_.begin(), kept_.end(),
                                 [number](const File& held) { return held.number == number; });
  return file == kept_.end() ? nullptr : &*file;
}

DiskStatus FolderSnapshot::read(const std::string& name, FileBytes& bytes) {
  if (!binlog::binlog_file_number(name)) return files_.read(name, bytes);
  const File* const file = kept_named(name);
  if (file == nullptr) return files_.fail(ENOENT, "read", name);
  if (!file->file) return files_.read(name, bytes);
  if (file != &kept_.back()) return files_.read_open(file->file.get(), bytes, name);
  if (!bytes.resize(newest_.size())) return files_.fail(ENOMEM, "read", name);
  const std::string_view kept = newest_.view();
  if (!kept.empty()) std::memcpy(bytes.data(), kept.data(), kept.size());
  return DiskStatus::ok;
}

DiskStatus FolderSnapshot::read_ends(const std::string& name, binlog::FileEnds& ends) {
  const File* const kept = kept_named(name);
  if (kept == nullptr || !kept->file) return files_.read_ends(name, ends);
  return files_.read_ends_open(kept->file.get(), ends, name);
}

}  // namespace haricot::os
