#include "haricot/binlog/write/stream_state.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/binlog/format/record.hpp"

namespace haricot::binlog {

// Progress ----------------------------------------------------------------------------------------

bool RecordProgress::prepare(std::uint32_t records) {
  constexpr std::size_t kAtLeast = 64;
  try {
    if (ids_at_risk_.capacity() - ids_at_risk_.size() < records) {
      ids_at_risk_.reserve(2 * ids_at_risk_.size() + std::max<std::size_t>(records, kAtLeast));
    }
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

void RecordProgress::count(JobId id) {
  ids_at_risk_.push_back(id);
  ++records_;
}

void RecordProgress::mark_safe(std::uint64_t records) {
  CHECK(records <= records_ && ids_at_risk_.size() <= records_);
  safe_ = std::max(safe_, records);
  const std::uint64_t before = records_ - ids_at_risk_.size();
  if (records > before) {
    ids_at_risk_.erase(ids_at_risk_.begin(),
                       ids_at_risk_.begin() + static_cast<std::ptrdiff_t>(records - before));
  }
}

void RecordProgress::begin_to_wait(Instant now) {
  unsynced_since_ = std::min(unsynced_since_, now);
}

void RecordProgress::request_sync() {
  CHECK(sync_requested_ <= written_);
  sync_requested_ = written_;
  unsynced_since_ = Instant::never();
}

void RecordProgress::end_sync(std::uint64_t covers) {
  synced_ = std::max(synced_, covers);
}

void RecordProgress::doubt_since(Instant oldest) {
  doubtful_since_ = std::min(doubtful_since_, oldest);
}

void RecordProgress::fail(Instant oldest) {
  doubtful_since_ = oldest;
  sync_requested_ = synced_;
  unsynced_since_ = Instant::never();
}

void RecordProgress::recover() {
  doubtful_since_ = Instant::never();
  written_ = synced_ = sync_requested_ = records_;
}

void RecordProgress::check_invariants() const {
  CHECK(safe_ <= records_);
  CHECK(synced_ <= records_ && written_ <= records_);
  CHECK(ids_at_risk_.size() <= records_);
}

// State -------------------------------------------------------------------------------------------

StreamState::StreamState(BinlogState& state, const StreamEvents& on_events)
    : binlog(state),
      events(on_events),
      note(state.disk, ids_of_a_file(state.options.file_bytes)),
      sync_line(state.disk) {}

std::uint64_t StreamState::oldest_needed() const {
  const Segments& segments = *binlog.segments;
  if (segments.empty()) return 0;
  // The oldest file is being removed.
  std::size_t index = sync_line.has_removal() && segments.size() > 1 ? 1 : 0;
  while (index + 1 < segments.size() && segments.at(index).was_passed_over) ++index;
  return segments.at(index).number;
}

NoteWriter::Files StreamState::noted_files() const {
  const Segments& segments = *binlog.segments;
  return {.oldest_needed = oldest_needed(),
          .newest = segments.empty() ? 0 : segments.newest().number,
          .next_id = binlog.engine->next_id()};
}

Instant StreamState::oldest_unsynced() const {
  return std::min({progress.unsynced_since(), sync_line.oldest(), progress.doubtful_since()});
}

// Refusal -----------------------------------------------------------------------------------------

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
