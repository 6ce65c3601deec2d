// The note of the folder in its file `lock`: what the server tells of its files outside of them.
//
// A note must never be ahead of the disk, or a note that misses files could be left after a crash.
// So a new file is noted when its first records are safe, and a removal is noted before it begins.

#pragma once

#include <cstdint>

#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/format/folder_note.hpp"
#include "haricot/queue/job.hpp"

namespace haricot::binlog {

class NoteWriter {
 public:
  // The disk outlives this. `ids_ahead`: so many ids more than were given out are noted as given
  // out, so that not each of them needs a note.
  NoteWriter(Disk& disk, std::uint64_t ids_ahead) : disk_(disk), ids_ahead_(ids_ahead) {}
  NoteWriter(const NoteWriter&) = delete;
  NoteWriter& operator=(const NoteWriter&) = delete;

  // What the note was when the folder was opened, and what was last written.
  void set(const FolderNote& note) { note_ = note; }
  const FolderNote& note() const { return note_; }

  // The run of this server begins. Writes nothing yet.
  void begin_run(std::uint64_t store_id, std::uint32_t run_before, std::uint32_t run);

  // The files as they are. `oldest_needed`: the first file that the next start has to find; 0 where
  // there is none, which leaves what was noted.
  struct Files {
    std::uint64_t oldest_needed = 0;
    std::uint64_t newest = 0;
    JobId next_id = 1;
  };
  // At a start, durably: nothing is recorded before. `newest`: that has records; 0 if none has.
  void set_what_was_read(const Files& files);
  // Something is safe; of the newest file, if `is_in_newest`. Writes only what is news.
  void set_what_is_safe(const Files& files, bool is_in_newest);
  // The files before that one are about to be removed, and nothing of them is needed.
  void set_removal(std::uint64_t oldest_needed);
  // The newest file has ended after so many bytes, and all of it is safe. 0: it has no record. The
  // note is made durable if `has_syncs`.
  void set_clean_stop(const Files& files, std::uint64_t end_bytes, bool has_syncs);

 private:
  void write(const Files& files);

  Disk& disk_;
  const std::uint64_t ids_ahead_;
  FolderNote note_;
};

}  // namespace haricot::binlog
