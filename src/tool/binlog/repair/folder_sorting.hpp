// Sorts a folder whose files were rearranged by people or backup tools: a pure function of the
// facts. Only what each file states about itself counts.
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

#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/read/folder_facts.hpp"
#include "haricot/binlog/read/folder_plan.hpp"

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

// Returns the possible ids of the folder, the likeliest last; empty if neither a file nor the note
// states one. The id of the note is the only one if a file states it, too, or if no file states
// any. Otherwise these are the ids that most files state, that of the newest such file last.
std::vector<std::uint64_t> likely_stores(const std::vector<binlog::FileFacts>& files,
                                         const binlog::FolderNote& note);

// Sorts the files. Contradicted ones remain in the plan.
SortedFolder sort_files(const binlog::FolderFacts& facts);
// Leaves contradicted files out. Returns false and sets `error` if a file cannot be read. May throw
// std::bad_alloc.
[[nodiscard]] bool leave_out_contradicted(binlog::Disk& disk, SortedFolder& folder,
                                          std::string& error);

}  // namespace haricot::tool
