// Facts about a folder that a server stores outside of the binlog files: a second copy of facts in
// their signatures, and the only record of the newest file.
//
// A run is one server on the folder, from its start to its end. Each file states the run in which
// it was begun. So the newest file of a copy of the folder that another server used differs from
// ours, although it follows the same file.

#pragma once

#include <cstdint>

namespace haricot::binlog {

struct FolderNote {
  std::uint64_t store_id = 0;  // 0: nothing is noted.
  std::uint32_t run = 0;       // Run of the server that opened the folder last. 0: unknown.
  // Run of the newest file that this server found (0: none). From its first safe record on, the
  // server's own run.
  std::uint32_t run_before = 0;

  // The following fields are 0 in notes of earlier versions: unknown.

  // Files with lower numbers are not needed.
  std::uint32_t oldest_needed = 0;
  // The newest file with durable records.
  std::uint32_t newest = 0;
  // Length of that file, if the server was stopped after it; else 0.
  std::uint64_t end = 0;
  // Ids from here on were not given out. A running server keeps it ahead of the ids that it gives
  // out.
  std::uint64_t ids_end = 0;

  // Returns true if the last run has recorded something. Then the newest file belongs to it.
  bool last_run_has_records() const { return run != 0 && run_before == run; }

  bool operator==(const FolderNote&) const = default;
};

}  // namespace haricot::binlog
