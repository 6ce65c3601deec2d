// The files of a folder that are read, in order: a pure function of facts, which are the note and
// the statements of the files about themselves in their first and last bytes.
//
// A server accepts the states of a folder that a crash, a loss of power or a failover leaves, and
// folders of beanstalkd: each file has the name that it was written under, in the folder that it
// was written in. A file that a server began after it had lost the folder is set aside. Any other
// file makes the folder unfit; `haricot binlog repair` sorts such folders.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/folder_note.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/format/record.hpp"
#include "haricot/binlog/read/problem.hpp"

namespace haricot::binlog {

struct FileFacts {
  std::string name;
  std::uint64_t name_number = 0;  // N of its name.
  FileIdentity identity = {};
  std::optional<Seal> seal = {};  // Null if the file does not end with one.

  FileKind kind() const { return identity.kind; }
  bool has_signature() const { return identity.signature.has_value(); }
  // Run in which the file was begun; 0: unknown.
  std::uint32_t run() const { return has_signature() ? identity.signature->run : 0; }
  // Epoch of the server that began the file; 0: unknown, or none.
  std::uint32_t epoch() const { return has_signature() ? identity.signature->epoch : 0; }
};

struct FolderFacts {
  FolderNote note;
  std::uint64_t store_id = 0;         // Id of the folder; 0: unknown.
  std::vector<FileFacts> files;       // In the order of the numbers in their names.
  std::vector<std::string> spares;    // Names of spare files, `binlog.N.tmp`.
  std::vector<std::string> misnamed;  // Names of files with a number that no server gives.
  // Numbers of files that are listed but cannot be found. A cluster volume may list a file that was
  // removed while some of the volume's copies were offline.
  std::vector<std::uint64_t> listed_but_absent;
};

// Returns the part of the note that a server of `epoch` (0: it has none) may use: all of it, or
// only the id of the folder.
//
// A server that has lost the folder may write its note after its successor has recorded something.
// The successor has left a file with its epoch then. So the whole note counts only if its run is of
// an epoch from the highest one of all files to the one before `epoch`. Several epochs are
// possible, because a server may end before it writes a note. If no file has an epoch, or one has
// `epoch` or a higher one, the whole note counts.
FolderNote trusted_note(const FolderNote& note, const std::vector<FileFacts>& files,
                        std::uint32_t epoch);

// Sets `facts`. Reads the first and last bytes of each file, and the whole file if they do not
// identify it, or identify it as a file of another number or folder. `store_id`: id of the folder;
// 0: that of the note or of the newest file. Returns false and sets `error` if a file cannot be
// read. May throw std::bad_alloc.
[[nodiscard]] bool gather_facts(Disk& disk, const FolderNote& note, std::uint32_t epoch,
                                FolderFacts& facts, std::string& error, std::uint64_t store_id = 0);

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
