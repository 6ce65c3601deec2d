#include "haricot/binlog/write/file_sequence.hpp"

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include "haricot/base/check.hpp"
#include "haricot/binlog/format/file_identity.hpp"

namespace haricot::binlog {

void FileSequence::start_from(const Start& start) {
  start_ = start;
  next_number_ = start.number;
  if (start.is_unsure) unsure_number_ = start.number;
}

// Begin -------------------------------------------------------------------------------------------

// The file is renamed after its signature was written, so that no reader finds a file that does not
// identify itself; the folder's sync is in line ahead of the sync of the first records.
FileSequence::Begun FileSequence::begin(const NewFile& file) {
  CHECK(!stream_.writer.is_open());
  std::string from;
  std::string to;
  try {
    from = spare_name(file.number);
    to = binlog_file_name(next_number_);
    state_.segments->add(next_number_).bytes = file.allocated;
  } catch (const std::bad_alloc&) {
    refusal_.begin(DiskStatus::full, "begin a file", "there is no memory");
    return Begun::not_tried;
  }
  const DiskStatus status = write_head(file, from, to);
  if (status != DiskStatus::ok) return give_up(file, to, status);
  syncs_.begin_file(!has_begun_);
  has_begun_ = true;
  state_.check_files_at = state_.now;
  ++next_number_;
  // seal() syncs the folder, after the file before.
  if (state_.has_syncs() && file.after == nullptr) stream_.sync_line.sync_folder();
  return Begun::yes;
}

DiskStatus FileSequence::write_head(const NewFile& file, const std::string& from,
                                    const std::string& to) {
  const DiskStatus status = stream_.writer.begin(
      state_.disk, file.file, signature_of_next(file.after), file.allocated, file.first);
  return status == DiskStatus::ok ? state_.disk.rename(from, to) : status;
}

// `name`: its name if it was renamed.
FileSequence::Begun FileSequence::give_up(const NewFile& file, const std::string& name,
                                          DiskStatus status) {
  unsure_number_ = next_number_;
  unsure_bytes_ = file.allocated;
  const bool was_written = stream_.writer.is_open();
  if (was_written) stream_.writer.abandon();
  state_.segments->remove_newest();
  refusal_.begin(status, "begin a file");
  if (state_.is_fenced()) {
    // The name may belong to a file of another server.
    ++next_number_;
    return Begun::failed;
  }
  // A failed rename may have taken effect all the same. No file that was begun has ever had that
  // name.
  const bool is_renamed = was_written && state_.disk.remove(name) == DiskStatus::ok;
  return is_renamed ? Begun::gone : Begun::failed;
}

// Requires: the next file is among the segments.
Signature FileSequence::signature_of_next(const SegmentWriter::Ending* after) const {
  const FolderNote& note = stream_.note.note();
  const Segments& segments = *state_.segments;
  Signature signature;
  signature.salt = salt_of(note.store_id, next_number_);
  signature.next_id = state_.engine->next_id();
  signature.file_number = next_number_;
  signature.store_id = note.store_id;
  signature.run = note.run;
  signature.epoch = state_.epoch;
  signature.records_lost = start_.records_lost;
  signature.oldest_needed = static_cast<std::uint32_t>(stream_.oldest_needed());
  const std::size_t files = segments.size();
  if (files > 1) {
    signature.previous_number = static_cast<std::uint32_t>(segments.at(files - 2).number);
  }
  // After a failure the end of the file before is in doubt.
  std::optional<WrittenPoint> previous;
  if (after != nullptr) {
    previous = after->end;
  } else if (!refusal_.is_on() && start_.previous_number == signature.previous_number) {
    previous = start_.previous;
  }
  if (previous) {
    signature.previous_bytes = previous->bytes;
    signature.previous_records = previous->records;
    signature.previous_digest = previous->digest;
  }
  return signature;
}

void FileSequence::resume(const ContinuedFile& file) {
  Segment& newest = state_.segments->newest();
  CHECK(!has_begun_ && newest.number == file.identity.number);
  stream_.writer.resume(file);
  has_begun_ = true;
  newest.bytes = file.allocated;
  syncs_.resume_file(file.end.bytes);
  state_.check_files_at = state_.now;
}

// End ---------------------------------------------------------------------------------------------

std::optional<SegmentWriter::Ending> FileSequence::end() {
  records_.flush();
  if (!stream_.writer.is_open()) return std::nullopt;
  const SegmentWriter::Ending ending = stream_.writer.take_ending(false, stream_.oldest_needed());
  state_.segments->newest().bytes = ending.end.bytes;
  syncs_.mark_file_written();
  return ending;
}

bool FileSequence::seal(const SegmentWriter::Ending& ending, bool is_begun) {
  if (!is_begun) {
    stream_.sync_line.close(ending.file);
    return false;
  }
  const DiskStatus status = SegmentWriter::seal(state_.disk, ending);
  if (status == DiskStatus::ok) {
    syncs_.request_of_ended(ending.file);
    if (state_.has_syncs()) stream_.sync_line.sync_folder();
    return true;
  }
  Segments& segments = *state_.segments;
  CHECK(segments.size() > 1);
  segments.cut_later(segments.at(segments.size() - 2), ending.end.bytes - kShortRecordBytes);
  refusal_.begin(status, "write");
  stream_.sync_line.close(ending.file);
  return false;
}

WrittenPoint FileSequence::end_cleanly() {
  const SegmentWriter::Ending ending = stream_.writer.take_ending(true, stream_.oldest_needed());
  const DiskStatus status = SegmentWriter::seal(state_.disk, ending);
  if (status != DiskStatus::ok) {
    refusal_.begin(status, "write");
    stream_.sync_line.close(ending.file);
  } else if (state_.has_syncs()) {
    stream_.sync_line.sync_file(ending.file, stream_.progress.records(), true);
    stream_.sync_line.sync_folder();
  } else {
    state_.disk.close(ending.file);
  }
  return ending.end;
}

// After a failure ---------------------------------------------------------------------------------

bool FileSequence::take_up_unsure_file() {
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

// A partial record or seal would be reported as damage when other files follow. Nothing is lost if
// the bytes stay, so a failure does no harm, and no sync is waited for: a file must not be closed
// while its sync is under way.
void FileSequence::cut_back() {
  Segments& segments = *state_.segments;
  if (!segments.has_to_cut() || stream_.sync_line.length() > 0 || state_.is_fenced()) return;
  segments.begin_to_cut();
  for (std::size_t i = 0; i < segments.size(); ++i) {
    Segment& segment = segments.at(i);
    if (segment.cut_to == 0 || segment.is_gone || segment.has_to_be_kept) continue;
    const std::uint64_t bytes = std::exchange(segment.cut_to, 0);
    if (!truncate(segment, bytes)) segments.cut_later(segment, bytes);
  }
}

bool FileSequence::truncate(const Segment& segment, std::uint64_t bytes) {
  FileHandle file = FileHandle::none;
  try {
    const std::string name = binlog_file_name(segment.number);
    if (state_.disk.open_existing(name, file) != DiskStatus::ok) return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
  const bool is_cut = state_.disk.truncate(file, bytes) == DiskStatus::ok;
  state_.disk.close(file);
  return is_cut;
}

}  // namespace haricot::binlog
