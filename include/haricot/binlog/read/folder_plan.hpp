// The files of a folder that are read, in order: a pure function of the facts.
//
// A server accepts a folder only as a server, a cluster volume or beanstalkd leaves it: each file
// has the name that it was written under, in the folder that it was written in. A file that a
// server began after it had lost the folder is set aside. Any other file makes the folder unfit;
// `haricot binlog repair` sorts such folders.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "haricot/binlog/read/folder_facts.hpp"
#include "haricot/binlog/read/problem.hpp"

namespace haricot::binlog {

struct PlannedFile : FileFacts {
  std::uint64_t number = 0;  // N of the name that it was written under.
  // Its records count only if later files state that it is needed. The name of a file that is not
  // needed is free, so a server that has lost the folder may have begun the file; and a loss of
  // power may bring back files without heads.
  bool counts_if_needed = false;
};

struct FolderPlan {
  std::string refusal;                // Reason why no reader may use the folder; empty: none.
  std::vector<PlannedFile> files;     // In the order in which they are read.
  std::vector<Problem> problems;      // Problems of whole files.
  std::vector<std::string> spares;    // See FolderFacts.
  std::vector<std::uint64_t> listed;  // Numbers of files that are listed and cannot be found.
  FolderNote note;
  std::uint64_t store_id = 0;      // 0: unknown.
  std::uint64_t highest_name = 0;  // Highest number of a file, read or not; 0: there is none.
  bool may_lack_files = false;     // A server without syncs may have lost any file with the power.
  bool may_lack_newest = false;    // A newer file may have been replaced. Set by `repair` only.

  // Returns true if there is a note, and it is of this folder.
  bool has_note() const {
    return note.store_id != 0 && (store_id == 0 || note.store_id == store_id);
  }
  // Returns true if the note states that the file has a durable record.
  bool had_safe_record(std::uint64_t number) const {
    return has_note() && note.ids_end != 0 && number <= note.newest;
  }
  // Returns true if the note states that no record of the file was durable: the power was lost when
  // the file was begun.
  bool had_no_safe_record(std::uint64_t number) const {
    return has_note() && note.ids_end != 0 && number > note.newest;
  }
  // Returns the signature of the next file if it states how this file ended; otherwise null.
  const Signature* witness_of(std::size_t index) const;
  // Returns the length that the file has at least, according to the note: that of a clean stop, or
  // that of one record. 0: the note does not state it.
  std::uint64_t noted_end_of(std::size_t index) const;
};

// Returns a plan without files and problems.
FolderPlan begin_plan(const FolderFacts& facts);
// Sets aside files whose epoch is lower than that of an earlier file, and marks the files that
// count only if they are needed. Servers without an epoch may come at any time.
void leave_late_aside(FolderPlan& plan);
FolderPlan plan_folder(const FolderFacts& facts);

}  // namespace haricot::binlog
