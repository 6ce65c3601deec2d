// Facts that the files of a folder state about themselves in their first and last bytes, and the
// note of the folder. A value; folder_plan.hpp decides from it which files are read.

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
  std::optional<Seal> seal = {};  // Nothing if the file does not end with one.

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
  std::vector<std::string> spares;    // Files that were in preparation when the server ended.
  std::vector<std::string> misnamed;  // Names with a number that no server gives.
  // Numbers of files that are listed and cannot be found. A volume may list a file that was
  // removed, if some of its copies were offline then.
  std::vector<std::uint64_t> missing;
};

// Returns the part of the note that a server of that epoch may use: all of it, or the id of the
// folder. A server that has lost the folder may write its note late, after its successor has
// recorded something; but some servers have an epoch and end before they write a note. Epoch 0: the
// server has none.
FolderNote believed_note(const FolderNote& note, const std::vector<FileFacts>& files,
                         std::uint32_t epoch);

// Reads the first and last bytes of each file, and all bytes of a file that does not state that it
// is the one of its name. `store_id`: id of the folder; 0: that of the note or of the newest file.
// Returns false if a file cannot be read, and sets `error`. May throw std::bad_alloc.
[[nodiscard]] bool gather_facts(Disk& disk, const FolderNote& note, std::uint32_t epoch,
                                FolderFacts& facts, std::string& error, std::uint64_t store_id = 0);

}  // namespace haricot::binlog
