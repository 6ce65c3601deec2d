// The sequence of files on the stream of records, and the release of a file that fails.

#include <algorithm>
#include <cstddef>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "haricot/base/check.hpp"
#include "haricot/binlog/format/file_name.hpp"
#include "haricot/binlog/write/record_stream.hpp"

namespace haricot::binlog {

std::uint64_t RecordStream::oldest_needed() const {
  const Segments& segments = *state_.segments;
  if (segments.empty()) return 0;
  // The oldest file is being removed.
  std::size_t index = syncs_.has_removal() && segments.size() > 1 ? 1 : 0;
  while (index + 1 < segments.size() && segments.at(index).was_passed_over) ++index;
  return segments.at(index).number;
}

std::optional<SegmentWriter::Ending> RecordStream::end_file() {
  flush();
  if (!writer_.is_open()) return std::nullopt;
  const SegmentWriter::Ending ending = writer_.take_ending(false, oldest_needed());
  has_to_seal_ = true;
  previous_ = ending.end;
  previous_number_ = state_.segments->newest().number;
  state_.segments->newest().bytes = ending.end.bytes;
  if (!state_.has_syncs() && !refusing_) mark_safe(records_);
  if (!refusing_) {
    written_records_ = records_;
    if (state_.options.sync == SyncPolicy::interval) safe_records_ = records_;
  }
  return ending;
}

bool RecordStream::seal(const SegmentWriter::Ending& ending, bool is_begun) {
  has_to_seal_ = false;
  if (!is_begun) {
    syncs_.close(ending.file);
    return false;
  }
  const DiskStatus status = SegmentWriter::seal(state_.disk, ending);
  if (status == DiskStatus::ok) {
    sync_ended_file(ending.file);
    if (state_.has_syncs()) syncs_.sync_folder();
    return true;
  }
  Segments& segments = *state_.segments;
  CHECK(segments.size() > 1);
  cut_later(segments.at(segments.size() - 2), ending.end.bytes - kShortRecordBytes);
  fail(status, "write");
  syncs_.close(ending.file);
  return false;
}

// Requests the last sync of a file, when all its records and its seal are written.
void RecordStream::sync_ended_file(FileHandle file) {
  if (!state_.has_syncs()) {
    state_.disk.close(file);
    return;
  }
  // Records that were in doubt are safe only when all of them are written again.
  syncs_.sync_file(file, refusing_ ? 0 : records_, true,
                   refusing_ ? Instant::never() : unsynced_since_);
  if (refusing_) return;
  sync_requested_ = records_;
  durable_when_synced_ = 0;
  unsynced_since_ = Instant::never();
}

WrittenPoint RecordStream::end_cleanly() {
  const SegmentWriter::Ending ending = writer_.take_ending(true, oldest_needed());
  const DiskStatus status = SegmentWriter::seal(state_.disk, ending);
  if (status != DiskStatus::ok) {
    fail(status, "write");
    syncs_.close(ending.file);
  } else if (state_.has_syncs()) {
    syncs_.sync_file(ending.file, records_, true);
    syncs_.sync_folder();
  } else {
    state_.disk.close(ending.file);
  }
  return ending.end;
}

Signature RecordStream::signature_of(std::uint64_t number) const {
  const FolderNote& note = note_.note();
  const Segments& segments = *state_.segments;
  Signature signature;
  signature.salt = salt_of(note.store_id, number);
  signature.next_id = state_.engine->next_id();
  signature.file_number = number;
  signature.store_id = note.store_id;
  signature.run = note.run;
  signature.epoch = state_.epoch;
  signature.records_lost = records_lost_;
  signature.oldest_needed = static_cast<std::uint32_t>(oldest_needed());
  const std::size_t files = segments.size();
  if (files > 1) {
    signature.previous_number = static_cast<std::uint32_t>(segments.at(files - 2).number);
  }
  if (previous_ && previous_number_ == signature.previous_number) {
    signature.previous_bytes = previous_->bytes;
    signature.previous_records = previous_->records;
    signature.previous_digest = previous_->digest;
  }
  return signature;
}

DiskStatus RecordStream::write_head(const NewFile& file, const std::string& from,
                                    const std::string& to) {
  const Signature signature = signature_of(next_file_number_);
  const DiskStatus status =
      writer_.begin(state_.disk, file.file, signature, file.allocated, file.first);
  return status == DiskStatus::ok ? state_.disk.rename(from, to) : status;
}

// The file is renamed after its signature was written, so that no reader finds a file that does not
// identify itself; the folder's sync is in line ahead of the sync of the first records.
RecordStream::Begun RecordStream::begin_file(const NewFile& file) {
  CHECK(!writer_.is_open());
  std::string from;
  std::string to;
  try {
    from = spare_name(file.number);
    to = binlog_file_name(next_file_number_);
    state_.segments->add(next_file_number_).bytes = file.allocated;
  } catch (const std::bad_alloc&) {
    fail(DiskStatus::full, "begin a file", "there is no memory");
    return Begun::not_tried;
  }
  const DiskStatus status = write_head(file, from, to);
  if (status != DiskStatus::ok) {
    unsure_number_ = next_file_number_;
    unsure_bytes_ = file.allocated;
    const bool was_written = writer_.is_open();
    if (was_written) writer_.abandon();
    state_.segments->remove_newest();
    fail(status, "begin a file");
    if (state_.is_fenced()) {
      // The name may belong to a file of another server.
      ++next_file_number_;
      return Begun::failed;
    }
    // A failed rename may have taken effect all the same. No file that was begun has ever had that
    // name.
    const bool is_renamed = was_written && state_.disk.remove(to) == DiskStatus::ok;
    return is_renamed ? Begun::gone : Begun::failed;
  }
  // The start has synced the files that it read. Otherwise the file before is not durable yet, and
  // no sync under way covers a byte of this one.
  const bool is_first = !has_begun_;
  has_begun_ = true;
  durable_when_synced_.reset();
  if (is_first && state_.has_syncs()) writer_.set_durable(0);
  records_before_newest_ = records_;
  state_.look_for_files_at = state_.now;
  ++next_file_number_;
  // The sync of the folder comes after the sync of the file before.
  if (state_.has_syncs() && !has_to_seal_) syncs_.sync_folder();
  return Begun::yes;
}

void RecordStream::resume_file(const ContinuedFile& file) {
  CHECK(!has_begun_ && state_.segments->newest().number == file.identity.number);
  writer_.resume(file);
  has_begun_ = true;
  state_.segments->newest().bytes = file.allocated;
  if (state_.has_syncs()) writer_.set_durable(file.end.bytes);
  state_.look_for_files_at = state_.now;
}

bool RecordStream::take_up_unsure_file() {
  if (!state_.is_fenced() || unsure_number_ == 0) return true;
  try {
    std::vector<std::string> names;
    if (state_.disk.list(names) != DiskStatus::ok) return false;
    const std::string name = binlog_file_name(unsure_number_);
    const bool is_there = std::find(names.begin(), names.end(), name) != names.end();
    if (is_there) state_.segments->add(unsure_number_).bytes = unsure_bytes_;
  } catch (const std::bad_alloc&) {
    return false;
  }
  unsure_number_ = 0;
  return true;
}

// After a failed write the bytes after the last good one are undefined, and after a failed sync the
// bytes on the disk are: the kernel may have dropped pages, and a later sync may succeed. So the
// file is truncated to the written part, and not written to any more.
void RecordStream::fail(DiskStatus status, std::string_view doing, std::string_view why,
                        Notice::Kind kind) noexcept {
  std::string reason;
  try {
    reason = why.empty() ? state_.disk.last_error() : std::string(why);
  } catch (const std::bad_alloc&) {
    reason.clear();
  }
  state_.notices.count_error();
  const bool was_refusing = std::exchange(refusing_, true);
  refusing_for_space_ = status == DiskStatus::full;
  DiskSpace space;
  if (was_refusing) {
    doubtful_records_ = records_;
    if (!state_.disk.space(space)) space.free_bytes = 0;
  }
  doubtful_since_ = oldest_unsynced();
  if (state_.has_syncs() && records_ > synced_records_) {
    doubtful_since_ = std::min(doubtful_since_, state_.now);  // It may not even be written.
  }
  syncs_.abandon();
  sync_requested_ = synced_records_;
  unsynced_since_ = Instant::never();
  let_go_of_file();
  previous_.reset();
  events_.failed(events_.object, {status, was_refusing, space.free_bytes});
  try {
    last_failure_ = reason;
    const auto subject =
        kind == Notice::Kind::gone ? Notices::Subject::gone : Notices::Subject::failure;
    const Notice notice{.kind = kind, .doing = std::string(doing), .error = reason};
    if (state_.notices.report_at_times(subject, notice, state_.now)) {
      state_.notices.begin(Notices::Subject::failure);
    }
  } catch (const std::bad_alloc&) {
    // The numbers in `stats` report it all the same.
  }
}

void RecordStream::let_go_of_file() noexcept {
  if (!writer_.is_open()) return;
  const std::uint64_t bytes = writer_.written().bytes;
  const FileHandle file = writer_.abandon();
  // Another server may have read bytes that were written without an answer.
  const bool has_to_cut = !state_.is_fenced();
  const bool is_cut = has_to_cut && state_.disk.truncate(file, bytes) == DiskStatus::ok;
  if (!state_.segments->empty()) state_.segments->newest().bytes = bytes;
  if (!state_.segments->empty() && has_to_cut && !is_cut)
    cut_later(state_.segments->newest(), bytes);
  syncs_.close(file);
}

void RecordStream::cut_later(Segment& segment, std::uint64_t bytes) {
  segment.cut_to = bytes;
  has_to_cut_ = true;
}

// Truncates files whose partial record or seal would be reported as damage when other files follow.
// Nothing is lost if the bytes stay, so a failure does no harm, and no sync is waited for: a file
// must not be closed while its sync is under way.
void RecordStream::cut_files_back() {
  if (!has_to_cut_ || syncs_.length() > 0 || state_.is_fenced()) return;
  has_to_cut_ = false;
  Segments& segments = *state_.segments;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    Segment& segment = segments.at(i);
    if (segment.cut_to == 0 || segment.is_gone || segment.has_to_be_kept) continue;
    if (cut_back(segment)) {
      segment.cut_to = 0;
    } else {
      has_to_cut_ = true;
    }
  }
}

bool RecordStream::cut_back(const Segment& segment) {
  FileHandle file = FileHandle::none;
  try {
    const std::string name = binlog_file_name(segment.name_number);
    if (state_.disk.open_existing(name, file) != DiskStatus::ok) return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
  const bool is_cut = state_.disk.truncate(file, segment.cut_to) == DiskStatus::ok;
  state_.disk.close(file);
  return is_cut;
}

}  // namespace haricot::binlog
