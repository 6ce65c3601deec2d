// The note of a folder: facts that a server stores outside of the binlog files, in the file `lock`.
// They are a second copy of facts in the signatures of the files, and the only record of the newest
// file.
//
// A run is one server on the folder, from its start to its end. Each file states the run in which
// it was begun. So the newest file of a copy of the folder that another server used differs from
// ours, although it follows the same file.

#pragma once

#include <cstdint>

#include "haricot/queue/job.hpp"

namespace haricot::binlog {

class Disk;

struct FolderNote {
  std::uint64_t store_id = 0;  // 0: nothing is noted.
  std::uint32_t run = 0;       // Run of the server that opened the folder last. 0: unknown.
  // Run of the newest file that this server found (0: none). From its first safe record on, the
  // server's own run.
  std::uint32_t run_before = 0;

  // The following fields are 0 in notes of earlier versions: unknown.

  // Files with lower numbers are not needed.
  std::uint32_t oldest_needed = 0;
  // The newest file with durable records.
  std::uint32_t newest = 0;
  // Length of that file, if the server was stopped after it; else 0.
  std::uint64_t end = 0;
  // Ids from here on were not given out. A running server keeps it ahead of the ids that it gives
  // out.
  std::uint64_t ids_end = 0;

  // Returns true if the last run has recorded something. Then the newest file belongs to it.
  bool last_run_has_records() const { return run != 0 && run_before == run; }

  bool operator==(const FolderNote&) const = default;
};

// Writes the note. It must never be ahead of the disk, because after a crash it could name files
// that are missing. So a new file is noted when its first records are safe, and a removal before it
// begins.
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
