#include "haricot/binlog/folder_note.hpp"

#include "haricot/binlog/disk.hpp"

namespace haricot::binlog {

void NoteWriter::begin_run(std::uint64_t store_id, std::uint32_t run_before, std::uint32_t run) {
  note_.store_id = store_id;
  note_.run_before = run_before;
  note_.run = run;
}

void NoteWriter::write(const Files& files) {
  if (files.oldest_needed != 0) {
    note_.oldest_needed = static_cast<std::uint32_t>(files.oldest_needed);
  }
  disk_.write_note(note_);
}

void NoteWriter::set_read_files(const Files& files) {
  note_.newest = static_cast<std::uint32_t>(files.newest);
  note_.end = 0;
  note_.ids_end = files.next_id;
  write(files);
  disk_.sync_note();
}

void NoteWriter::set_safe_files(const Files& files, bool is_in_newest) {
  const auto newest = static_cast<std::uint32_t>(files.newest);
  const bool is_known = note_.run_before == note_.run &&
                        (note_.newest == newest || !is_in_newest) && files.next_id <= note_.ids_end;
  if (is_known) return;
  // From here on the newest file belongs to this run, and no other one can be the newest.
  note_.run_before = note_.run;
  if (is_in_newest) note_.newest = newest;
  note_.ids_end = files.next_id + ids_ahead_;
  write(files);
}

void NoteWriter::set_removal(std::uint64_t oldest_needed) {
  note_.oldest_needed = static_cast<std::uint32_t>(oldest_needed);
  disk_.write_note(note_);
}

void NoteWriter::set_clean_stop(const Files& files, std::uint64_t end_bytes, bool has_syncs) {
  // The next start replaces a file without a record.
  if (end_bytes > 0) {
    note_.newest = static_cast<std::uint32_t>(files.newest);
    note_.end = end_bytes;
  }
  note_.ids_end = files.next_id;
  write(files);
  if (has_syncs) disk_.sync_note();
}

}  // namespace haricot::binlog
