// Checks that the files in use still exist: one of them, all, or the folder may be removed from
// outside while the server runs.
//
// Bytes written to a file without a name are lost, and no call fails. So the watch looks the files
// up by their names: once a second while the binlog is in use, and at each new file.
//
//   newest file or folder gone   records are refused until the folder is back. Then all jobs are
//                                written again, not only those in doubt.
//   older file gone              compaction moves its jobs and the jobs of the files before it,
//                                because their deletions may have been in it. Nothing is refused.
//
// Segments::gone_until() says which jobs these are.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "haricot/binlog/binlog_state.hpp"
#include "haricot/binlog/write/record_stream.hpp"

namespace haricot::binlog {

class FolderWatch {
 public:
  // Both outlive this.
  FolderWatch(BinlogState& state, RecordStream& stream) : state_(state), stream_(stream) {}
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  // Begins to watch. Switches the watch off if the file system reports the new file as missing,
  // because it would do so for ever.
  void begin();
  // Checks if it is time to, before any record counts as safe. If no record waited at the last
  // check, the first one that waits is a reason for another check.
  void check();
  // Logs the end of the repair when compaction has moved the last of the jobs.
  void end_moving();

  // Returns to a usable folder and marks the files that are gone. `names`: its files, sorted.
  // Returns false if that fails, and logs each reason once.
  bool return_to_folder(std::vector<std::string>& names);
  // Called when all records of files that are gone are safe in other files.
  void forget_missing_files();

 private:
  Segments& segments() { return *state_.segments; }
  const Segments& segments() const { return *state_.segments; }
  void check_an_older_file();
  bool list_sorted(std::vector<std::string>& names);
  void mark_missing_files(const std::vector<std::string>& names);
  void mark_all_missing();
  void lose_newest();
  bool has_file_of_another_server(const std::vector<std::string>& names, std::string& why) const;

  BinlogState& state_;
  RecordStream& stream_;
  bool is_on_ = true;
  bool checks_older_ = false;
  bool had_waiting_records_ = false;  // At the last check, records waited for it.
  std::uint64_t last_checked_ = 0;    // Number of the older file that was checked last.
  std::string not_back_;              // The reason in the log why the folder cannot be used.
};

}  // namespace haricot::binlog
