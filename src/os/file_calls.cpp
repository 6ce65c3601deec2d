#include "os/file_calls.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <new>

#include "haricot/base/check.hpp"

namespace haricot::os {
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

}  // namespace haricot::os
