#include "os/folder_fence.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "haricot/base/check.hpp"
#include "haricot/base/crc32c.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/format/record.hpp"
#include "haricot/binlog/read/replay.hpp"
#include "os/clock.hpp"
#include "os/descriptor.hpp"
#include "os/folder_files.hpp"

namespace haricot::os {
namespace {

// O_DIRECT requires a whole, aligned page.
constexpr std::size_t kPageBytes = 4096;
struct alignas(kPageBytes) Page {
  std::array<char, kPageBytes> bytes{};
};

constexpr std::chrono::milliseconds kPauseBetweenTries{50};

struct Epoch {
  std::uint32_t number = 0;
  std::uint64_t owner = 0;
  bool operator==(const Epoch&) const = default;
};

// Returns a line of hexadecimal digits with a checksum at its end, followed by zeros.
Page page_of(const Epoch& epoch) {
  Page page;
  const int length =
      std::snprintf(page.bytes.data(), kPageBytes, "haricot epoch %08" PRIx32 " owner %016" PRIx64,
                    epoch.number, epoch.owner);
  CHECK(length > 0);
  const auto bytes = static_cast<std::size_t>(length);
  const std::uint32_t sum = crc32c(0, std::string_view(page.bytes.data(), bytes));
  std::snprintf(page.bytes.data() + bytes, kPageBytes - bytes, " %08" PRIx32 "\n", sum);
  return page;
}

std::optional<Epoch> epoch_in(const Page& page) {
  Epoch epoch;
  // The text in the page may have no end.
  std::array<char, 64> text{};
  std::memcpy(text.data(), page.bytes.data(), text.size() - 1);
  const int values = std::sscanf(text.data(), "haricot epoch %8" SCNx32 " owner %16" SCNx64,
                                 &epoch.number, &epoch.owner);
  if (values != 2 || page_of(epoch).bytes != page.bytes) return std::nullopt;
  return epoch;
}

// Returns 0 or an errno. Opens the file again each time, and bypasses the caches of this machine if
// possible, so that the bytes are those of the volume.
int read_page(int folder, Page& page) {
  for (const int direct : {O_DIRECT, 0}) {
    const Descriptor file(::openat(folder, kEpochFileName.data(), O_RDONLY | kOpenFlags | direct));
    if (!file && direct != 0 && errno == EINVAL) continue;
    if (!file) return errno;
    ssize_t count = 0;
    do {
      count = ::pread(file.get(), page.bytes.data(), kPageBytes, 0);
    } while (count < 0 && errno == EINTR);
    if (count < 0 && direct != 0 && errno == EINVAL) continue;
    if (count < 0) return errno;
    std::fill(page.bytes.begin() + count, page.bytes.end(), '\0');
    return 0;
  }
  return EIO;
}

int write_page(int folder, const Page& page) {
  const Descriptor file(
      ::openat(folder, kEpochFileName.data(), O_WRONLY | O_CREAT | kOpenFlags, kFileMode));
  if (!file) return errno;
  const std::string_view bytes(page.bytes.data(), kPageBytes);
  if (const int error = write_all(file.get(), 0, std::span(&bytes, 1)); error != 0) return error;
  // fsync, because a new file has a new length, and the folder has its name.
  return ::fsync(file.get()) == 0 && ::fsync(folder) == 0 ? 0 : errno;
}

// Finds the highest epoch in the signatures of the files, because the file `epoch` may be lost.
int highest_in_files(int folder, std::uint32_t& highest) {
  std::vector<std::string> names;
  Descriptor listed(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (const int error = list_names(std::move(listed), names); error != 0) return error;
  for (const std::string& name : names) {
    if (!binlog::binlog_file_number(name)) continue;
    std::array<char, binlog::kFirstRecordOffset> head{};
    const Descriptor file(::openat(folder, name.c_str(), O_RDONLY | kOpenFlags));
    if (!file ||
        ::pread(file.get(), head.data(), head.size(), 0) != static_cast<ssize_t>(head.size())) {
      continue;  // Replay reports the defect.
    }
    const std::string_view bytes(head.data(), head.size());
    const auto signature = binlog::read_signature(bytes.substr(binlog::kVersionBytes));
    if (signature) highest = std::max(highest, signature->epoch);
  }
  return 0;
}

std::string because(const char* doing, int error) {
  return std::string("cannot ") + doing + ": " + reason_of(error);
}

}  // namespace

FolderFence::Begun FolderFence::begin(int folder, int lock, std::uint64_t owner, Watcher watcher,
                                      std::string& error) {
  folder_ = folder;
  lock_ = lock;
  owner_ = owner;
  Page page;
  const int read = read_page(folder, page);
  if (read != 0 && read != ENOENT) {
    error = because("read the file epoch", read);
    return Begun::failed;
  }
  std::uint32_t before = 0;
  if (read == 0) before = epoch_in(page).value_or(Epoch{}).number;
  if (const int failed = highest_in_files(folder, before); failed != 0) {
    error = because("read the folder", failed);
    return Begun::failed;
  }
  if (before >= binlog::kEpochLast - 1) {
    error = "the folder has no epoch left; `haricot binlog copy` writes the jobs to a new one";
    return Begun::failed;
  }
  epoch_ = binlog::epoch_after(before);
  if (const int failed = write_page(folder, page_of({epoch_, owner_})); failed != 0) {
    error = because("write the file epoch", failed);
    return Begun::failed;
  }
  const std::int64_t until = read_boot_clock() + settle_.count();
  while (read_boot_clock() < until) {
    if (watcher.function != nullptr && !watcher.function(watcher.context)) return Begun::stopped;
    std::this_thread::sleep_for(kPauseBetweenTries);
  }
  if (check(watcher)) return Begun::yes;
  return is_fenced_ ? Begun::fenced : Begun::stopped;
}

// Found::failed may pass: a volume that is cut off, or a page that is half written.
FolderFence::Found FolderFence::check_ownership(std::string& why) const {
  // The process that holds the lock gets it again. So does one whose volume has dropped the lock,
  // unless another process has taken it.
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (::fcntl(lock_, F_SETLK, &whole) != 0) {
    if (errno == EACCES || errno == EAGAIN) {
      why = "another server has the lock of the folder";
      return Found::fenced;
    }
    why = because("take the lock of the folder again", errno);
    return Found::failed;
  }
  Page page;
  if (const int error = read_page(folder_, page); error != 0) {
    why = because("read the file epoch", error);
    return Found::failed;
  }
  const auto found = epoch_in(page);
  if (!found) {
    why = "the file epoch is malformed";
    return Found::failed;
  }
  if (*found == Epoch{epoch_, owner_}) return Found::good;
  why = "another server has opened the folder: its epoch is " + std::to_string(found->number) +
        ", and ours is " + std::to_string(epoch_);
  return Found::fenced;
}

bool FolderFence::check(Watcher watcher) {
  begin_work();
  while (!is_fenced_) {
    const std::int64_t now = read_boot_clock();
    std::string why;
    switch (check_ownership(why)) {
      case Found::good:
        if (is_fenced_) return false;
        good_at_ = now;
        set_failure({});
        end_work();
        return true;
      case Found::fenced:
        give_up(Cause::another_server, std::move(why));
        return false;
      case Found::failed:
        set_failure(std::move(why));
        break;
    }
    fence_if_stuck();
    if (watcher.function != nullptr && !watcher.function(watcher.context)) return false;
    std::this_thread::sleep_for(kPauseBetweenTries);
  }
  return false;
}

bool FolderFence::is_fresh() const {
  const std::int64_t good_at = good_at_;
  return good_at != kNever && read_boot_clock() - good_at <= kCheckIsGoodFor.count();
}

void FolderFence::give_up(Cause cause, std::string why) {
  const std::lock_guard lock(mutex_);
  if (is_fenced_) return;
  cause_ = cause;
  why_ = std::move(why);
  is_fenced_ = true;
}

std::string FolderFence::why() const {
  const std::lock_guard lock(mutex_);
  return why_;
}

FolderFence::Cause FolderFence::cause() const {
  const std::lock_guard lock(mutex_);
  return cause_;
}

std::string FolderFence::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void FolderFence::set_failure(std::string why) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(why);
}

void FolderFence::begin_work() {
  if (busy_since_ == kNever) busy_since_ = read_boot_clock();
}

void FolderFence::fence_if_stuck() {
  const std::int64_t since = busy_since_;
  if (since == kNever || read_boot_clock() - since <= patience_.count()) return;
  std::string why = failure();
  if (why.empty()) {
    why = "the volume has not answered for " + std::to_string(patience_.count() / 1'000'000'000) +
          " s";
  }
  give_up(Cause::volume, std::move(why));
}

}  // namespace haricot::os
