#include "haricot/binlog/write/sync_line.hpp"

#include <algorithm>
#include <utility>

#include "haricot/base/check.hpp"

namespace haricot::binlog {
namespace {

// Few, so that a line that is abandoned soon has none under way; more than one, so that the disk
// need not wait for a turn.
constexpr std::uint64_t kUnderWayMax = 2;
static_assert(kUnderWayMax <= Disk::kSyncsUnderWayMax);
static_assert(SyncLine::kLengthMax > kUnderWayMax);

}  // namespace

void SyncLine::push(const Entry& pushed) {
  CHECK(length() < entries_.size());
  entry(end_++) = pushed;
  if (pushed.close_after) ++files_to_close_;
  start_some();
}

void SyncLine::sync_file(FileHandle file, std::uint64_t covers, bool close_after, Instant oldest) {
  push(Entry{.file = file, .covers = covers, .oldest = oldest, .close_after = close_after});
}

void SyncLine::sync_folder() {
  // A sync that has not begun covers this request as well, and ends sooner.
  for (std::uint64_t number = started_; number < end_; ++number) {
    if (entry(number).file == FileHandle::none && !entry(number).is_removal) return;
  }
  push(Entry{});
}

// In a long line a removal would take effect only after all entries ahead of it, and files would be
// begun faster than they are removed.
std::uint64_t SyncLine::sync_folder_first() {
  const bool is_next =
      started_ < end_ && entry(started_).file == FileHandle::none && !entry(started_).is_removal;
  if (is_next) return started_ + 1;
  const std::uint64_t index = started_;
  put_first(Entry{});
  return index + 1;
}

void SyncLine::remove_first(const std::string& name, bool sync) {
  to_remove_ = name;
  has_removal_ = true;
  put_first(Entry{.is_removal = true, .syncs_removal = sync});
}

void SyncLine::put_first(const Entry& first) {
  CHECK(length() < entries_.size());
  for (std::uint64_t number = end_++; number > started_; --number) {
    entry(number) = entry(number - 1);
  }
  entry(started_) = first;
  start_some();
}

void SyncLine::start_some() {
  while (started_ < end_ && started_ - begin_ < kUnderWayMax) {
    const Entry& next = entry(started_);
    if (next.is_removal) {
      disk_.start_remove(to_remove_, next.syncs_removal, started_);
    } else {
      disk_.start_sync(next.file, started_);
    }
    ++started_;
  }
}

void SyncLine::close(FileHandle file) {
  for (std::uint64_t number = end_; number > begin_; --number) {
    if (entry(number - 1).file != file) continue;
    if (!entry(number - 1).close_after) ++files_to_close_;
    entry(number - 1).close_after = true;
    return;
  }
  disk_.close(file);
}

void SyncLine::close_now(FileHandle file) {
  CHECK(files_to_close_ > 0);
  --files_to_close_;
  disk_.close(file);
}

bool SyncLine::next_ended(Ended& result) {
  SyncDone done;
  // Also if none is under way: the disk may have to learn that all results were taken out.
  while (disk_.next_sync_done(done)) {
    CHECK(begin_ < started_ && done.ticket == begin_);
    const Entry ended = entry(begin_++);
    if (ended.close_after) close_now(ended.file);
    if (ended.is_forgotten) {
      start_some();
      continue;
    }
    if (ended.is_removal) has_removal_ = false;
    result = {.status = done.status,
              .covers = ended.covers,
              .is_removal = ended.is_removal,
              .removal = done.removal};
    if (done.status == DiskStatus::ok) {
      start_some();
    } else {
      result.oldest = std::min(ended.oldest, oldest());
      abandon();
    }
    return true;
  }
  return false;
}

Instant SyncLine::oldest() const {
  Instant oldest = Instant::never();
  for (std::uint64_t number = begin_; number < end_; ++number) {
    if (!entry(number).is_forgotten) oldest = std::min(oldest, entry(number).oldest);
  }
  return oldest;
}

bool SyncLine::has_sync_of_file() const {
  for (std::uint64_t number = begin_; number < end_; ++number) {
    if (entry(number).covers > 0 && !entry(number).is_forgotten) return true;
  }
  return false;
}

void SyncLine::abandon() {
  has_removal_ = false;
  const std::uint64_t end = std::exchange(end_, started_);
  for (std::uint64_t number = begin_; number < started_; ++number) {
    entry(number).is_forgotten = true;
  }
  for (std::uint64_t number = started_; number < end; ++number) {
    if (!entry(number).close_after) continue;
    CHECK(files_to_close_ > 0);
    --files_to_close_;  // Unless another sync of it is under way, whose end closes it.
    close(entry(number).file);
  }
}

}  // namespace haricot::binlog
