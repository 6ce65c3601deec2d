// The files of a folder that are read, in order: a pure function of the facts.
//
// A server accepts every state of a folder that a server, a cluster volume or beanstalkd can leave:
// each file has the name that it was written under, in the folder that it was written in. A file
// that a server began after it had lost the folder is set aside. Any other file makes the folder
// unfit; `haricot binlog repair` sorts such folders.

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
  // True if the records are ignored when later files state that the file is not needed. In a folder
  // with epochs it is set for a file of a lower epoch or without a signature. Once a file is
  // removed, a server that has lost the folder may begin one of the same name, and a loss of power
  // may bring the removed file back. It is also set for a file that was written under another name.
  bool counts_if_needed = false;
};

struct FolderPlan {
  std::string refusal;              // Reason why no reader may use the folder; empty: none.
  std::vector<PlannedFile> files;   // In the order in which they are read.
  std::vector<Problem> problems;    // Problems of whole files.
  std::vector<std::string> spares;  // See FolderFacts.
  std::vector<std::uint64_t> listed_but_absent;  // See FolderFacts.
  FolderNote note;
  std::uint64_t store_id = 0;      // 0: unknown.
  std::uint64_t highest_name = 0;  // Highest number in a file's name, read or not; 0: none.
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
  // Returns the minimum length of the file according to the note: its length at a clean stop, or
  // that of a file with one record. 0: the note states nothing about it.
  std::uint64_t noted_end_of(std::size_t index) const;
};

// Returns a plan of all files, in the order of their names, without problems.
FolderPlan begin_plan(const FolderFacts& facts);
// Sets aside each file whose epoch is lower than that of an earlier file, and sets
// `counts_if_needed` of the others. A file without an epoch is never late, because a server without
// one may follow any other.
void set_late_aside(FolderPlan& plan);
// Returns the plan of a server. A file that does not belong in its place is a problem `unfit`.
FolderPlan plan_folder(const FolderFacts& facts);

}  // namespace haricot::binlog
