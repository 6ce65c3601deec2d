// Which files of a folder are read, in which order, and which are left aside: a pure function of
// the facts. What each file says of itself decides, and never what an earlier start has made of
// the folder.
//
// A folder as a server leaves it has its files in the order of their names. Else:
//
//   unidentified  nothing tells which file it is
//   foreign       it is of another folder
//   displaced     it stands under another name than it was written under: read in its right place
//   duplicate     the same file stands under two names: read once
//   late          its server began it when another one had taken the folder over
//
// All but a displaced one are left aside. One more takes a look into the files (Replay): a file
// that the next one was not begun after.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "haricot/binlog/read/folder_facts.hpp"
#include "haricot/binlog/read/problem.hpp"

namespace haricot::binlog {

struct PlannedFile : FileFacts {
  std::uint64_t number = 0;  // Of its place in the order: N of the name that it should have.
  // If it is not needed, it counts for nothing: the one that was needed may be gone. A name that is
  // free again, because its file was not needed, is free also for a server that has lost the
  // folder; a displaced file may be a copy, or one that was begun in vain; and of what a loss of
  // power has brought back of the files of several servers, some may have lost their heads.
  bool counts_if_needed = false;
};

struct FolderPlan {
  std::string refusal;             // Why the folder must not be used; empty: it may.
  std::vector<PlannedFile> files;  // In the order in which they are to be read.
  std::vector<PlannedFile> aside;  // Of these no id may be given out again.
  std::vector<Problem> problems;   // Of whole files.
  FolderNote note;
  std::uint64_t store_id = 0;      // 0: not known.
  std::uint64_t highest_name = 0;  // Of all files. 0: there is none.
  // Of those that are left aside or stand elsewhere. 0: none.
  std::uint64_t highest_odd_name = 0;

  // Whether there is a note, and no file says that it is of another folder.
  bool has_note() const {
    return note.store_id != 0 && (store_id == 0 || note.store_id == store_id);
  }
  // What the file after it says of how it ended; null if it says nothing.
  const Signature* witness_of(std::size_t index) const;
  // What that file has to have at least: all that it had when a server was stopped after it, or a
  // record. 0: the note does not tell.
  std::uint64_t noted_end_of(std::size_t index) const;
  // Whether the note tells that the server was lost before a record of a file of that number was
  // safe: so it is when a loss of power comes as the file is begun.
  bool had_no_safe_record(std::uint64_t number) const {
    return has_note() && note.ids_end != 0 && number > note.newest;
  }
  // Takes a file out of the order: `other` is the file that proves it.
  void leave_aside(std::size_t index, Problem::Kind kind, const std::string& other);
};

FolderPlan plan_folder(const FolderFacts& facts);

}  // namespace haricot::binlog
