// Opening a folder: the jobs come back, and what nobody understood is kept aside.

#pragma once

#include <cstdint>
#include <string>

#include "haricot/binlog/folder_note.hpp"
#include "haricot/binlog/ground.hpp"
#include "haricot/binlog/record_way.hpp"
#include "haricot/binlog/replay.hpp"

namespace haricot::binlog {

class Keeper;

class FolderOpening {
 public:
  // The ground outlives this.
  explicit FolderOpening(Ground& ground) : ground_(ground) {}
  FolderOpening(const FolderOpening&) = delete;
  FolderOpening& operator=(const FolderOpening&) = delete;

  // Reads the folder into the engine of the ground and makes what was read durable, which counts as
  // such from then on. Nothing is changed. `note`: that of the folder. False: `error` says why. May
  // throw std::bad_alloc, as the next one.
  [[nodiscard]] bool read(const FolderNote& note, ReplayWatcher watcher, std::string& error);
  // Keeps aside what was not understood, and says where records go on. Requires: read() was good.
  RecordWay::Start finish();
  // What was found. Valid after read().
  const ReplayReport& report() const { return report_; }
  // The newest file that has records; 0: none.
  std::uint64_t newest_with_records() const;

  // Gives back what the newest file that was read has after its last record: a server that was
  // killed leaves there what it had taken ahead. False: nothing. Before anything is recorded.
  bool cut_off_zeros();

 private:
  bool sync_what_was_read(std::string& error);
  void keep_what_was_not_understood();
  bool keep_rubbish(Keeper& keeper, const FileReport& file);
  void move_aside(Keeper& keeper, const std::string& name, std::uint64_t number);

  Ground& ground_;
  ReplayReport report_;
};

}  // namespace haricot::binlog
