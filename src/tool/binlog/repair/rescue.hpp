// Restores the jobs of a folder that a server refuses: sorts its files, reads them like a server,
// and reports each decision. Only reads the folder.
//
// People or backup tools have rearranged such files, so only what each file states about itself
// counts:
//
//   unidentified  nothing shows which file it is
//   foreign       it is of another folder
//   displaced     it was written under another name: it is read in the place of that name
//   duplicate     it states the same number as another file, which is read
//   late          a server began it after it had lost the folder
//   contradicted  the next file was begun after another file of this number
//
// All except displaced files are left out. Each decision is a problem: kind `late` for late files,
// `unfit` for all others.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "haricot/base/time.hpp"
#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/folder_note.hpp"
#include "haricot/binlog/read/folder_plan.hpp"
#include "haricot/binlog/read/replay.hpp"
#include "haricot/binlog/segments.hpp"
#include "haricot/queue/engine.hpp"
#include "tool/binlog/repair/guesses.hpp"

namespace haricot::tool {

struct SortedFolder {
  binlog::FolderPlan plan;
  // Files that are left out and of this folder, or of an unknown one: their ids must not be
  // assigned again. Late files are not among them, because nothing in them was acknowledged.
  std::vector<binlog::PlannedFile> aside;
  // Highest number in the name of a file that is left out (except late ones) or displaced; 0: none.
  std::uint64_t highest_odd_name = 0;

  // Removes a file from the plan, and adds a problem `unfit` with the reason.
  void leave_out(std::size_t index, std::string why);
};

// Sorts the files, as a pure function of the facts. Contradicted ones remain in the plan.
SortedFolder sort_files(const binlog::FolderFacts& facts);
// Leaves contradicted files out. Returns false and sets `error` if a file cannot be read. May throw
// std::bad_alloc.
[[nodiscard]] bool leave_out_contradicted(binlog::Disk& disk, SortedFolder& folder,
                                          std::string& error);

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

  // Returns the report of run(). Decisions are problems in it.
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
