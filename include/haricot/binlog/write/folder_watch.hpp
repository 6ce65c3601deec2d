// Looks whether the files are there that somebody may take away while the server runs: one of them,
// all, or the folder.
//
// Nobody finds what is written to a file without a name, and no call fails. So the watch looks for
// the files by their names: once a second while the binlog is in use, and at each new file.
//
//   the newest file or the folder   records are refused until the folder is there. Then all jobs
//                                   are written anew, not only those in doubt.
//   an older file                   its jobs, and those of the files before it, which may have been
//                                   deleted in it, are moved by compaction. Nothing is refused.
//
// Segments::gone_until() tells both of them which jobs these are.

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

  // At the start. A file system that says of a new file that it is not there would say so again and
  // again, so it is not asked any more.
  void begin();
  // Looks, if it is time to. Before anything counts as safe. If no record waited at the last look,
  // the first one that waits is reason for another.
  void look();
  // Compaction has gone on: tells the log when the last of the jobs were moved.
  void end_moving();

  // Sees to it that the folder can be worked in, and marks what has gone from it. `names`: of its
  // files, sorted. False: not now, and the log is told why, once for each reason.
  bool return_to_folder(std::vector<std::string>& names);
  // All that was in files that are gone is safe elsewhere.
  void forget_those_gone();

 private:
  Segments& segments() { return *state_.segments; }
  const Segments& segments() const { return *state_.segments; }
  void look_for_an_older_file();
  bool list_sorted(std::vector<std::string>& names);
  void mark_those_gone(const std::vector<std::string>& names);
  void mark_all_gone();
  void lose_newest();
  bool has_file_of_another_server(const std::vector<std::string>& names, std::string& why) const;

  BinlogState& state_;
  RecordStream& stream_;
  bool can_look_ = true;
  bool looks_for_older_ = false;
  bool has_looked_for_records_ = false;  // At the last look, records waited for it.
  std::uint64_t looked_at_ = 0;          // The older file that was looked for last.
  std::string not_back_;                 // Why it could not return, as the log was told.
};

}  // namespace haricot::binlog
