// Opening a folder: the jobs come back, and what nobody understood is kept aside.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "haricot/binlog/binlog_state.hpp"
#include "haricot/binlog/format/folder_note.hpp"
#include "haricot/binlog/read/replay.hpp"
#include "haricot/binlog/write/record_stream.hpp"

namespace haricot::binlog {

class Quarantine;

class FolderOpening {
 public:
  // The state outlives this.
  explicit FolderOpening(BinlogState& state) : state_(state) {}
  FolderOpening(const FolderOpening&) = delete;
  FolderOpening& operator=(const FolderOpening&) = delete;

  // Reads the folder into the engine of the state and makes what was read durable, which counts as
  // such from then on. Nothing is changed. `note`: that of the folder. False: `error` says why. May
  // throw std::bad_alloc, as the next one.
  [[nodiscard]] bool read(const FolderNote& note, ReplayWatcher watcher, std::string& error);
  // Keeps aside what was not understood, and says where records go on. Requires: read() was good.
  RecordStream::Start finish();
  // What was found. Valid after read().
  const ReplayReport& report() const { return report_; }
  // The newest file that has records; 0: none.
  std::uint64_t newest_with_records() const;

  // Opens the newest file to continue it, where that was not ended: a server that was killed, or
  // handed over while it ran, has left it so. Nothing: it cannot be continued. To be called after
  // finish(), before anything is recorded.
  std::optional<ContinuedFile> open_last_file();

  // Returns to the disk the space that the newest file has after its last record: a server that was
  // killed leaves there the space that it had taken ahead. False: there was none. To be called
  // before anything is recorded.
  bool cut_off_zeros();

 private:
  bool sync_what_was_read(std::string& error);
  void keep_what_was_not_understood();
  bool keep_rubbish(Quarantine& quarantine, const FileReport& file);
  void move_aside(Quarantine& quarantine, const std::string& name, std::uint64_t number);

  BinlogState& state_;
  ReplayReport report_;
};

}  // namespace haricot::binlog
