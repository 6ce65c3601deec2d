// Opens a folder: restores its jobs, and keeps copies of unreadable data.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "haricot/binlog/binlog_state.hpp"
#include "haricot/binlog/format/folder_note.hpp"
#include "haricot/binlog/read/replay.hpp"
#include "haricot/binlog/write/file_sequence.hpp"

namespace haricot::binlog {

class Quarantine;

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

}  // namespace haricot::binlog
