// Data that the parts of the stream of records share and no part owns.

#pragma once

#include <cstdint>

#include "haricot/base/time.hpp"
#include "haricot/binlog/binlog_state.hpp"
#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/write/note_writer.hpp"
#include "haricot/binlog/write/record_progress.hpp"
#include "haricot/binlog/write/segment_writer.hpp"
#include "haricot/binlog/write/sync_line.hpp"

namespace haricot::binlog {

// Events of the stream. Each handler is called at once, and must not fail.
struct StreamEvents {
  struct Failure {
    DiskStatus status;
    bool was_refusing;  // An attempt to recover has failed.
    // Free bytes of the disk at that moment, if an attempt to recover has failed; 0 if unknown.
    std::uint64_t free_bytes;
  };
  struct SyncsTaken {
    bool some_ended;
    bool line_is_shorter;  // Also if the end of a dropped sync has shortened it.
  };
  void* object = nullptr;
  void (*failed)(void* object, const Failure& failure) = nullptr;
  void (*removal_ended)(void* object, DiskStatus status) = nullptr;
  void (*syncs_taken)(void* object, const SyncsTaken& taken) = nullptr;
};

struct StreamState {
  // The state of the binlog outlives this.
  StreamState(BinlogState& binlog, const StreamEvents& on_events);
  StreamState(const StreamState&) = delete;
  StreamState& operator=(const StreamState&) = delete;

  // Returns the oldest file that the next start has to find; 0 if there is no file.
  std::uint64_t oldest_needed() const;
  // Returns the facts about the files that the note contains.
  NoteWriter::Files noted_files() const;
  // Returns the time of the oldest write that is in doubt or not synced; never() if all are synced
  // or none will be. O(syncs in line).
  Instant oldest_unsynced() const;

  BinlogState& binlog;
  const StreamEvents events;
  NoteWriter note;
  SegmentWriter writer;  // The file that is being written.
  SyncLine sync_line;
  RecordProgress progress;
};

}  // namespace haricot::binlog
