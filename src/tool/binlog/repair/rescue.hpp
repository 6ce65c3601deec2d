// Restores the jobs of a folder that a server refuses. Sorts the files (folder_sorting.hpp), reads
// them like a server, and reports each decision. Only reads the folder.

#pragma once

#include <string>
#include <vector>

#include "haricot/base/time.hpp"
#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/format/folder_note.hpp"
#include "haricot/binlog/read/replay.hpp"
#include "haricot/binlog/segments.hpp"
#include "haricot/queue/engine.hpp"
#include "tool/binlog/repair/folder_sorting.hpp"
#include "tool/binlog/repair/guesses.hpp"

namespace haricot::tool {

class Rescue {
 public:
  // All of these outlive the object. Requires: the engine is empty.
  Rescue(binlog::Disk& disk, Engine& engine, binlog::Segments& segments)
      : disk_(disk), replay_(disk, engine, segments) {}

  // Restores the jobs. If `guesses` is not null, also guesses about files that do not identify
  // themselves, and adds each guess. Returns false and sets `error` on failure. Call once. May
  // throw std::bad_alloc.
  [[nodiscard]] bool run(const binlog::FolderNote& note, Duration wall_offset, Instant now,
                         std::vector<Guess>* guesses, std::string& error);

  // Returns the report of run(). Decisions are problems in it (folder_sorting.hpp).
  const binlog::ReplayReport& report() const { return report_; }

 private:
  bool gather(const binlog::FolderNote& note, std::vector<Guess>* guesses, std::string& error);
  bool skip_ids_aside(std::string& error);
  void judge_missing();
  void judge_odd_names();
  void skip_lost_ids();

  binlog::Disk& disk_;
  binlog::Replay replay_;
  binlog::FolderFacts facts_;
  SortedFolder sorted_;
  binlog::ReplayReport report_;
};

}  // namespace haricot::tool
