// Sorts a folder whose files were rearranged by people or backup tools: a pure function of the
// facts. Only what each file states about itself counts.
//
//   unidentified  nothing shows which file it is
//   foreign       it is of another folder
//   displaced     it has another name than it was written under: read in its right place
//   duplicate     the same file has two names: read once
//   late          its server began it after another one had taken the folder over
//   contradicted  the next file was begun after another file of this number
//
// All but displaced files are left out. Each decision is a problem of kind `unfit`.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/read/folder_facts.hpp"
#include "haricot/binlog/read/folder_plan.hpp"

namespace haricot::tool {

struct SortedFolder {
  binlog::FolderPlan plan;
  // Files of this folder that are left out: their ids must not be assigned again.
  std::vector<binlog::PlannedFile> aside;
  // Highest number in the name of a file that is left out or displaced; 0: none.
  std::uint64_t highest_odd_name = 0;

  // Takes a file out of the order.
  void leave_out(std::size_t index, std::string why);
};

// Returns the possible ids of the folder, the likeliest last; none if no file states one. It is
// that of the note, if a file states the same or none states any; otherwise that of most files. If
// several ids have equally many files, the newest of these files decides.
std::vector<std::uint64_t> likely_stores(const std::vector<binlog::FileFacts>& files,
                                         const binlog::FolderNote& note);

SortedFolder sort_files(const binlog::FolderFacts& facts);
// Leaves contradicted files out. Returns false and sets `error` if a file cannot be read. May throw
// std::bad_alloc.
[[nodiscard]] bool leave_contradicted_out(binlog::Disk& disk, SortedFolder& folder,
                                          std::string& error);

}  // namespace haricot::tool
