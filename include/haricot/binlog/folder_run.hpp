// Begins and ends the run of a server on a folder (folder_note.hpp). Both block: no client is
// served before the run has begun and after it has ended.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "haricot/base/time.hpp"
#include "haricot/binlog/binlog_state.hpp"
#include "haricot/binlog/folder_note.hpp"
#include "haricot/binlog/read/replay.hpp"
#include "haricot/binlog/write/changes.hpp"
#include "haricot/binlog/write/file_sequence.hpp"
#include "haricot/binlog/write/folder_watch.hpp"
#include "haricot/binlog/write/large_bodies.hpp"
#include "haricot/binlog/write/record_stream.hpp"
#include "haricot/binlog/write/recovery.hpp"
#include "haricot/binlog/write/room_ahead.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot::binlog {

class Quarantine;

// Reads the folder at the start of a run, and keeps copies of unreadable data.
class FolderOpening {
 public:
  // The state outlives this.
  explicit FolderOpening(BinlogState& state) : state_(state) {}
  FolderOpening(const FolderOpening&) = delete;
  FolderOpening& operator=(const FolderOpening&) = delete;

  // Reads the folder into the engine of the state, and syncs its files, which count as durable from
  // then on. Changes nothing in the folder. `note`: note of the folder. Returns false on
  // failure, with the reason in `error`. May throw std::bad_alloc.
  [[nodiscard]] bool read(const FolderNote& note, ReplayWatcher watcher, std::string& error);
  // Returns the position for new records. Requires: read() succeeded. Call once.
  FileSequence::Start start();
  // Keeps copies of unreadable data, after start(). May throw std::bad_alloc; then the files that
  // have no copy stay.
  void keep_unreadable_data();
  // Returns the report of read().
  const ReplayReport& report() const { return report_; }
  // Returns the newest file with records; 0: none.
  std::uint64_t newest_with_records() const;

  // Opens the newest file to continue it, if it was not ended: a server left it when it was killed
  // or handed over. Returns nothing if it cannot be continued. Call after start() and before
  // anything is recorded.
  std::optional<ContinuedFile> open_last_file();

  // Truncates the newest file after its last record: a killed server leaves its preallocated space
  // there. Returns false if there was none. Call before anything is recorded.
  bool cut_off_zeros();

 private:
  bool sync_read_files(std::string& error);
  bool keep_unreadable_part(Quarantine& quarantine, const FileReport& file);
  void move_aside(Quarantine& quarantine, const std::string& name, std::uint64_t number);

  BinlogState& state_;
  ReplayReport report_;
};

class FolderRun {
 public:
  // Parts that a run begins and ends. All outlive it.
  struct Parts {
    BinlogState& state;
    RecordStream& stream;
    RoomAhead& room;
    LargeBodies& bodies;
    FolderWatch& watch;
    Recovery& recovery;
    RestoredJobs& restored;
  };
  explicit FolderRun(const Parts& parts);
  FolderRun(const FolderRun&) = delete;
  FolderRun& operator=(const FolderRun&) = delete;

  // These have the contracts of Binlog's functions.
  [[nodiscard]] bool read(Engine& engine, Duration wall_offset, Instant now, ReplayWatcher watcher,
                          std::string& error);
  [[nodiscard]] bool can_begin(std::string& error);
  [[nodiscard]] bool begin(std::uint64_t random, bool has_to, std::string& error);
  bool end(Instant now);
  const ReplayReport& replayed() const { return opening_.report(); }

 private:
  bool begin_run(std::uint64_t random, bool has_to, std::string& error);
  void begin_in_note(std::uint64_t store_id, std::uint32_t run);
  bool begin_first_file(bool has_to, std::string& error);
  bool make_first_spare(bool& is_continued);
  void recover_at_once();

  BinlogState& state_;
  RecordStream& stream_;
  RoomAhead& room_;
  LargeBodies& bodies_;
  FolderWatch& watch_;
  Recovery& recovery_;
  RestoredJobs& restored_;
  FolderOpening opening_;
};

}  // namespace haricot::binlog
