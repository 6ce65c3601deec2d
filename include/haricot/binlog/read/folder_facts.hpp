// Facts that the files of a folder state about themselves in their first and last bytes, and the
// note of the folder. From these values folder_plan.hpp decides which files are read.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/format/folder_note.hpp"
#include "haricot/binlog/format/record.hpp"

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

}  // namespace haricot::binlog
