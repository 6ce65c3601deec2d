// The note of the folder: what the server tells of its files outside of them.
//
// A note must never be ahead of the disk, or a crash would leave one that misses files. So a file
// is noted when its first records are safe, and a removal before it begins.

#include <algorithm>

#include "haricot/binlog/binlog.hpp"

namespace haricot::binlog {

void Binlog::write_note() {
  if (!segments_->empty()) note_.oldest_needed = static_cast<std::uint32_t>(oldest_needed());
  disk_.write_note(note_);
}

// At a start, durably: nothing is recorded before.
void Binlog::note_what_was_read() {
  note_.newest = 0;
  note_.end = 0;
  for (const FileReport& file : report_.files) {
    if (file.records == 0) continue;
    note_.newest = std::max(note_.newest, static_cast<std::uint32_t>(file.written_as));
  }
  note_.ids_end = engine_->next_id();
  write_note();
  disk_.sync_note();
}

// Everything up to that record is safe.
void Binlog::note_what_is_safe(std::uint64_t records) {
  if (records == 0) return;
  const auto newest = static_cast<std::uint32_t>(segments_->newest().number);
  const bool is_in_newest = records > records_before_newest_;
  const bool is_known = note_.run_before == note_.run &&
                        (note_.newest == newest || !is_in_newest) &&
                        engine_->next_id() <= note_.ids_end;
  if (is_known) return;
  // From here on the newest file is one of this run, and no other can be.
  note_.run_before = note_.run;
  if (is_in_newest) note_.newest = newest;
  note_.ids_end = engine_->next_id() + ids_of_a_file(options_.file_bytes);
  write_note();
}

// On a full disk no record tells that the oldest file is not needed: see note_oldest_needed().
// Requires: it is about to be removed, and nothing of it is needed.
void Binlog::note_removal() {
  note_.oldest_needed = static_cast<std::uint32_t>(segments_->at(1).number);
  disk_.write_note(note_);
}

// The file that was written last ended there, and all of it is safe.
void Binlog::note_clean_stop(const WrittenPoint& end) {
  // The next start replaces a file without a record.
  if (end.records > 0) {
    note_.newest = static_cast<std::uint32_t>(segments_->newest().number);
    note_.end = end.bytes;
  }
  note_.ids_end = engine_->next_id();
  write_note();
  if (options_.sync != SyncPolicy::never) disk_.sync_note();
}

}  // namespace haricot::binlog
