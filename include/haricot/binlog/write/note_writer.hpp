// Writes the note of the folder in its file `lock`: facts about the files that are stored outside
// of them.
//
// A note must never be ahead of the disk: after a crash, a note could name files that are missing.
// So a new file is noted when its first records are safe, and a removal before it begins.

#pragma once

#include <cstdint>

#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/format/folder_note.hpp"
#include "haricot/queue/job.hpp"

namespace haricot::binlog {

class NoteWriter {
 public:
  // The disk outlives this. `ids_ahead`: number of ids above the last one that the note marks as
  // used, so that not every id needs a note.
  NoteWriter(Disk& disk, std::uint64_t ids_ahead) : disk_(disk), ids_ahead_(ids_ahead) {}
  NoteWriter(const NoteWriter&) = delete;
  NoteWriter& operator=(const NoteWriter&) = delete;

  // Sets the note found when the folder was opened. note() returns the note last written.
  void set(const FolderNote& note) { note_ = note; }
  const FolderNote& note() const { return note_; }

  // Begins the run of this server. Writes nothing yet.
  void begin_run(std::uint64_t store_id, std::uint32_t run_before, std::uint32_t run);

  // State of the files. `oldest_needed`: the first file that the next start has to find; 0 if there
  // is none, which keeps the number of the last note.
  struct Files {
    std::uint64_t oldest_needed = 0;
    std::uint64_t newest = 0;
    JobId next_id = 1;
  };
  // Writes the note durably at a start, before anything is recorded. `newest`: newest file with
  // records; 0 if none has.
  void set_read_files(const Files& files);
  // Called when records are safe; `is_in_newest`: some are in the newest file. Writes only changes.
  void set_safe_files(const Files& files, bool is_in_newest);
  // Called before files older than this one are removed. Requires: nothing in them is needed.
  void set_removal(std::uint64_t oldest_needed);
  // Called when the newest file has ended at that length and all of it is safe. 0: it has no
  // durable record. Makes the note durable if `has_syncs`.
  void set_clean_stop(const Files& files, std::uint64_t end_bytes, bool has_syncs);

 private:
  void write(const Files& files);

  Disk& disk_;
  const std::uint64_t ids_ahead_;
  FolderNote note_;
};

}  // namespace haricot::binlog
