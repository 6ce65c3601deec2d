// What the files of a folder say of themselves, before a record of any is believed: their first and
// last bytes, and the note of the folder. A value, from which folder_plan.hpp makes the order in
// which they are read.

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
  std::uint64_t name_number = 0;  // Its N.
  FileIdentity identity = {};
  std::optional<Seal> seal = {};  // Nothing: none stands at its very end.

  FileKind kind() const { return identity.kind; }
  bool has_signature() const { return identity.signature.has_value(); }
  // In which it was begun. 0: not known.
  std::uint32_t run() const { return has_signature() ? identity.signature->run : 0; }
};

struct FolderFacts {
  FolderNote note;
  std::vector<FileFacts> files;       // By their names' numbers.
  std::vector<std::string> spares;    // Files that were being made when the server stopped.
  std::vector<std::string> misnamed;  // With a number that no server gives.
  // Of files that are listed, and not there: their names' numbers.
  std::vector<std::uint64_t> missing;
  std::vector<std::uint64_t> stores;  // See likely_stores().

  // Of the folder. 0: not known.
  std::uint64_t store_id() const { return stores.empty() ? 0 : stores.back(); }
};

// Which folders this one may be, the likeliest last; none: nothing tells. It is that of the note,
// if a file says the same or none says anything; else that of most files. If several have as many,
// it is that of the newest file.
std::vector<std::uint64_t> likely_stores(const std::vector<FileFacts>& files,
                                         const FolderNote& note);

// What a server of that epoch believes of the note: all, or the id of the folder alone. A server
// that has lost the folder may write its note late, when another one has recorded something. But
// not each server that had an epoch has got so far. 0: it has no epoch.
FolderNote believed_note(const FolderNote& note, const std::vector<FileFacts>& files,
                         std::uint32_t epoch);

// Reads the first and last bytes of each file. A file that does not say that it is the one of its
// name is read whole. A file that is listed and missing was not there: on a volume, some of whose
// copies have lost their power, one may list what the others have removed. False: a file cannot be
// read, and `error` says why. May throw std::bad_alloc.
[[nodiscard]] bool gather_facts(Disk& disk, const FolderNote& note, std::uint32_t epoch,
                                FolderFacts& facts, std::string& error);

}  // namespace haricot::binlog
