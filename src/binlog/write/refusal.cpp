#include "haricot/binlog/write/refusal.hpp"

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

namespace haricot::binlog {

// After a failed write the bytes after the last good one are undefined, and after a failed sync the
// bytes on the disk are: the kernel may have dropped pages, and a later sync may succeed. So the
// file is truncated to the written part, and not written to any more.
void Refusal::begin(DiskStatus status, std::string_view doing, std::string_view why,
                    Notice::Kind kind) noexcept {
  std::string reason;
  try {
    reason = why.empty() ? state_.disk.last_error() : std::string(why);
  } catch (const std::bad_alloc&) {
    reason.clear();
  }
  state_.notices.count_error();
  const bool was_refusing = std::exchange(is_on_, true);
  is_for_space_ = status == DiskStatus::full;
  DiskSpace space;
  RecordProgress& progress = stream_.progress;
  if (was_refusing) {
    progress.mark_doubtful();
    if (!state_.disk.space(space)) space.free_bytes = 0;
  }
  Instant oldest = stream_.oldest_unsynced();
  if (state_.has_syncs() && progress.records() > progress.synced()) {
    oldest = std::min(oldest, state_.now);  // It may not even be written.
  }
  stream_.sync_line.abandon();
  progress.fail(oldest);
  release_file();
  stream_.events.failed(stream_.events.object, {status, was_refusing, space.free_bytes});
  try {
    why_ = reason;
    report(doing, reason, kind);
  } catch (const std::bad_alloc&) {
    // The numbers in `stats` report it all the same.
  }
}

void Refusal::report(std::string_view doing, const std::string& why, Notice::Kind kind) {
  const auto subject =
      kind == Notice::Kind::gone ? Notices::Subject::gone : Notices::Subject::failure;
  const Notice notice{.kind = kind, .doing = std::string(doing), .error = why};
  if (state_.notices.report_at_times(subject, notice, state_.now)) {
    state_.notices.begin(Notices::Subject::failure);
  }
}

void Refusal::release_file() noexcept {
  SegmentWriter& writer = stream_.writer;
  if (!writer.is_open()) return;
  Segments& segments = *state_.segments;
  const std::uint64_t bytes = writer.written().bytes;
  const FileHandle file = writer.abandon();
  // Another server may have read bytes that were written without an answer.
  const bool has_to_cut = !state_.is_fenced();
  const bool is_cut = has_to_cut && state_.disk.truncate(file, bytes) == DiskStatus::ok;
  if (!segments.empty()) segments.newest().bytes = bytes;
  if (!segments.empty() && has_to_cut && !is_cut) segments.cut_later(segments.newest(), bytes);
  stream_.sync_line.close(file);
}

void Refusal::end() {
  is_on_ = false;
  is_for_space_ = false;
  stream_.progress.recover();
}

}  // namespace haricot::binlog
